"""The ids that Segue makes for opencode: they sort by time like its own, and carry our mark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.integrations.format.transcript import MARK

if TYPE_CHECKING:
    from datetime import datetime

_BITS = 48
_START, _END = 4, 16
"""Where an id has its time, after a prefix such as `msg_`; the mark follows."""


def session_id_of(now: datetime, letters: str) -> str:
    """An id that sorts backwards by time, like those of opencode."""
    return f"ses_{_inverted(_clock(now, 0)):012x}{MARK}{letters[:9]}"


def message_id_of(now: datetime, place: int, letters: str) -> str:
    """The id of a message; its place is -1 for the last one that is written, -2 for the one before."""
    return f"msg_{_clock(now, place):012x}{MARK}{letters}"


def message_place(session_id: str, message_id: str) -> int:
    """The place of a message among all that were written for a session: -1 for the last; 0 if it has none."""
    try:
        return int(message_id[_START:_END], 16) - _inverted(int(session_id[_START:_END], 16))
    except ValueError:
        return 0


def is_ours(message_id: str) -> bool:
    """Whether Segue wrote a message, by its id."""
    return message_id[_END : _END + len(MARK)] == MARK


def milliseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


def _clock(now: datetime, offset: int) -> int:
    """Milliseconds and a counter, in as many bits as opencode uses."""
    return ((milliseconds(now) << 12) + offset) & (1 << _BITS) - 1


def _inverted(clock: int) -> int:
    return ~clock & (1 << _BITS) - 1

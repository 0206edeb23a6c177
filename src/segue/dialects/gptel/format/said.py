"""When something in a text was said, as the editor noted it: one line each, with time, role and the hash of its text.

A time is used only for a text that has not been recorded yet and that still matches, and is never later than the file.
"""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from segue.model import EPOCH

if TYPE_CHECKING:
    from collections.abc import Mapping

_LINE = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) (user|assistant|tool) ([0-9a-f]{64})")
_BLANKS = re.compile(r"[ \t\n\r\f\v]+")
_LATEST = datetime(9000, 1, 1, tzinfo=UTC)
_SIZE_BYTES = 4 << 20
"""Only the end of a longer file is read."""


class SaidTimes(NamedTuple):
    """The times of one branch."""

    saved: datetime | None = None
    """When its text was saved."""
    noted: Mapping[tuple[str, str], tuple[datetime, ...]] = {}
    """By role and hash, in the order of the notes."""

    def find(self, role: str, text: str, after: datetime) -> datetime:
        """When this was said: not before `after`, which is the time of what was said before it.

        Without a note of its own, it was said at the next time that is known.
        """
        if self.saved is None or self.saved < after:
            return after
        own = self.noted.get((role, hash_said(text)), ())
        later = sorted(one for noted in self.noted.values() for one in noted if one > after)
        return next((one for one in (*own, *later) if after <= one <= self.saved), self.saved)


def hash_said(text: str) -> str:
    """SHA-256 of the text without blanks, which editors and formats add and remove."""
    return hashlib.sha256(_BLANKS.sub("", text).encode("utf-8", "replace")).hexdigest()


def parse_said_times(data: bytes, saved_ns: int) -> SaidTimes:
    """The notes; a line of any other form is ignored. `saved_ns` is the time of the file in nanoseconds."""
    noted: dict[tuple[str, str], tuple[datetime, ...]] = {}
    for line in data[-_SIZE_BYTES:].splitlines():
        found = _LINE.fullmatch(line)
        moment = _parse_moment(found[1].decode()) if found else None
        if found and moment is not None:
            key = found[2].decode(), found[3].decode()
            noted[key] = (*noted.get(key, ()), moment)
    microseconds = saved_ns // 1000
    is_usual = 0 <= microseconds < (_LATEST - EPOCH) // timedelta(microseconds=1)
    return SaidTimes(EPOCH + timedelta(microseconds=microseconds) if is_usual else None, noted)


def _parse_moment(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None

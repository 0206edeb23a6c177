"""As much of a conversation as is handed over: all turns where there is room, else the first and the last ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from segue.formats.transcript import part_lines

if TYPE_CHECKING:
    from segue.model import Turn
    from segue.session import LiveSession

CHARACTERS = 300_000
"""Of history: well within what the models of today can read."""
FIRST, LAST = 2, 10
"""Turns that are told whatever there is between them."""
_MOST_TURNS = 2_000


def window(session: LiveSession, limit: int = CHARACTERS) -> tuple[list[Turn], int, list[Turn]]:
    """All turns if there is room for them; else the first ones, how many are left out, and the last ones."""
    total = session.overview.turn_count
    turns = list(session.tail(min(total, _MOST_TURNS)))
    if len(turns) == total and sum(map(_size, turns)) <= limit:
        return [], 0, turns
    last: list[Turn] = []
    room = limit
    for turn in reversed([_fitting(turn, limit // (2 * LAST)) for turn in turns]):
        room -= _size(turn)
        if room < 0 and len(last) >= LAST:
            break
        last.insert(0, turn)
    missing = total - len(last)
    opening = [_fitting(turn, limit // (2 * LAST)) for turn in session.first(min(FIRST, missing))]
    return opening, missing - len(opening), last


def _fitting(turn: Turn, limit: int) -> Turn:
    """The turn, cut where it alone would fill the history."""
    if _size(turn) <= limit:
        return turn
    cut = turn.content[:limit]
    left_out = len(turn.content) - len(cut)
    return replace(turn, content=f"{cut}\n[{left_out:,} more characters]" if left_out else cut, parts=())


def _size(turn: Turn) -> int:
    return len(turn.content) + sum(map(len, part_lines(turn)))

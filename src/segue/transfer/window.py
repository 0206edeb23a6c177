"""The part of a conversation that is handed over: all turns if they fit, else the first and the last ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from segue.formats.transcript import part_lines

if TYPE_CHECKING:
    from segue.model import Turn
    from segue.session import LiveSession

MOST_CHARACTERS = 300_000
"""Well within what current models can read."""
FIRST, LAST = 2, 10
"""How many turns at either end are always included."""
_MOST_TURNS = 2_000


class HandoverWindow(NamedTuple):
    opening: tuple[Turn, ...]
    """The first turns, if turns after them are left out."""
    left_out: int
    last: tuple[Turn, ...]

    @property
    def turns(self) -> tuple[Turn, ...]:
        return (*self.opening, *self.last)


def handover_window(session: LiveSession, limit: int = MOST_CHARACTERS) -> HandoverWindow:
    """All turns of the active branch if they fit into the limit; else the first and the last ones."""
    total = session.overview.turn_count
    turns = session.tail(min(total, _MOST_TURNS))
    if len(turns) == total and sum(map(_size, turns)) <= limit:
        return HandoverWindow((), 0, tuple(turns))
    last: list[Turn] = []
    left = limit
    for turn in reversed([_shorten(turn, limit // (2 * LAST)) for turn in turns]):
        left -= _size(turn)
        if left < 0 and len(last) >= LAST:
            break
        last.insert(0, turn)
    missing = total - len(last)
    opening = tuple(_shorten(turn, limit // (2 * LAST)) for turn in session.first(min(FIRST, missing)))
    return HandoverWindow(opening, missing - len(opening), tuple(last))


def _shorten(turn: Turn, limit: int) -> Turn:
    if _size(turn) <= limit:
        return turn
    cut = turn.content[:limit]
    left_out = len(turn.content) - len(cut)
    return replace(turn, content=f"{cut}\n[{left_out:,} more characters]" if left_out else cut, parts=())


def _size(turn: Turn) -> int:
    return len(turn.content) + sum(map(len, part_lines(turn)))

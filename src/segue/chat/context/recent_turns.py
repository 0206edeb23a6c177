"""The turns that a window can need, held in memory: the cost of a question does not grow with the session.

A conversation that fits in the budget is held whole. Of a longer one the beginning and the end are: turns are never
changed, so what once did not fit never fits again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.chat.context.window import cost_of, fit, limit_of, message_of

if TYPE_CHECKING:
    from segue.chat.context.tokens import Counter
    from segue.chat.context.window import Window
    from segue.model import Turn
    from segue.session import LiveSession

HELD_FIRST, HELD_LAST = 16, 64
"""More than the window keeps, so that a call at its edge is found with its results."""

_FIRST_READ = 64


class RecentTurns:
    """Of the active branch, whichever that is."""

    def __init__(self, session: LiveSession, *, budget: int, counter: Counter) -> None:
        self._session = session
        self._budget = budget
        self._counter = counter
        self._branch = ""
        self._count = 0
        self._first: tuple[Turn, ...] = ()
        self._unseen = 0
        self._last: list[Turn] = []
        self._tokens = 0

    @property
    def newest(self) -> Turn | None:
        """The last turn; asking for it alone reads no further."""
        if self._is_current:
            return self._last[-1] if self._last else None
        return next(iter(self._session.tail(1)), None)

    def window(self, *asked: Turn, reserved: int) -> Window:
        """What fits of the turns there are, and of those about to be recorded."""
        self._refresh()
        return fit(
            [*self._last, *asked],
            budget=self._budget,
            counter=self._counter,
            reserved=reserved,
            first=self._first,
            unseen=self._unseen,
        )

    @property
    def _is_current(self) -> bool:
        """Turns of a branch are only ever added: its name and their number say whether anything is new."""
        overview = self._session.overview
        return (overview.branch, overview.turn_count) == (self._branch, self._count)

    def _refresh(self) -> None:
        overview = self._session.overview
        branch, count = overview.branch, overview.turn_count
        new = count - self._count
        if branch != self._branch or new < 0 or new > HELD_LAST:
            self._load(count)
        elif new:
            self._take(self._session.tail(new))
        self._branch, self._count = branch, count

    def _load(self, count: int) -> None:
        self._first, self._unseen, self._last, self._tokens = (), 0, [], 0
        limit, size = limit_of(self._budget), _FIRST_READ
        while True:
            turns = self._session.tail(size)
            tokens = sum(cost_of(message_of(turn), self._counter) for turn in turns)
            if len(turns) >= count:
                break
            if count <= HELD_FIRST + HELD_LAST:
                size = count
                continue
            if tokens > limit:
                self._first = self._session.first(HELD_FIRST)
                self._last = list(turns[-HELD_LAST:])
                self._unseen = count - HELD_FIRST - HELD_LAST
                return
            size = max(size * 2, size * limit * 6 // (tokens * 5))  # if the rest is like these, once more is enough
        self._take(turns)

    def _take(self, turns: tuple[Turn, ...]) -> None:
        self._last += turns
        if not self._unseen:
            self._tokens += sum(cost_of(message_of(turn), self._counter) for turn in turns)
            if self._tokens <= limit_of(self._budget) or len(self._last) <= HELD_FIRST + HELD_LAST:
                return
            self._first = tuple(self._last[:HELD_FIRST])
            del self._last[:HELD_FIRST]
        excess = len(self._last) - HELD_LAST
        self._unseen += excess
        del self._last[:excess]

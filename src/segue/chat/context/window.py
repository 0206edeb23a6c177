"""What of the history is sent: all of it while it fits, then its beginning and its end.

A tool call and its results stay together, since every provider refuses half of a pair. A call that never got
a result (the tool died, the machine died) is answered in the window alone; the record stays as it is.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from segue.chat.agent import Message
from segue.model import ROLES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segue.chat.agent import Role
    from segue.chat.context.tokens import Counter
    from segue.model import JsonObject, Turn
    from segue.session import LiveSession

SHARE_PERCENT = 80
"""Of the budget: the rest is for the answer, and for what was only estimated."""

KEEP_FIRST = 2
KEEP_LAST = 10
NO_RESULT = "no result: interrupted"
OVERHEAD_TOKENS = 4
"""What a message costs beyond its text: its role and its separators."""


class Window(Struct, frozen=True, kw_only=True):
    """The part of the conversation that an agent receives."""

    messages: tuple[Message, ...]
    dropped: int
    """Turns that were left out."""
    marker: str
    """The text in their place; empty if none were left out."""
    tokens: int


class _Unit(Struct, frozen=True, gc=False):
    """Turns that stay together, as messages; most often one."""

    start: int
    """Its place on the branch, counted from 0."""
    end: int
    messages: tuple[Message, ...]
    tokens: int
    lacks_results: bool


def limit_of(budget: int) -> int:
    """How much of a budget is used before turns are left out."""
    return budget * SHARE_PERCENT // 100


def fit(
    turns: Sequence[Turn],
    *,
    budget: int,
    counter: Counter,
    reserved: int = 0,
    first: Sequence[Turn] = (),
    unseen: int = 0,
) -> Window:
    """The turns that fit in the budget, oldest first, the newest of the user always among them.

    `reserved` is the share of the system prompt in the budget. Where the turns in the middle need not be
    read, `first` has those of the beginning, `unseen` is the number between, and `turns` has those of the end.
    """
    limit = limit_of(budget) - reserved
    total = len(first) + unseen + len(turns)
    if unseen:
        # What a call in front of the unseen turns got in answer may be among them: such a call is left out as well.
        begin = takewhile(lambda unit: not unit.lacks_results, _units(first, 0, counter))
        units = [*begin, *_units(turns, len(first) + unseen, counter)]
    else:
        units = _units([*first, *turns], 0, counter)
    if units and (unseen or sum(unit.tokens for unit in units) > limit):
        units = _kept(units, total, limit, counter)
    return _window(units, total, counter)


def cost_of(message: Message, counter: Counter) -> int:
    """What a message takes of the budget."""
    parts = counter.count(msgspec.json.encode(message.parts, enc_hook=str).decode()) if message.parts else 0
    return OVERHEAD_TOKENS + counter.count(message.content) + parts


def message_of(turn: Turn) -> Message:
    role: Role = turn.role if turn.role in ROLES else "user"  # type: ignore[assignment]  # one of them, as it says
    return Message(role=role, content=turn.content, parts=tuple(map(_lean, turn.parts)) if turn.parts else ())


def _lean(part: JsonObject) -> JsonObject:
    """Without the arguments that a result repeats from its call."""
    if part.get("type") != "tool_result" or "arguments" not in part:
        return part
    return {name: value for name, value in part.items() if name != "arguments"}


def marker_of(count: int) -> str:
    return f"[{count:,} earlier turn{' is' if count == 1 else 's are'} left out]"


def _kept(units: list[_Unit], total: int, limit: int, counter: Counter) -> list[_Unit]:
    """The first and the last, and of these, from the older side of the last on, only what fits."""
    newest = next((unit for unit in reversed(units) if _is_from_user(unit)), units[-1])
    head = _covering(units, KEEP_FIRST) if units[0].start == 0 else []
    tail = [unit for unit in reversed(_covering(units[::-1], KEEP_LAST)) if unit not in head]
    kept = [*head, *tail] if newest in head or newest in tail else [*head, newest, *tail]
    used = sum(unit.tokens for unit in kept)
    for unit in [*tail, *reversed(head)]:
        if used + _marker_tokens(kept, total, counter) <= limit:
            break
        if unit is not newest:
            kept.remove(unit)
            used -= unit.tokens
    return kept


def _covering(units: Sequence[_Unit], count: int) -> list[_Unit]:
    """The first units that cover this number of turns."""
    taken: list[_Unit] = []
    turns = 0
    for unit in units:
        if turns >= count:
            break
        taken.append(unit)
        turns += unit.end - unit.start
    return taken


def _is_from_user(unit: _Unit) -> bool:
    return any(message.role == "user" for message in unit.messages)


def _gaps(kept: Sequence[_Unit], total: int) -> dict[int, int]:
    """The number of turns missing before each of the chosen units, and after the last, where any are."""
    ends = [0, *(unit.end for unit in kept)]
    starts = [*(unit.start for unit in kept), total]
    return {number: start - end for number, (end, start) in enumerate(zip(ends, starts, strict=True)) if start > end}


def _marker_tokens(kept: Sequence[_Unit], total: int, counter: Counter) -> int:
    return sum(OVERHEAD_TOKENS + counter.count(marker_of(count)) for count in _gaps(kept, total).values())


def _window(kept: Sequence[_Unit], total: int, counter: Counter) -> Window:
    missing = _gaps(kept, total)
    messages: list[Message] = []
    for number in range(len(kept) + 1):
        if number in missing:
            messages.append(Message(role="user", content=marker_of(missing[number])))
        if number < len(kept):
            messages += kept[number].messages
    return Window(
        messages=tuple(messages),
        dropped=sum(missing.values()),
        marker=marker_of(next(iter(missing.values()))) if missing else "",
        tokens=sum(unit.tokens for unit in kept) + _marker_tokens(kept, total, counter),
    )


def _units(turns: Sequence[Turn], offset: int, counter: Counter) -> list[_Unit]:
    """The turns in runs that no pair of a call and its result reaches across."""
    until, orphans = _pairs(turns)
    units: list[_Unit] = []
    place = 0
    while place < len(turns):
        start, end = place, place + 1
        messages: list[Message] = []
        lacks_results = False
        while place < end:
            end = max(end, until.get(place, 0) + 1)
            messages.append(message_of(turns[place]))
            if place in orphans:
                messages.append(_unanswered(orphans[place]))
                lacks_results = True
            place += 1
        tokens = sum(cost_of(message, counter) for message in messages)
        units.append(_Unit(offset + start, offset + end, tuple(messages), tokens, lacks_results))
    return units


def _pairs(turns: Sequence[Turn]) -> tuple[dict[int, int], dict[int, list[str]]]:
    """For each turn with calls, the turn of the last result; and the calls without a result, by their turn."""
    until: dict[int, int] = {}
    waiting: dict[str, list[int]] = {}
    orphans: dict[int, list[str]] = {}
    for place, turn in enumerate(turns):
        for part in turn.parts:
            name = str(part.get("id", ""))
            match part.get("type"):
                case "tool_call":
                    # Some tools number the calls of every turn from the start: an older one of this name waits no more.
                    calls = waiting.setdefault(name, [])
                    for lost in [call for call in calls if call != place]:
                        orphans.setdefault(lost, []).append(name)
                        calls.remove(lost)
                    calls.append(place)
                case "tool_result" if waiting.get(name):
                    call = waiting[name].pop(0)
                    until[call] = max(until.get(call, 0), place)
    for name, calls in waiting.items():
        for call in calls:
            orphans.setdefault(call, []).append(name)
    return until, orphans


def _unanswered(names: Sequence[str]) -> Message:
    parts: tuple[JsonObject, ...] = tuple({"type": "tool_result", "id": name, "content": NO_RESULT} for name in names)
    return Message(role="tool", content=NO_RESULT, parts=parts)


HELD_FIRST, HELD_LAST = 16, 64
"""More than the window needs, so that a call at its edge is found with its results."""

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
        """Whether there are no new turns: turns are only added, so the name of the branch and their number tell."""
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

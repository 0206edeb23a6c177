"""The part of a conversation that is handed over: all turns if they fit, else the first and the last ones.

Results and other long texts are shortened before turns are left out. A call and its result stay together. A notice in
place of the turns that are left out tells the model so, with the summary that the tool made of them, if it did.
"""

from __future__ import annotations

from collections import deque
from itertools import accumulate
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from segue.integrations.format.pairs import is_spoken
from segue.integrations.format.parts import has_part, notice_part
from segue.integrations.format.values import as_text
from segue.model import Turn, hide_redacted
from segue.transfer.shortening import Shortened, shorten, shorten_turn

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from segue.model import JsonObject
    from segue.session import LiveSession

MOST_CHARACTERS = 300_000
"""Well within what current models can read."""
FIRST, LAST = 2, 10
"""How many turns the beginning has, and how many at the end have longer results than the others."""
_KEPT = 4
"""How many times the limit is kept of the last turns, in case that they all belong together."""
_MOST_FIRST = 8
"""How many turns the beginning has at most, if calls in it have their results later."""
_LAST_SHARE, _OLDER_SHARE, _SUMMARY_SHARE = 20, 150, 10
"""The part of the limit for one result in the last turns or one text, for one result in older turns, and a summary."""
_SHORTEST = 200
_MOST_WAITING = 100
_NOTICE_ID = "segue:left-out"


class HandoverWindow(Struct, frozen=True, kw_only=True):
    opening: tuple[Turn, ...] = ()
    """The first turns, if turns after them are left out."""
    notice: str = ""
    """What the model is told about the turns that are left out; empty if none are."""
    prompt: Turn | None = None
    """The last turn of the user, if it is among those that would be left out."""
    left_out_after: int = 0
    """How many turns are left out between the prompt and the last turns."""
    last: tuple[Turn, ...]
    left_out: int = 0
    """How many turns are left out in all."""
    has_summary: bool = False
    """Whether the notice has a summary of the turns that are left out."""
    shortened_results: int = 0
    shortened_texts: int = 0
    shortened_calls: int = 0

    @property
    def turns(self) -> tuple[Turn, ...]:
        """All of it, with a notice as a turn wherever turns are left out."""
        found = [*self.opening]
        if self.notice:
            found.append(_notice_turn(self.notice, (self.prompt or self.last[0]).timestamp))
        if self.prompt is not None:
            found.append(self.prompt)
        if self.left_out_after:
            found.append(_notice_turn(_left_out(self.left_out_after), self.last[0].timestamp))
        return (*found, *self.last)


def handover_window(session: LiveSession, limit: int = MOST_CHARACTERS) -> HandoverWindow:
    """All turns of the active branch if they fit into the limit; else the first and the last ones.

    The turns are read once, and only those that may be handed over stay in memory, without their long texts.
    """
    reader = _Reader(limit)
    for turn in hide_redacted(session.overview, session.iter_first(session.overview.turn_count)):
        reader.add(turn)
    if reader.whole is not None:
        return HandoverWindow(last=tuple(piece.turn for piece in reader.whole))
    turns = reader.last
    start = _start(turns, limit)
    last = _fitted(turns[start:], limit)
    missing = reader.passed + start
    opening = _opening(reader.first[:missing])
    gap = reader.gap(start, len(opening), session.overview.summary)
    prompt = [gap.prompt] if gap.prompt is not None else []
    left_out = missing - len(opening) - len(prompt)
    pieces = [*opening, *prompt, *last]
    summary = shorten(gap.summary, max(_SHORTEST, limit // _SUMMARY_SHARE)) if left_out else ""
    return HandoverWindow(
        opening=tuple(piece.turn for piece in opening),
        notice=_notice(left_out - gap.after_prompt, summary),
        prompt=gap.prompt.turn if gap.prompt is not None else None,
        left_out_after=gap.after_prompt,
        last=tuple(piece.turn for piece in last),
        left_out=left_out,
        has_summary=bool(summary),
        shortened_results=sum(piece.results for piece in pieces),
        shortened_texts=sum(piece.texts for piece in pieces),
        shortened_calls=sum(piece.calls for piece in pieces),
    )


class _Gap(Struct, frozen=True, kw_only=True):
    """What is needed of the turns that are left out."""

    summary: str = ""
    prompt: Shortened | None = None
    """The last words of the user, if they are not among the last turns."""
    after_prompt: int = 0


class _Reader:
    """Takes the turns of a conversation in their order, and keeps what may be handed over."""

    def __init__(self, limit: int) -> None:
        self.whole: list[Shortened] | None = []
        """All turns as they are; None if they are too many."""
        self.first: list[Shortened] = []
        self.passed = 0
        """How many turns are not among the last ones."""
        self._limit = limit
        self._left = limit
        self._last: deque[Shortened] = deque()
        """The last turns except the newest, shortened like older ones."""
        self._size = 0
        self._newest: deque[Turn] = deque()
        self._waiting: dict[str, JsonObject] = {}
        """Calls that are not among the last turns, and whose results may be."""
        self._summary: tuple[int, str] = (0, "")
        self._prompt: tuple[int, Shortened | None] = (0, None)

    @property
    def last(self) -> list[Shortened]:
        found = [*self._last, *(shorten_turn(turn, _longest(0, self._limit)) for turn in self._newest)]
        waiting = dict(self._waiting)
        return [_with_calls(piece, waiting) for piece in found] if waiting else found

    def add(self, turn: Turn) -> None:
        turn = replace(turn, native=None)
        if self.whole is not None:
            self.whole.append(shorten_turn(turn, max(self._limit, _SHORTEST)))
            self._left -= self.whole[-1].size
            if self._left < 0:
                self.whole = None
        if len(self.first) < _MOST_FIRST:
            self.first.append(self._shorten(turn))
        self._newest.append(turn)
        if len(self._newest) > LAST:
            self._last.append(self._shorten(self._newest.popleft()))
            self._size += self._last[-1].size
        while self._size > _KEPT * self._limit:
            self._pass(self._last.popleft())

    def gap(self, start: int, opening: int, summary: str) -> _Gap:
        """What is needed of the turns between the opening and the last ones, which begin there."""
        last = self.last
        for piece in last[:start]:
            self._note(piece)
        later = next((piece.turn.content for piece in last[start:] if _is_summary(piece.turn)), "")
        place, prompt = self._prompt
        if place <= opening or any(_is_prompt(piece.turn) for piece in last[start:]):
            place, prompt = 0, None
        at, found = self._summary
        return _Gap(
            summary=later or (found if at > opening else "") or summary,
            prompt=prompt,
            after_prompt=self.passed - place if prompt is not None else 0,
        )

    def _shorten(self, turn: Turn) -> Shortened:
        return shorten_turn(turn, _longest(LAST + 1, self._limit), of_words=_longest(0, self._limit))

    def _pass(self, piece: Shortened) -> None:
        self._size -= piece.size
        self._note(piece)
        for part in piece.turn.parts:
            if part.get("type") == "tool_call":
                self._waiting[as_text(part.get("id"))] = part
            elif part.get("type") == "tool_result":
                self._waiting.pop(as_text(part.get("id")), None)
        while len(self._waiting) > _MOST_WAITING:
            del self._waiting[next(iter(self._waiting))]

    def _note(self, piece: Shortened) -> None:
        self.passed += 1
        if _is_summary(piece.turn):
            self._summary = (self.passed, piece.turn.content)
        if _is_prompt(piece.turn):
            self._prompt = (self.passed, piece)


def _with_calls(piece: Shortened, waiting: dict[str, JsonObject]) -> Shortened:
    """The turn; a result in it whose call is left out has it in front, and the turn is one of a tool."""
    role = piece.turn.role
    parts: list[JsonObject] = []
    for part in piece.turn.parts:
        name = as_text(part.get("id"))
        if part.get("type") == "tool_call":
            waiting.pop(name, None)
        elif part.get("type") == "tool_result" and name in waiting:
            parts.append(waiting.pop(name))
            role = role if is_spoken(piece.turn) else "tool"
        parts.append(part)
    return replace(piece, turn=replace(piece.turn, role=role, parts=tuple(parts)))


def _longest(from_end: int, limit: int) -> int:
    """How long a text may be in the turn that is this far from the end."""
    return max(_SHORTEST, limit // (_LAST_SHARE if from_end <= LAST else _OLDER_SHARE))


def _start(turns: Sequence[Shortened], limit: int) -> int:
    """Where the last turns begin: with a turn of the user if that costs less than half of them, and never in a pair."""
    possible = _between_pairs([piece.turn for piece in turns])
    sizes = [0]
    for piece in reversed(turns):
        sizes.append(sizes[-1] + piece.size)
    sizes.reverse()  # by the place of a turn: the size of it and all after it
    first = next((place for place in possible if sizes[place] <= limit), None)
    if first is None:  # the last turns belong together, and are shortened further
        return possible[-1] if possible else max(0, len(turns) - LAST)
    for place in possible:
        if place >= first and turns[place].turn.role == "user" and is_spoken(turns[place].turn):
            return place if 2 * sizes[place] >= sizes[first] else first
    return first


def _between_pairs(turns: Sequence[Turn]) -> list[int]:
    """The places of the turns before which a conversation can be cut: no result after them belongs to a call before."""
    called: dict[str, int] = {}
    opened = [0] * (len(turns) + 1)  # by the place of a turn: how many pairs start before it, less those that end there
    for place, turn in enumerate(turns):
        for part in turn.parts:
            name = as_text(part.get("id"))
            if part.get("type") == "tool_call":
                called[name] = place
            elif part.get("type") == "tool_result" and name in called:
                opened[called.pop(name) + 1] += 1
                opened[place + 1] -= 1
    return [place for place, pairs in enumerate(accumulate(opened[:-1])) if not pairs]


def _fitted(turns: Sequence[Shortened], limit: int) -> list[Shortened]:
    """The turns, with even shorter texts if they are still too large."""
    found, longest = list(turns), _longest(0, limit)
    while sum(piece.size for piece in found) > limit and longest > _SHORTEST:
        longest = max(_SHORTEST, longest // 2)
        found = [piece.shorten(longest) for piece in turns]
    return found


def _opening(turns: Sequence[Shortened]) -> list[Shortened]:
    """The first turns, up to where no call waits for its result."""
    waiting: set[str] = set()
    ends = [0]
    for place, piece in enumerate(turns, start=1):
        for part in piece.turn.parts:
            if part.get("type") == "tool_call":
                waiting.add(as_text(part.get("id")))
            elif part.get("type") == "tool_result":
                waiting.discard(as_text(part.get("id")))
        if not waiting:
            ends.append(place)
    return list(turns[: next((end for end in ends if end >= FIRST), ends[-1])])


def _is_summary(turn: Turn) -> bool:
    return has_part(turn, "summary") and bool(turn.content.strip())


def _is_prompt(turn: Turn) -> bool:
    return turn.role == "user" and is_spoken(turn) and not has_part(turn, "tool_call")


def _notice(left_out: int, summary: str) -> str:
    if left_out <= 0:
        return f"A summary of what was said until here:\n\n{summary}" if summary else ""
    told = f" A summary of what was said until here:\n\n{summary}" if summary else ""
    return _left_out(left_out) + told


def _left_out(count: int) -> str:
    turns = "1 turn of this conversation is" if count == 1 else f"{count:,} turns of this conversation are"
    return f"{turns} left out here."


def _notice_turn(text: str, at: datetime) -> Turn:
    return Turn(role="system", content=text, timestamp=at, tokens=None, parts=(notice_part(),), id=_NOTICE_ID)

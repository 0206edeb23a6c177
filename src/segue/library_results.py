"""The values that a library returns: search results, streamed sessions, followers, what a cleaning removed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from segue.errors import NotFoundError
from segue.model import Event, Head, Overview, Record, Turn, Unknown, Usage, own_turn_ranges, usage_of_turn

if TYPE_CHECKING:
    from segue.store import Store

_STREAMED_BRANCHES = 16
"""With more branches than this, reading all turns into memory costs less than reading the session once per branch."""


class Cleaned(Struct, frozen=True, kw_only=True):
    """The result of a cleaning, or of its dry run."""

    removed: tuple[Head, ...]
    kept: tuple[tuple[Head, str], ...]
    """Sessions that are old enough but were not removed, each with the reason."""


class SearchResult(Struct, frozen=True, kw_only=True):
    """A session that matches a search, with its best match."""

    session_id: str
    title: str
    kind: Literal["title", "summary", "turn", "call", "decision", "learning"]
    """What the match is in; `call` is a tool call of a turn, its arguments or its result."""
    snippet: str
    """The text around the match, shortened."""
    turn: Turn | None
    """The turn of the match, where it is in one."""
    matches: int
    """The number of matches in the session."""


class StreamedSession(Struct, frozen=True):
    """An undamaged session whose turns are read one by one: it may be larger than memory."""

    overview: Overview
    unknown: tuple[Unknown, ...]
    _read: Callable[[], Iterator[Event]]
    usage: Usage = Usage()
    """What all turns used, as far as that was recorded."""
    record_count: int = 0
    """How many records of programs there are."""

    @property
    def records(self) -> Iterator[Record]:
        """All of them, in order."""
        found = (event for event in self._read() if isinstance(event, Record))
        return islice(found, self.record_count)

    def path(self, branch: str) -> Iterator[Turn]:
        """Like `Session.path`; turns that were recorded since then are left out."""
        wanted = own_turn_ranges(self.overview, branch)
        return self._turns({name: high for name, (_, high) in wanted.items()})

    @property
    def own_turns(self) -> dict[str, Iterator[Turn]]:
        """Like `Session.own_turns`. The session is read once per branch, or at once if there are many branches."""
        own = {name: one.own for name, one in self.overview.branches.items() if one.own}
        if len(own) <= _STREAMED_BRANCHES:
            return {name: self._turns({name: count}) for name, count in own.items()}
        found: dict[str, list[Turn]] = {name: [] for name in own}
        for turn in self._turns(own):
            found[turn.branch].append(turn)
        return {name: iter(turns) for name, turns in found.items()}

    def first_turns(self) -> dict[str, Turn]:
        """By branch, the first turn of its own."""
        wanted = {name: 1 for name, one in self.overview.branches.items() if one.own}
        return {turn.branch: turn for turn in self._turns(wanted)}

    def _turns(self, left: dict[str, int]) -> Iterator[Turn]:
        left = dict(left)
        for event in self._read():
            if isinstance(event, Turn) and left.get(event.branch, 0):
                left[event.branch] -= 1
                yield event


def stream_session(store: Store, id: str) -> StreamedSession:
    """Read the session once, for what is not in its overview. DamagedError if it is damaged."""
    overview, usage = store.overview(id), Usage()
    unknown: list[Unknown] = []
    records = 0
    for event in store.read(id):
        if isinstance(event, Unknown):
            unknown.append(event)
        elif isinstance(event, Turn) and event.extra:
            usage += usage_of_turn(event)
        elif isinstance(event, Record):
            records += 1
    return StreamedSession(overview, tuple(unknown), lambda: store.read(id), usage, records)


class Follower:
    """Reads the events that other processes have added to a session since the last poll. It never waits."""

    def __init__(self, store: Store, session_id: str, after: int | None) -> None:
        self._store = store
        self._session_id = session_id
        self._after = store.overview(session_id).seq if after is None else after
        self._revision = ""

    def poll(self) -> list[Event] | None:
        """The events recorded since the last poll, in order; None once the session is gone."""
        try:
            revision = self._store.revision(self._session_id)
            if revision == self._revision:
                return []
            events = list(self._store.read(self._session_id, after=self._after))
        except NotFoundError:
            return None
        self._revision = revision
        if events:
            self._after = events[-1].seq
        return events


def names_of(head: Head) -> tuple[str, ...]:
    """What users may call a session; the id is the first."""
    return head.id, head.title, *head.tags

"""The events of a session in the order in which they were appended, at the cost of those that are wanted."""

from __future__ import annotations

from copy import deepcopy
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from segue.bridges.google_adk.events import dump_of, has_blobs, is_event, to_event
from segue.bridges.google_adk.recent import Remembered
from segue.bridges.google_adk.shared import HEAD
from segue.bridges.sessions import new_id
from segue.clock import utc_now
from segue.integrations.format.values import as_amount
from segue.model import MAIN, BranchCreated, BranchSwitched, Record, Turn

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from google.adk.events.event import Event

    from segue.bridges.google_adk.recent import RecentSessions
    from segue.bridges.sessions import NamedSessions
    from segue.model import Event as SegueEvent
    from segue.model import Overview

_REWIND = "rewind-"
"""How the names of branches begin that a rewind of the framework made."""
_PER_EVENT = 4
"""How many events of Segue an event of the framework usually is: itself, the head, and what it changes."""


class Key(NamedTuple):
    """What the framework calls a session."""

    app_name: str
    user_id: str
    id: str

    @property
    def scope(self) -> tuple[str, str]:
        return self.app_name, self.user_id


class History:
    """The events of a session as of an overview of it."""

    def __init__(self, sessions: NamedSessions, overview: Overview, recent: RecentSessions) -> None:
        self._store = sessions.store
        self._session_id = overview.id
        self._upto = overview.seq
        self._recent = recent
        self._is_forked = any(name != MAIN and not name.startswith(_REWIND) for name in overview.branches)

    def all(self) -> list[Event]:
        if self._is_forked:
            return self._events(self._on_active_branch())
        if not self._store.capabilities.append_only:
            return self._events(self._read(0))
        known = self._recent.get(self._session_id)
        if known is not None:
            first, *new = self._read(known.seq - 1) if known.seq <= self._upto else (None,)
            if first is not None and first.id == known.id:
                return self._with_new(known, new)
        found = list(self._read(0))
        events = self._events(found)
        if found and not any(map(has_blobs, found)):
            last = found[-1]
            self._recent.put(self._session_id, lambda: Remembered(last.seq, last.id, tuple(map(deepcopy, events))))
        return events

    def _with_new(self, known: Remembered, found: Sequence[SegueEvent]) -> list[Event]:
        """What is remembered, and what was recorded since."""
        if found and not any(map(has_blobs, found)):
            known = Remembered(found[-1].seq, found[-1].id, (*known.events, *self._events(found)))
            self._recent.put(self._session_id, lambda: known)
            found = ()
        return [*map(deepcopy, known.events), *self._events(found)]

    def after(self, seq: int) -> list[Event]:
        """The events that were appended after the head with this number."""
        return self._events(self._read(seq))

    def recent(self, count: int) -> list[Event]:
        """The last events."""
        wanted: list[SegueEvent] = []
        for found in [self._on_active_branch()] if self._is_forked else self._growing(count * _PER_EVENT):
            wanted = [stored for stored in found if is_event(stored)]
            if len(wanted) >= count:
                break
        return self._events(wanted[max(0, len(wanted) - count) :])

    def since(self, timestamp: float) -> list[Event]:
        """The events of this time and later ones, by their own times. Clocks may have gone back in between."""
        if self._is_forked:
            return [event for event in self.all() if event.timestamp >= timestamp]
        wanted: list[SegueEvent] = []
        for found in self._growing(_PER_EVENT * 16):
            older = [stored for stored in found if _latest(stored) < timestamp]
            wanted = [stored for stored in found if not older or stored.seq > older[-1].seq]
            if older:
                break
        return [event for event in self._events(wanted) if event.timestamp >= timestamp]

    def branch_before(self, invocation_id: str) -> BranchCreated | None:
        """A branch with the turns that there were before the invocation; None if nothing is of that invocation."""
        walk = _Walk()
        for stored in self._read(0):
            if is_event(stored) and self._invocation(stored) == invocation_id:
                at = len(walk.turns[walk.active])
                id = new_id()
                return BranchCreated(name=f"{_REWIND}{id[:8]}", parent=walk.active, at=at, timestamp=utc_now(), id=id)
            walk.add(stored)
        return None

    def _on_active_branch(self) -> list[SegueEvent]:
        walk = _Walk()
        for stored in self._read(0):
            walk.add(stored)
        return walk.events[walk.active]

    def _read(self, after: int) -> Iterator[SegueEvent]:
        return takewhile(lambda event: event.seq <= self._upto, self._store.read(self._session_id, after=after))

    def _growing(self, count: int) -> Iterator[list[SegueEvent]]:
        """The last events of any kind, at first about `count` of them, then more and at last all."""
        after = self._upto
        while after > 0:
            after = max(0, self._upto - count)
            yield list(self._read(after))
            count *= 4

    def _events(self, found: Sequence[SegueEvent] | Iterator[SegueEvent]) -> list[Event]:
        get_blob = partial(self._store.get_blob, self._session_id)
        return [to_event(self._session_id, stored, get_blob) for stored in found if is_event(stored)]

    def _invocation(self, stored: SegueEvent) -> object:
        dump = dump_of(stored, partial(self._store.get_blob, self._session_id))
        return dump.get("invocation_id") if dump is not None else None


class _Walk:
    """What each branch consists of, as a session is read from its beginning.

    A rewind of the framework begins a branch whose turns are those before it, but the framework wants all events. A
    fork of a user begins one with the events up to its turn.
    """

    def __init__(self) -> None:
        self.active = MAIN
        self.turns: dict[str, list[int]] = {MAIN: []}
        """By branch: the numbers of its turns, also of those that it shares."""
        self.events: dict[str, list[SegueEvent]] = {MAIN: []}

    def add(self, stored: SegueEvent) -> None:
        match stored:
            case BranchCreated():
                self._branch(stored)
            case BranchSwitched():
                self.active = stored.branch
            case Turn():
                self.turns[stored.branch].append(stored.seq)
        if is_event(stored):
            self.events[self.active].append(stored)

    def _branch(self, created: BranchCreated) -> None:
        turns = self.turns[created.parent]
        self.turns[created.name] = turns[: created.at]
        if created.name.startswith(_REWIND):
            self.events[created.name] = list(self.events[self.active])
        else:
            end = turns[created.at] if created.at < len(turns) else created.seq
            self.events[created.name] = [event for event in self.events[created.parent] if event.seq < end]
        if created.switch:
            self.active = created.name


def head_of(overview: Overview) -> Record | None:
    return overview.records.get(HEAD)


def _latest(stored: SegueEvent) -> float:
    """The latest time of the events up to this head; that of anything else is not known."""
    if isinstance(stored, Record) and stored.name == HEAD:
        latest = as_amount(stored.data.get("latest"))
        return float("-inf") if latest is None else latest
    return float("inf")

"""The events of a session in the order in which they were appended, at the cost of those that are wanted."""

from __future__ import annotations

from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from segue.bridges.google_adk.events import dump_of, is_event, to_event
from segue.bridges.google_adk.shared import HEAD
from segue.bridges.sessions import new_id
from segue.clock import utc_now
from segue.integrations.format.values import as_amount
from segue.model import MAIN, BranchCreated, BranchSwitched, Record, Turn

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from google.adk.events.event import Event

    from segue.bridges.sessions import NamedSessions
    from segue.model import Event as SegueEvent
    from segue.model import Overview

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
    """The events of a session up to a head of it: later ones do not count."""

    def __init__(self, sessions: NamedSessions, session_id: str, upto: int) -> None:
        self._store = sessions.store
        self._session_id = session_id
        self._upto = upto

    def all(self) -> list[Event]:
        return self._events(self._read(0))

    def after(self, seq: int) -> list[Event]:
        """The events that were appended after the head with this number."""
        return self._events(self._read(seq))

    def recent(self, count: int) -> list[Event]:
        """The last events."""
        wanted: list[SegueEvent] = []
        for found in self._growing(count * _PER_EVENT):
            wanted = [stored for stored in found if is_event(stored)]
            if len(wanted) >= count:
                break
        return self._events(wanted[max(0, len(wanted) - count) :])

    def since(self, timestamp: float) -> list[Event]:
        """The events of this time and later ones, by their own times. Clocks may have gone back in between."""
        wanted: list[SegueEvent] = []
        for found in self._growing(_PER_EVENT * 16):
            older = [stored for stored in found if _latest(stored) < timestamp]
            wanted = [stored for stored in found if not older or stored.seq > older[-1].seq]
            if older:
                break
        return [event for event in self._events(wanted) if event.timestamp >= timestamp]

    def branch_before(self, invocation_id: str) -> BranchCreated | None:
        """A branch with the turns that there were before the invocation; None if nothing is of that invocation."""
        active, counts = MAIN, {MAIN: 0}
        for stored in self._read(0):
            if isinstance(stored, BranchCreated):
                counts[stored.name] = stored.at
                active = stored.name if stored.switch else active
            elif isinstance(stored, BranchSwitched):
                active = stored.branch
            elif is_event(stored) and self._invocation(stored) == invocation_id:
                id = new_id()
                return BranchCreated(
                    name=f"rewind-{id[:8]}", parent=active, at=counts[active], timestamp=utc_now(), id=id
                )
            if isinstance(stored, Turn):
                counts[stored.branch] += 1
        return None

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


def head_of(overview: Overview) -> Record | None:
    return overview.records.get(HEAD)


def _latest(stored: SegueEvent) -> float:
    """The latest time of the events up to this head; that of anything else is not known."""
    if isinstance(stored, Record) and stored.name == HEAD:
        latest = as_amount(stored.data.get("latest"))
        return float("-inf") if latest is None else latest
    return float("inf")

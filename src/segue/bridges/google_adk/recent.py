"""What this process remembers of sessions, so that it reads and checks each event once."""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from google.adk.events.event import Event
    from google.adk.sessions.session import Session

_MOST_EVENTS = 20_000


class Remembered(NamedTuple):
    """The events of a session up to one of Segue's events, by its number and id."""

    seq: int
    id: str
    events: tuple[Event, ...]


class RecentSessions:
    """The events of the sessions that were read last. What is remembered is never handed out, only copies of it.

    A session is remembered when it is read for the second time: a process that reads it once pays nothing for it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: OrderedDict[str, None] = OrderedDict()
        self._sessions: OrderedDict[str, Remembered] = OrderedDict()
        self._count = 0

    def get(self, session_id: str) -> Remembered | None:
        with self._lock:
            if session_id in self._sessions:
                self._sessions.move_to_end(session_id)
            return self._sessions.get(session_id)

    def put(self, session_id: str, make: Callable[[], Remembered]) -> None:
        with self._lock:
            if session_id not in self._seen:
                self._seen[session_id] = None
                if len(self._seen) > _MOST_EVENTS:
                    self._seen.popitem(last=False)
                return
        found = make()
        with self._lock:
            self._forget(session_id)
            self._sessions[session_id] = found
            self._count += len(found.events)
            while self._count > _MOST_EVENTS:
                self._forget(next(iter(self._sessions)))

    def _forget(self, session_id: str) -> None:
        if (gone := self._sessions.pop(session_id, None)) is not None:
            self._count -= len(gone.events)


class KnownEvents:
    """Which events session objects have, without going through all of them for each new one."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[int, set[str]]] = {}  # by the identity of the object: how many were looked at

    def has(self, session: Session, event: Event) -> bool:
        """Whether the object has an equal event."""
        key = id(session)
        if key not in self._known:
            weakref.finalize(session, self._known.pop, key, None)
            self._known[key] = 0, set()
        count, ids = self._known[key]
        if count > len(session.events):
            count, ids = 0, set()
        ids.update(known.id for known in session.events[count:])
        self._known[key] = len(session.events), ids
        return event.id in ids and any(known.id == event.id and known == event for known in session.events)

"""The threads that this process knows, brought up to date before every use."""

from __future__ import annotations

import threading
from collections import OrderedDict
from contextlib import contextmanager
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from segue.bridges.langgraph.thread import Thread
from segue.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from segue.bridges.sessions import NamedSessions
    from segue.model import Overview
    from segue.session import LiveSession

MOST_RECORDS, MOST_THREADS = 20_000, 256
"""How much is kept in memory; the thread that was not used for longest is forgotten first."""


class ThreadCache:
    """Threads by name. What is known of one is compared with the store at each use, never trusted."""

    def __init__(self, sessions: NamedSessions) -> None:
        self._sessions = sessions
        self._threads: OrderedDict[str, Thread] = OrderedDict()
        self._locks: WeakValueDictionary[str, threading.RLock] = WeakValueDictionary()
        self._lock = threading.Lock()

    @contextmanager
    def reading(
        self,
        name: str,
        needed: Callable[[Thread], int] = lambda _thread: 0,
    ) -> Iterator[Thread | None]:
        """The thread as it is now, for one thread of the program at a time; None if there is no session.

        `needed` gives the event after which it must be known: by default all.
        """
        with self._alone(name):
            yield self._current(name, needed)
            self._forget_some()

    @contextmanager
    def writing(
        self, session: LiveSession, name: str, needed: Callable[[Thread], int] = lambda _thread: 0
    ) -> Iterator[Thread]:
        """The same for the writer of its session."""
        with self._alone(name):
            yield self._current_of(name, needed, session.overview)
            self._forget_some()

    def forget(self, name: str) -> None:
        with self._alone(name), self._lock:
            self._threads.pop(name, None)

    def _current(self, name: str, needed: Callable[[Thread], int]) -> Thread | None:
        revision = self._revision(name)
        thread = self._threads.get(name) if self._sessions.store.capabilities.append_only else None
        if thread is not None and revision and thread.revision == revision and thread.since <= needed(thread):
            return self._used(name, thread)
        overview = self._sessions.overview(name) if revision else None
        if overview is None:
            with self._lock:
                self._threads.pop(name, None)
            return None
        thread = self._current_of(name, needed, overview)
        thread.revision = revision  # it may have changed since: then the next call reads again
        return thread

    def _current_of(self, name: str, needed: Callable[[Thread], int], overview: Overview) -> Thread:
        is_append_only = self._sessions.store.capabilities.append_only
        thread = self._threads.get(name) if is_append_only else None
        if thread is None or thread.created_at != overview.created_at or thread.seq > overview.seq:
            pointed = Thread(overview.id, overview.created_at, overview.seq)
            pointed.points_at(overview)
            thread = self._read(name, overview, needed(pointed) if is_append_only else 0)
        elif thread.seq < overview.seq:
            thread.apply(self._sessions.read(name, after=thread.seq))
        while thread.since > (since := needed(thread)):
            thread = self._read(name, overview, since)
        return self._used(name, thread)

    def _used(self, name: str, thread: Thread) -> Thread:
        with self._lock:
            self._threads[name] = thread
            self._threads.move_to_end(name)
        return thread

    def _revision(self, name: str) -> str:
        try:
            return self._sessions.store.revision(self._sessions.id_of(name))
        except NotFoundError:
            return ""

    def _read(self, name: str, overview: Overview, since: int) -> Thread:
        thread = Thread(overview.id, overview.created_at, since)
        thread.points_at(overview)
        thread.apply(self._sessions.read(name, after=since))
        return thread

    def _forget_some(self) -> None:
        with self._lock:
            left = sum(thread.size for thread in self._threads.values())
            while left > MOST_RECORDS or len(self._threads) > MOST_THREADS:
                _, thread = self._threads.popitem(last=False)
                left -= thread.size

    @contextmanager
    def _alone(self, name: str) -> Iterator[None]:
        lock = self._locks.setdefault(name, threading.RLock())
        with lock:
            yield

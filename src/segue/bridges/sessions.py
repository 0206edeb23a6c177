"""The sessions of one framework in one store, by the names that the framework gives them.

A framework calls at any time, from any thread, process or machine, and never says when it is done. So each call opens
the session, records and releases it again: no lock outlives a call, and what a call recorded is durable when it
returns.
"""

from __future__ import annotations

import json
import os
import platform
import threading
import time
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, ParamSpec, TypeVar
from weakref import WeakValueDictionary

import segue.library
from segue.clock import utc_now
from segue.closing import Closing
from segue.errors import NotFoundError, SessionExistsError, SessionLockedError
from segue.ids import slug
from segue.library import Library
from segue.model import Metadata, Record
from segue.session import LiveSession
from segue.store import FORMAT_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from segue.model import Event, JsonObject, Overview

P = ParamSpec("P")
T = TypeVar("T")

WAIT_SECONDS = 30.0
"""How long a call waits for another process that records in the same session."""

_TITLE_LENGTH = 80
_PAUSE_SECONDS = 0.01

_locks: WeakValueDictionary[tuple[str, str], threading.Lock] = WeakValueDictionary()
"""By store and session: the threads of this process queue here, and only one of them waits for other processes."""
os.register_at_fork(after_in_child=_locks.clear)  # their holders are not in the child


def session_id_for(framework: str, name: str, *, scope: Sequence[str] = ()) -> str:
    """The id of the session that a framework calls `name` within a scope: readable, and another one for each name."""
    whole = json.dumps([framework, *scope, name])  # escapes keep every text apart, also half a character
    return f"{slug(name) or 'session'}-{sha256(whole.encode()).hexdigest()[:16]}"


def title_for(name: str) -> str:
    """The title of a session until it gets another: its name, on one line."""
    return " ".join(name.split())[:_TITLE_LENGTH]


async def in_thread(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call it in a thread, under asyncio or trio. Once begun it is finished, also if the caller is cancelled."""
    from anyio.to_thread import run_sync

    return await run_sync(partial(call, *args, **kwargs))


def new_record(kind: str, data: JsonObject, *, name: str = "", blobs: Sequence[str] = (), id: str = "") -> Record:
    return Record(kind=kind, data=data, name=name, blobs=tuple(blobs), timestamp=utc_now(), id=id or new_id())


def new_id() -> str:
    return os.urandom(12).hex()


class NamedSessions(Closing):
    """Sessions by name. A name is any text; `scope` holds the names it is unique within, such as an app and a user.

    `store` is the URL of a store, or a library that is open already; None means the user's own store.
    """

    def __init__(
        self, framework: str, store: str | Library | None = None, *, wait_seconds: float = WAIT_SECONDS
    ) -> None:
        self.framework = framework
        self.library = store if isinstance(store, Library) else segue.library.open(store)
        self.store = self.library.store
        self._wait_seconds = wait_seconds
        self._listed: dict[str, tuple[str, Overview]] = {}  # by id: the revision, and what was read then

    def __repr__(self) -> str:
        return f"<NamedSessions of {self.framework} in {self.store.url}>"

    def id_of(self, name: str, *, scope: Sequence[str] = ()) -> str:
        return session_id_for(self.framework, name, scope=scope)

    @contextmanager
    def writing(
        self,
        name: str,
        *,
        scope: Sequence[str] = (),
        create: bool = True,
        title: str = "",
        tags: Sequence[str] = (),
        extra: Mapping[str, object] | None = None,
    ) -> Iterator[LiveSession]:
        """The session, open for writing within the `with`.

        With `create` it need not exist, and begins with this title (or else its name), the tags and `extra`.

        Threads and processes are served in turn. SessionLockedError if another process has not released the session
        in time, NotFoundError if there is none.
        """
        session_id = self.id_of(name, scope=scope)
        with self._alone(session_id):
            begin = partial(self._first, session_id, name, scope, extra or {}, title or name, tags=tags)
            first = begin if create else None
            session = self._open(session_id, first)
            try:
                yield session
            finally:
                session.release()

    def create(
        self, name: str, *events: Event, scope: Sequence[str] = (), extra: Mapping[str, object] | None = None
    ) -> Overview:
        """Create the session with these events, all or nothing. SessionExistsError if there is one already."""
        session_id = self.id_of(name, scope=scope)
        with self._alone(session_id):
            writer = self.store.create(session_id, [self._first(session_id, name, scope, extra or {}, name), *events])
            try:
                return writer.overview
            finally:
                writer.close()

    def overview(self, name: str, *, scope: Sequence[str] = ()) -> Overview | None:
        """Everything but the turns and unnamed records, at a cost that does not grow; None if there is no session."""
        try:
            return self.store.overview(self.id_of(name, scope=scope))
        except NotFoundError:
            return None

    def read(self, name: str, *, scope: Sequence[str] = (), after: int = 0) -> Iterator[Event]:
        """The events with a seq greater than `after`; none if there is no session."""
        try:
            yield from self.store.read(self.id_of(name, scope=scope), after=after)
        except NotFoundError:
            return

    def all(self, *, scope: Sequence[str] | None = None) -> Iterator[Overview]:
        """The sessions of the framework, the last active first; with a scope only those in it.

        A copy of a session says the same of itself, and is not what the framework calls by that name. What has not
        changed since the last listing is not read again.
        """
        revisions = dict(self.store.revisions())
        known = dict(self._listed)  # other threads add to it
        self._listed = {id: found for id, found in known.items() if id in revisions}
        for head in self.library.list(agent=self.framework):
            try:
                overview = self._listed_overview(head.id, revisions.get(head.id))
            except NotFoundError:
                continue  # deleted meanwhile
            own_scope = scope_of(overview)
            is_own = overview.id == self.id_of(name_of(overview), scope=own_scope)
            if is_own and (scope is None or own_scope == tuple(scope)):
                yield overview

    def _listed_overview(self, session_id: str, revision: str | None) -> Overview:
        known = self._listed.get(session_id)
        if known is not None and known[0] == revision:
            return known[1]
        overview = self.store.overview(session_id)
        if revision is not None:  # of before it was read: if it has changed in between, it is read again
            self._listed[session_id] = (revision, overview)
        return overview

    def remove(self, name: str, *, scope: Sequence[str] = (), revision: str | None = None) -> bool:
        """Move the session to the trash, or delete it where there is none; False if there is no session.

        With a `revision` of the store, ConflictError if the session has changed since.
        """
        session_id = self.id_of(name, scope=scope)
        remove = self.library.delete if self.store.trash is None else self.library.discard
        until = time.monotonic() + self._wait_seconds
        with self._alone(session_id):
            while True:
                try:
                    remove(session_id, revision=revision)
                except NotFoundError:
                    return False
                except SessionLockedError:
                    if time.monotonic() >= until:
                        raise
                    time.sleep(_PAUSE_SECONDS)
                else:
                    return True

    def close(self) -> None:
        self.library.close()

    @contextmanager
    def _alone(self, session_id: str) -> Iterator[None]:
        lock = _locks.setdefault((self.store.url, session_id), threading.Lock())
        if not lock.acquire(timeout=self._wait_seconds):
            raise SessionLockedError(session_id, pid=os.getpid(), host=platform.node(), since=None)
        try:
            yield
        finally:
            lock.release()

    def _open(self, session_id: str, first: Callable[[], Metadata] | None) -> LiveSession:
        """Open it, or create it with its first event. Of several creators one is the first, and the others wait."""
        until = time.monotonic() + self._wait_seconds
        while True:
            try:
                writer = self.store.open(session_id, timeout_seconds=self._wait_seconds)
            except NotFoundError:
                if first is None:
                    raise
                try:
                    writer = self.store.create(session_id, [first()])
                except SessionExistsError:  # by another process, which may not have finished it
                    if time.monotonic() >= until:
                        raise
                    time.sleep(_PAUSE_SECONDS)
                    continue
            return LiveSession(self.store, writer, utc_now)

    def _first(
        self,
        session_id: str,
        name: str,
        scope: Sequence[str],
        extra: Mapping[str, object],
        title: str,
        *,
        tags: Sequence[str] = (),
    ) -> Metadata:
        """A session of a framework is paused from the start: between two calls, nobody has it open."""
        return Metadata(
            session_id=session_id,
            agent=self.framework,
            created_at=utc_now(),
            status="paused",
            version=FORMAT_VERSION,
            title=title_for(title),
            tags=tuple(tags),
            id=new_id(),
            extra={"tool": self.framework, "name": name, "scope": list(scope), **extra},
        )


def name_of(overview: Overview) -> str:
    """The name that the framework gave the session."""
    return str(overview.extra.get("name", ""))


def scope_of(overview: Overview) -> tuple[str, ...]:
    scope = overview.extra.get("scope")
    return tuple(map(str, scope)) if isinstance(scope, list) else ()

"""Sessions that live as long as the process: for tests, for experiments, and as the reference for other stores."""

from __future__ import annotations

import hashlib
import itertools
import os
import socket
import threading
import time
from copy import deepcopy
from typing import TYPE_CHECKING

from msgspec.structs import replace

from segue.clock import utc_now
from segue.closing import Closing
from segue.errors import (
    ConflictError,
    NotFoundError,
    ReadOnlyError,
    SessionExistsError,
    SessionLockedError,
    SessionNotFoundError,
    UsageError,
    WriterStoppedError,
)
from segue.ids import check_id, new_session_id
from segue.model import accept, accept_first, content_of, fold, head_of
from segue.store import FORMAT_VERSION, WAIT_SECONDS, Capabilities, Durability, Examination, Owner, Receipt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from segue.model import Event, Head, Overview, Session, Turn
    from segue.store import Recovery


_births = itertools.count(1)


class _Entry:
    """One session: its events, its overview, its blobs and its writer."""

    def __init__(self, session_id: str, events: Sequence[Event]) -> None:
        self.events, _, self.overview = accept_first(session_id, events)
        self.recorded = {event.id: (event.seq, content_of(event)) for event in self.events}
        self.blobs: dict[str, bytes] = {}
        self.owner: Owner | None = None
        self.born = next(_births)


class MemoryWriter(Closing):
    """See store.Writer."""

    def __init__(self, entry: _Entry, mutex: threading.RLock) -> None:
        self._entry = entry
        self._mutex = mutex
        self._open = True

    @property
    def overview(self) -> Overview:
        return deepcopy(self._entry.overview)

    @property
    def branch(self) -> str:
        return self._entry.overview.branch

    def append(self, *events: Event, ids_are_new: bool = False) -> Receipt:  # noqa: ARG002 - looking ids up is cheap here
        with self._mutex:
            self._check_open()
            entry = self._entry
            new, seqs, entry.overview = accept(events, entry.overview, entry.recorded, content_of)
            entry.events += new
            entry.recorded |= {event.id: (event.seq, content_of(event)) for event in new}
            return Receipt(seqs=seqs, durability=Durability.VOLATILE)

    def put_blob(self, data: bytes) -> str:
        with self._mutex:
            self._check_open()
            name = f"sha256:{hashlib.sha256(data).hexdigest()}"
            self._entry.blobs[name] = bytes(data)
            return name

    def close(self) -> None:
        with self._mutex:
            if self._open:
                self._open = False
                self._entry.owner = None

    def _check_open(self) -> None:
        if not self._open:
            raise WriterStoppedError(
                "cannot write to the session any more: the writer is closed", hint="open the session again"
            )


class MemoryStore:
    """See store.Store. As simple as possible: what reads turns folds all events again."""

    url = "memory:"
    capabilities = Capabilities(durability=Durability.VOLATILE, shared=False, can_be_damaged=False, append_only=True)
    trash = None
    bulk = None
    queries = None
    administration = None
    new_id = staticmethod(new_session_id)

    def __init__(
        self,
        root: str = "",
        *,
        clock: Callable[[], datetime] = utc_now,
        durability: Durability = Durability.VOLATILE,  # noqa: ARG002 - memory has no other
    ) -> None:
        if root:
            raise UsageError(f"{f'memory:{root}'!r}: a store in memory has no path", hint="use memory:")
        self._entries: dict[str, _Entry] = {}
        self._mutex = threading.RLock()
        self._clock = clock

    def path_of(self, session_id: str) -> str:
        return check_id(session_id)

    def size_bytes(self) -> None:
        """Nothing is on a disk."""

    def create(self, session_id: str, events: Sequence[Event]) -> MemoryWriter:
        entry = _Entry(check_id(session_id), events)
        with self._mutex:
            if session_id in self._entries:
                raise SessionExistsError(session_id)
            self._entries[session_id] = entry
            return self._writer(entry)

    def open(self, session_id: str, *, timeout_seconds: float = WAIT_SECONDS) -> MemoryWriter:
        deadline = time.monotonic() + timeout_seconds
        while True:
            with self._mutex:
                entry = self._get(session_id)
                if entry.overview.version > FORMAT_VERSION:
                    raise ReadOnlyError(f"session {session_id} was written by a newer version", hint="it can be read")
                if entry.owner is None:
                    return self._writer(entry)
                owner = entry.owner
            if time.monotonic() >= deadline:
                raise SessionLockedError(session_id, pid=owner.pid, host=owner.host, since=owner.since)
            time.sleep(0.001)

    def load(self, session_id: str) -> Session:
        with self._mutex:
            entry = self._get(session_id)
            session = fold(deepcopy(entry.events))
            interrupted = session.status == "active" and entry.owner is None
            return replace(session, status="interrupted") if interrupted else session

    def overview(self, session_id: str) -> Overview:
        with self._mutex:
            entry = self._get(session_id)
            overview = deepcopy(entry.overview)
            interrupted = overview.status == "active" and entry.owner is None
            return replace(overview, status="interrupted") if interrupted else overview

    def tail(self, session_id: str, count: int, *, branch: str | None = None) -> tuple[Turn, ...]:
        return self.load(session_id).tail(count, branch=branch)

    def read(self, session_id: str, *, after: int = 0) -> Iterator[Event]:
        with self._mutex:
            return iter(deepcopy(self._get(session_id).events[max(0, after) :]))

    def revision(self, session_id: str) -> str:
        with self._mutex:
            entry = self._get(session_id)
            return f"{entry.born}-{len(entry.events)}"

    def changed_at(self, session_id: str) -> None:
        self._get(session_id)

    def mark_changed(self, session_id: str, moment: datetime) -> None:  # noqa: ARG002 - there is nothing to mark
        self._get(session_id)

    def ids(self) -> Iterator[str]:
        with self._mutex:
            return iter(list(self._entries))

    def revisions(self) -> Iterator[tuple[str, str]]:
        with self._mutex:
            return iter([(session_id, self.revision(session_id)) for session_id in self._entries])

    def scope_file(self, session_id: str) -> None:
        """There are no files."""

    def heads(self) -> Iterator[Head]:
        with self._mutex:
            return iter([self.head(session_id) for session_id in self._entries])

    def head(self, session_id: str) -> Head:
        return head_of(self.overview(session_id))

    def owner(self, session_id: str) -> Owner | None:
        check_id(session_id)
        with self._mutex:
            entry = self._entries.get(session_id)
            return entry.owner if entry is not None else None

    def get_blob(self, session_id: str, name: str) -> bytes:
        with self._mutex:
            blobs = self._get(session_id).blobs
            if name not in blobs:
                raise NotFoundError(
                    f"session {session_id} has no blob {name}", hint="restore the session from a backup"
                )
            return blobs[name]

    def delete(self, session_id: str, *, revision: str | None = None) -> None:
        with self._mutex:
            entry = self._get(session_id)
            if entry.owner is not None:
                raise SessionLockedError(
                    session_id, pid=entry.owner.pid, host=entry.owner.host, since=entry.owner.since
                )
            if revision is not None and self.revision(session_id) != revision:
                raise ConflictError(
                    f"session {session_id} has changed meanwhile", hint="read it again before you delete it"
                )
            del self._entries[session_id]

    def has_remains(self, session_id: str) -> bool:
        return check_id(session_id) in self._entries

    def sweep(self) -> None:
        """Nothing is ever left over."""

    def examine(self, session_id: str) -> Examination:
        return Examination(session=self.load(session_id))

    def recover(self, session_id: str) -> Recovery:
        self._get(session_id)
        raise UsageError(f"session {session_id} is not damaged", hint="there is nothing to recover")

    def close(self) -> None:
        """There are no other resources."""

    def _get(self, session_id: str) -> _Entry:
        check_id(session_id)
        try:
            return self._entries[session_id]
        except KeyError:
            raise SessionNotFoundError(session_id, self.url) from None

    def _writer(self, entry: _Entry) -> MemoryWriter:
        entry.owner = Owner(pid=os.getpid(), host=socket.gethostname(), since=self._clock())
        return MemoryWriter(entry, self._mutex)

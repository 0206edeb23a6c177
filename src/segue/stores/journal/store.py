"""The store over a folder of journals. Files are the truth; everything else here can be lost."""

from __future__ import annotations

import hashlib
import os
from contextlib import contextmanager, suppress
from copy import deepcopy
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from segue.clock import utc_now
from segue.durable.folder import Folder
from segue.durable.kernel import KERNEL, Kernel
from segue.durable.lock import WriterLock, find_owner
from segue.durable.log import Log
from segue.errors import (
    ConflictError,
    Damage,
    DamagedError,
    NotFoundError,
    ReadOnlyError,
    SessionExistsError,
    SessionLockedError,
    StorageError,
    UsageError,
)
from segue.formats.journal import encode_append
from segue.ids import check_id, is_id
from segue.model import Metadata, check_beginning, fold
from segue.store import FORMAT_VERSION, WAIT_SECONDS, Capabilities, Durability, Examination, Owner, Recovery
from segue.stores.journal.file import SUFFIX, JournalFile, file_name
from segue.stores.journal.listing import Listing
from segue.stores.journal.recovery import salvage, set_aside
from segue.stores.journal.writer import JournalWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from segue.model import Event, Head, Overview, Session, Turn

Told = TypeVar("Told", bound="Overview")
LOCKS, QUARANTINE, BLOBS = ".locks", ".quarantine", ".blobs"


class JournalStore:
    """See store.Store. One file a session; locks, fragments and blobs in hidden folders beside them."""

    def __init__(
        self,
        root: str,
        *,
        durability: Durability = Durability.SYNCED,
        kernel: Kernel = KERNEL,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self.folder = Folder(os.path.realpath(root), kernel)
        self._locks = self.folder.sub(LOCKS)
        self._durability = min(durability, Durability.SYNCED)
        self._clock = clock
        self._listing = Listing(self.folder, lambda session_id: self.owner(session_id) is not None)

    @property
    def url(self) -> str:
        return f"journal:{self.folder.path}"

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(durability=self._durability, shared=True, can_be_damaged=True)

    def create(self, session_id: str, events: Sequence[Event]) -> JournalWriter:
        name = file_name(session_id)
        events = deepcopy(list(events))
        overview = check_beginning(session_id, events)
        numbered = [replace(event, seq=seq) for seq, event in enumerate(events, start=1)]
        self.folder.make()
        lock = self._try_acquire(session_id, 0.0)
        if isinstance(lock, Owner):
            raise SessionExistsError(session_id)
        with _released_on_error(lock.release):
            fd, temporary = self.folder.begin(encode_append(numbered))
            with _released_on_error(partial(self.folder.kernel.close, fd)):
                try:
                    self.folder.publish(temporary, name)
                except FileExistsError:
                    raise SessionExistsError(session_id) from None
            log = Log(self.folder, name, fd)
        return self._writer(session_id, log, lock, overview, since_checkpoint=log.size)

    def open(self, session_id: str, *, timeout_seconds: float = WAIT_SECONDS) -> JournalWriter:
        self.revision(session_id)  # there is no lock for a session that is not there
        lock = self._acquire(session_id, timeout_seconds)
        with _released_on_error(lock.release):
            self.folder.make()
            self.folder.sync()  # whoever made the session may have been killed before this
            with JournalFile(self.folder, session_id) as file:
                overview, complete, since_checkpoint = file.end()
            if overview.version > FORMAT_VERSION:
                raise ReadOnlyError(
                    f"session {session_id} was written by a newer version (format {overview.version})",
                    hint="it can be read; install a newer segue to write it",
                )
            name = file_name(session_id)
            log = Log(self.folder, name, self.folder.open(name, os.O_RDWR | os.O_APPEND))
            with _released_on_error(log.close):
                if complete < log.size:
                    set_aside(self.folder, self.folder.sub(QUARANTINE), session_id, log, complete)
        return self._writer(session_id, log, lock, overview, since_checkpoint=since_checkpoint)

    def load(self, session_id: str) -> Session:
        examination = self._examine(session_id)
        if examination.damages or examination.session is None:
            raise DamagedError(session_id, examination.damages)
        return examination.session

    def overview(self, session_id: str) -> Overview:
        with JournalFile(self.folder, session_id) as file:
            return self._concluded(file.end().overview)

    def tail(self, session_id: str, count: int, *, branch: str | None = None) -> tuple[Turn, ...]:
        if count < 0:
            raise UsageError(f"cannot give the last {count} turns")
        with JournalFile(self.folder, session_id) as file:
            return file.tail(count, branch)

    def read(self, session_id: str, *, after: int = 0) -> Iterator[Event]:
        if after:
            with JournalFile(self.folder, session_id) as file:
                return iter(file.events(after))
        self.revision(session_id)  # what is missing is said at once, and not at the first event
        return self._read_all(session_id)

    def revision(self, session_id: str) -> str:
        found = self._stat(session_id)
        return f"{found.st_ino}-{found.st_size}-{found.st_mtime_ns}"

    def ids(self) -> Iterator[str]:
        for entry in self.folder.scan():
            if entry.name.endswith(SUFFIX) and is_id(entry.name[: -len(SUFFIX)]):
                yield entry.name[: -len(SUFFIX)]

    def heads(self) -> Iterator[Head]:
        return self._listing.heads()

    def head(self, session_id: str) -> Head:
        self.revision(session_id)
        return self._listing.head(session_id)

    def owner(self, session_id: str) -> Owner | None:
        return find_owner(self._locks, _lock_name(session_id))

    def get_blob(self, session_id: str, name: str) -> bytes:
        self.revision(session_id)
        digest = check_id(name.removeprefix("sha256:"), what="blob name")
        try:
            data = self._blobs(session_id).read(digest)
        except FileNotFoundError:
            raise NotFoundError(f"session {session_id} has no blob {name}") from None
        if hashlib.sha256(data).hexdigest() != digest:
            place = f"{BLOBS}/{session_id}/{digest}"
            raise DamagedError(session_id, [Damage(place, "it does not match its name: some of its bytes changed")])
        return data

    def delete(self, session_id: str, *, revision: str | None = None) -> None:
        self.revision(session_id)
        lock = self._acquire(session_id, 0.0)
        try:
            if revision is not None and self.revision(session_id) != revision:
                raise ConflictError(
                    f"session {session_id} has changed meanwhile", hint="look again before you delete it"
                )
            try:
                self.folder.remove(file_name(session_id))
            except FileNotFoundError:
                raise self._missing(session_id) from None
            self._blobs(session_id).remove_tree()
        finally:
            lock.release()

    def examine(self, session_id: str) -> Examination:
        try:
            return self._examine(session_id)
        except StorageError as error:
            return Examination(session=None, damages=(Damage(file_name(session_id), str(error)),))

    def recover(self, session_id: str) -> Recovery:
        self.revision(session_id)
        lock = self._acquire(session_id, 0.0)
        try:
            with JournalFile(self.folder, session_id) as file:
                parser = file.parse()
            if (events := parser.named()) and isinstance(events[0], Metadata) and events[0].version > FORMAT_VERSION:
                raise ReadOnlyError(f"session {session_id} was written by a newer version", hint="it can be read")
            if not parser.damages:
                raise UsageError(f"session {session_id} is not damaged", hint="there is nothing to recover")
            kept, original = salvage(self.folder, file_name(session_id), parser, now=self._clock())
        finally:
            lock.release()
        return Recovery(session=self.load(session_id), kept=kept, damages=tuple(parser.damages), original=original)

    def close(self) -> None:
        self._listing.forget()

    def _read_all(self, session_id: str) -> Iterator[Event]:
        """Block by block: whoever stops early has read no further."""
        with JournalFile(self.folder, session_id) as file:
            yield from file.iter_events()

    def _writer(
        self, session_id: str, log: Log, lock: WriterLock, overview: Overview, *, since_checkpoint: int
    ) -> JournalWriter:
        return JournalWriter(
            log=log,
            lock=lock,
            overview=overview,
            since_checkpoint=since_checkpoint,
            durability=self._durability,
            blobs=self._blobs(session_id),
            history=partial(self.read, session_id),
        )

    def _blobs(self, session_id: str) -> Folder:
        return self.folder.sub(BLOBS).sub(check_id(session_id))

    def _try_acquire(self, session_id: str, timeout_seconds: float) -> WriterLock | Owner:
        name = _lock_name(session_id)
        return WriterLock.acquire(self._locks, name, timeout_seconds=timeout_seconds, since=self._clock())

    def _acquire(self, session_id: str, timeout_seconds: float) -> WriterLock:
        found = self._try_acquire(session_id, timeout_seconds)
        if isinstance(found, Owner):
            raise SessionLockedError(session_id, pid=found.pid, host=found.host, since=found.since)
        return found

    def _stat(self, session_id: str) -> os.stat_result:
        name = file_name(session_id)
        try:
            with self.folder.explaining(name, "look at"):
                return os.lstat(self.folder.path_of(name))
        except FileNotFoundError:
            raise self._missing(session_id) from None

    def _examine(self, session_id: str) -> Examination:
        with JournalFile(self.folder, session_id) as file:
            parser = file.parse()
        events = parser.named()
        is_session = bool(events) and isinstance(events[0], Metadata)
        return Examination(
            session=self._concluded(fold(events)) if is_session else None,
            damages=tuple(parser.damages),
            torn_bytes=max(0, file.size - parser.complete),
        )

    def _concluded(self, known: Told) -> Told:
        """An active session without a living writer was interrupted."""
        is_dead = known.status == "active" and self.owner(known.id) is None
        return replace(known, status="interrupted") if is_dead else known

    def _missing(self, session_id: str) -> NotFoundError:
        return NotFoundError(f"there is no session {session_id} in {self.url}")


@contextmanager
def _released_on_error(release: Callable[[], None]) -> Iterator[None]:
    try:
        yield
    except BaseException:
        with suppress(OSError):
            release()
        raise


def _lock_name(session_id: str) -> str:
    return f"{check_id(session_id)}.lock"

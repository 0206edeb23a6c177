"""A folder of sessions: what all stores on files have in common, in any format.

A session is one file of the folder by default. A store with another layout overrides `_location`, `ids`, the head cache
and `session_files`.
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, ClassVar, TypeVar

from msgspec.structs import replace

from segue.clock import utc_now
from segue.durable.blobs import BLOBS, blobs_of, get_blob
from segue.durable.file_location import FileLocation
from segue.durable.folder import Folder, parse_temporary_name, temporary_for
from segue.durable.head_cache import datetime_of_mtime, read_mtime
from segue.durable.kernel import KERNEL, storage_error
from segue.durable.lock import WriterLock, find_owner
from segue.durable.quarantine import QUARANTINE, parse_fragment_name
from segue.durable.trash import FileTrash, size_of
from segue.errors import (
    ConflictError,
    SegueError,
    SessionExistsError,
    SessionLockedError,
    SessionNotFoundError,
    UsageError,
)
from segue.ids import check_id, is_id, new_session_id
from segue.store import Capabilities, Durability, Owner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime
    from typing import Self

    from segue.durable.head_cache import HeadCache
    from segue.durable.kernel import Kernel
    from segue.model import Head, Overview

OverviewT = TypeVar("OverviewT", bound="Overview")
LOCKS = ".locks"
TRASH = ".trash"
_ORIGINAL = re.compile(r"\.corrupt(?:\.\d+)?")


class FileStore:
    """The part of store.Store that does not depend on the format; locks and blobs are in hidden folders."""

    scheme: ClassVar[str]
    head_cache_type: ClassVar[type[HeadCache]]

    syncs_always: ClassVar[bool] = True
    """A file that is replaced without a sync could be lost whole; only appends to a file can do without."""
    append_only: ClassVar[bool] = False
    bulk = None
    queries = None
    administration = None

    new_id = staticmethod(new_session_id)

    def __init__(
        self,
        root: str,
        *,
        kernel: Kernel = KERNEL,
        clock: Callable[[], datetime] = utc_now,
        durability: Durability = Durability.SYNCED,
    ) -> None:
        self._check_root(root)
        self._durability = Durability.SYNCED if self.syncs_always else min(durability, Durability.SYNCED)
        self.folder = Folder(os.path.realpath(root), kernel)
        self._locks = self.folder.sub(LOCKS)
        self._clock = clock
        self._is_swept = False
        self._trash = FileTrash(self, self.folder.sub(TRASH), clock)
        self._head_cache = self.head_cache_type(
            self.folder,
            is_alive=lambda session_id: self.owner(session_id) is not None,
            path_of=self.path_of,
        )

    @property
    def url(self) -> str:
        return f"{self.scheme}:{self.folder.path}"

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(durability=self._durability, shared=True, can_be_damaged=True, append_only=self.append_only)

    def path_of(self, session_id: str) -> str:
        """The path of the file that makes the session."""
        return self._location(session_id).path

    def revision(self, session_id: str) -> str:
        return _revision_of(self._stat(session_id))

    def changed_at(self, session_id: str) -> datetime | None:
        self.revision(session_id)
        return datetime_of_mtime(max((read_mtime(path) for path in self.content_files(session_id)), default=0))

    def mark_changed(self, session_id: str, moment: datetime) -> None:
        self.revision(session_id)
        seconds = moment.timestamp()
        for path in self.content_files(session_id):
            with suppress(OSError):
                self.folder.kernel.utime(path, (seconds, seconds))

    def content_files(self, session_id: str) -> Sequence[str]:
        """The paths of the files with the content of the session, some of which may not exist."""
        return (self._location(session_id).path,)

    def size_bytes(self) -> int:
        files = (path for session_id in self.ids() for path in self.content_files(session_id))
        return sum(size_of(path) for path in (*files, self.folder.sub(BLOBS).path))

    def ids(self) -> Iterator[str]:
        suffix = self.head_cache_type.suffix
        for entry in self.folder.scan():
            if entry.name.endswith(suffix) and is_id(entry.name[: -len(suffix)]):
                yield entry.name[: -len(suffix)]

    def revisions(self) -> Iterator[tuple[str, str]]:
        """In one pass over the folder."""
        suffix = self.head_cache_type.suffix
        for entry in self.folder.scan():
            if entry.name.endswith(suffix) and is_id(session_id := entry.name[: -len(suffix)]):
                try:
                    yield session_id, _revision_of(entry.stat(follow_symlinks=False))
                except FileNotFoundError:
                    continue  # deleted since it was listed
                except OSError as error:
                    yield session_id, str(storage_error(error, entry.path, "look at"))

    def scope_file(self, session_id: str) -> FileLocation | None:  # noqa: ARG002 - stores without such a file
        return None

    def heads(self) -> Iterator[Head]:
        return self._head_cache.heads()

    def head(self, session_id: str) -> Head:
        self.revision(session_id)
        return self._head_cache.head(session_id)

    def owner(self, session_id: str) -> Owner | None:
        return find_owner(self._locks, _lock_name(session_id))

    def get_blob(self, session_id: str, name: str) -> bytes:
        self.revision(session_id)
        return get_blob(self._blobs(session_id), session_id, name)

    @property
    def trash(self) -> FileTrash | None:
        return self._trash

    def delete(self, session_id: str, *, revision: str | None = None) -> None:
        was_there = self.has_session(session_id)
        if not was_there and not self.has_remains(session_id):
            raise self._not_found(session_id)
        with self.locked(session_id, revision=revision, may_be_gone=True):
            remains = list(self._remains(session_id))
            if was_there and not remains:
                raise self._not_found(session_id)  # another process was faster
            self._trash.settle(session_id)
            for at, location in enumerate(remains):
                _erase(location, at_once=at == 0)
            self.remove_empty_folders(session_id)

    def has_remains(self, session_id: str) -> bool:
        return self.has_session(session_id) or any(self._remains(session_id))

    def sweep(self) -> None:
        """Remove what killed writers left unfinished and what was being erased, unless a writer is alive.

        The process that makes a temporary file holds the lock of a session, and the name is never used again. So a file
        that was listed before its lock was found free belongs to no living process. The names of older versions do not
        tell the session: those files are removed when no lock at all is held.
        """
        found = [FileLocation(shared, entry.name) for shared in self._shared_folders() for entry in list(shared.scan())]
        unfinished = [
            (location, purpose) for location in found if (purpose := parse_temporary_name(location.name)) is not None
        ]
        for location, purpose in unfinished:
            session_id = self._session_of(purpose)
            is_left = not self._has_any_writer() if not session_id else self.owner(session_id) is None
            if is_left:
                location.folder.drop(location.name)
        self._trash.sweep()

    def close(self) -> None:
        self._head_cache.forget()

    # ── The files of a session ────────────────────────────────────────────────────────────────────────────────────

    def has_session(self, session_id: str, root: Folder | None = None) -> bool:
        """Whether the session exists, here or below another root."""
        return os.path.lexists((root or self.folder).path_of(self._file_name(session_id)))

    def session_files(self, session_id: str, root: Folder | None = None) -> Iterator[FileLocation]:
        """All files of a session, here or below another root; the one that makes the session comes first."""
        root = root or self.folder
        name = self._file_name(session_id)
        if self.has_session(session_id, root):
            yield FileLocation(root, name)
        for shared in self._shared_folders(root):
            for entry in list(shared.scan()):
                if entry.name != name and self._session_of(entry.name) == session_id:
                    yield FileLocation(shared, entry.name)
        if blobs_of(root, session_id).exists():
            yield FileLocation(root.sub(BLOBS), session_id)

    @contextmanager
    def locked(self, session_id: str, *, revision: str | None = None, may_be_gone: bool = False) -> Iterator[None]:
        """Hold the lock of a session without a writer. ConflictError if it no longer has the given revision."""
        if not may_be_gone:
            self.revision(session_id)  # a session that does not exist has no lock
        lock = self._try_acquire(session_id, 0.0)
        if isinstance(lock, Owner):
            raise SessionLockedError(session_id, pid=lock.pid, host=lock.host, since=lock.since)
        try:
            found = None if may_be_gone and revision is None else self.revision(session_id)
            if revision not in {None, found}:
                raise ConflictError(
                    f"session {session_id} has changed meanwhile", hint="read it again before you delete it"
                )
            yield
        finally:
            lock.release()

    def remove_empty_folders(self, session_id: str) -> None:
        """Remove the empty folders that a deleted session leaves."""

    def exclude_from_git(self, folder: Folder) -> None:
        """Exclude a folder from git, where the store is in a git repository."""

    def at(self, folder: Folder) -> Self:
        """A store of the same kind in another folder."""
        return type(self)(folder.path, kernel=folder.kernel, clock=self._clock, durability=self._durability)

    def _shared_folders(self, root: Folder | None = None) -> Iterator[Folder]:
        """The folders with files of many sessions, whose names tell the session."""
        root = root or self.folder
        yield root
        yield root.sub(QUARANTINE)

    def _session_folders(self, session_id: str) -> Iterator[Folder]:
        """The folders with files of this session alone."""
        yield self._blobs(session_id)

    def _session_of(self, name: str) -> str:
        """The session that a file name belongs to; empty if it belongs to none."""
        if session_id := parse_fragment_name(name):
            return session_id
        found, suffix, rest = name.rpartition(self.head_cache_type.suffix)
        is_own = bool(suffix) and is_id(found) and (not rest or _ORIGINAL.fullmatch(rest))
        return found if is_own else ""

    def _remains(self, session_id: str) -> Iterator[FileLocation]:
        """All files of a session, finished or not."""
        yield from self.session_files(session_id)
        yield from self._leftovers(session_id)

    def _leftovers(self, session_id: str) -> Iterator[FileLocation]:
        """What killed writers of a session left unfinished in the shared folders."""
        for shared in self._shared_folders():
            for entry in list(shared.scan()):
                purpose = parse_temporary_name(entry.name)
                if purpose and self._session_of(purpose) == session_id:
                    yield FileLocation(shared, entry.name)

    def _sweep_session(self, session_id: str) -> None:
        """Remove what killed writers of a session left. The caller holds its lock."""
        for location in self._leftovers(session_id):
            location.folder.drop(location.name)
        for folder in self._session_folders(session_id):
            folder.sweep()

    def _has_any_writer(self) -> bool:
        names = [entry.name for entry in self._locks.scan() if entry.name.endswith(".lock")]
        return any(find_owner(self._locks, name) is not None for name in names)

    def _check_root(self, root: str) -> None:
        if not root or "\0" in root:
            raise UsageError(
                f"{f'{self.scheme}:{root}'!r} does not name a folder", hint=f"as in {self.scheme}:/path/to/sessions"
            )
        try:
            root.encode()
        except UnicodeEncodeError:  # the system accepts any bytes, but such a path cannot be shown or recorded
            raise UsageError(f"{f'{self.scheme}:{root}'!a} is not UTF-8", hint="name a folder whose path is") from None

    def _file_name(self, session_id: str) -> str:
        return check_id(session_id) + self.head_cache_type.suffix

    def _location(self, session_id: str) -> FileLocation:
        return FileLocation(self.folder, self._file_name(session_id))

    def _stat(self, session_id: str) -> os.stat_result:
        location = self._location(session_id)
        try:
            with location.folder.storage_errors(location.name, "look at"):
                return os.lstat(location.path)
        except FileNotFoundError:
            raise self._not_found(session_id) from None

    def _blobs(self, session_id: str) -> Folder:
        return blobs_of(self.folder, session_id)

    def _lock_new(self, session_id: str) -> WriterLock:
        """Take the lock of a session that is to be created. Its holder is creating the session, or has created it."""
        self.folder.make()
        found = self._try_acquire(session_id, 0.0)
        if isinstance(found, Owner):
            raise SessionExistsError(session_id)
        with released_on_error(found.release):
            if not self._is_swept:
                self._is_swept = True
                self._try_sweep()
            self._trash.settle(session_id)  # the rest of a deleted session is not part of the new one
        return found

    def _acquire(self, session_id: str, timeout_seconds: float) -> WriterLock:
        self.revision(session_id)  # a session that does not exist has no lock
        found = self._try_acquire(session_id, timeout_seconds)
        if isinstance(found, Owner):
            raise SessionLockedError(session_id, pid=found.pid, host=found.host, since=found.since)
        return found

    def _try_acquire(self, session_id: str, timeout_seconds: float) -> WriterLock | Owner:
        name = _lock_name(session_id)
        found = WriterLock.acquire(self._locks, name, timeout_seconds=timeout_seconds, since=self._clock())
        if isinstance(found, WriterLock) and found.was_abandoned:
            self._try_sweep(session_id)
        return found

    def _try_sweep(self, session_id: str = "") -> None:
        """Remove leftovers if possible: they do no harm."""
        with suppress(SegueError, OSError):
            if session_id:
                self._sweep_session(session_id)
            self.sweep()

    def _with_liveness(self, known: OverviewT) -> OverviewT:
        """The session as it is now: an active session without a living writer was interrupted."""
        is_dead = known.status == "active" and self.owner(known.id) is None
        return replace(known, status="interrupted") if is_dead else known

    def _not_found(self, session_id: str) -> SessionNotFoundError:
        return SessionNotFoundError(session_id, self.url)


@contextmanager
def released_on_error(release: Callable[[], None]) -> Iterator[None]:
    try:
        yield
    except BaseException:
        with suppress(OSError):
            release()
        raise


def _erase(location: FileLocation, *, at_once: bool) -> None:
    """Remove a file or folder; a folder that is the session is renamed first, so that it disappears `at_once`."""
    name = location.name
    with suppress(FileNotFoundError):  # another process was faster
        if at_once and os.path.isdir(location.path) and parse_temporary_name(name) is None:
            name = temporary_for(name)
            location.folder.rename(location.name, name)
        location.folder.drop(name)
        location.folder.sync()


def keep_original(folder: Folder, name: str) -> str:
    """Give a damaged file a second name: `.corrupt`, or `.corrupt.2` and so on if that is taken."""
    number = 1
    while True:
        copy_name = f"{name}.corrupt" if number == 1 else f"{name}.corrupt.{number}"
        try:
            folder.link(name, copy_name)
        except FileExistsError:
            if folder.is_same(name, copy_name):
                return copy_name  # a crash came between this and the recovery
            number += 1
        else:
            return copy_name


def _revision_of(found: os.stat_result) -> str:
    return f"{found.st_ino}-{found.st_size}-{found.st_mtime_ns}"


def _lock_name(session_id: str) -> str:
    return f"{check_id(session_id)}.lock"

"""Heads of many sessions for a listing: only files that have changed since the last time are read."""

from __future__ import annotations

import os
import stat
from abc import ABC, abstractmethod
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace

from segue.clock import datetime_at
from segue.durable.folder import is_settled
from segue.durable.kernel import storage_error
from segue.errors import NotFoundError, SegueError, SessionNotFoundError
from segue.ids import is_id
from segue.model import Head, last_activity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from segue.durable.folder import Folder

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


CachedHead = tuple[int, int, int, Head]
"""The inode, size and mtime of a file, and the head of its session at that time."""


class HeadCache(ABC):
    """Caches, in memory alone, the head of every file it has read, with the file's inode, size and mtime.

    Where sessions are not files of one folder, a subclass has its own `heads` on top of `refresh` and `with_liveness`.
    """

    suffix: ClassVar[str]
    """What follows the id of the session in the name of its file."""

    def __init__(self, folder: Folder, is_alive: Callable[[str], bool], path_of: Callable[[str], str]) -> None:
        self._folder = folder
        self._is_alive = is_alive
        self._path_of = path_of
        self._seen: dict[str, CachedHead] = {}  # by file name

    @abstractmethod
    def read_head_fast(self, fd: int, size: int, session_id: str) -> Head | None:
        """The head of a file as we write it, as fast as possible; None if the file needs `read_head`."""

    @abstractmethod
    def read_head(self, session_id: str) -> Head | str:
        """The head of any file, or the reason why it cannot be read."""

    def heads(self) -> Iterator[Head]:
        seen = self._seen
        cut = -len(self.suffix)
        for entry in self._folder.scan():
            name = entry.name
            known = seen.get(name)
            if known is None or not _is_unchanged(entry, known):
                if not name.endswith(self.suffix) or not is_id(session_id := name[:cut]):
                    continue
                known = self.refresh(seen, name, session_id, entry.path)
                if known is None:
                    continue
            head = known[3]
            yield head if head.status != "active" else self.with_liveness(head)

    def head(self, session_id: str) -> Head:
        return self.with_liveness(self._read(session_id, self._path_of(session_id))[3])

    def forget(self) -> None:
        self._seen.clear()

    def refresh(self, seen: dict[str, CachedHead], name: str, session_id: str, path: str) -> CachedHead | None:
        """Read a file that is new or has changed, and cache its head under this name; None if it is gone."""
        try:
            known = self._read(session_id, path)
        except NotFoundError:
            seen.pop(name, None)
            return None  # deleted since it was listed
        if is_settled(known[2]):
            seen[name] = known
        return known

    def with_liveness(self, head: Head) -> Head:
        """The head as it is now: an active session without a living writer was interrupted. This is never cached."""
        if head.status != "active" or head.damage:
            return head
        try:
            return head if self._is_alive(head.id) else replace(head, status="interrupted")
        except SegueError as error:  # the reason is shown with this session alone
            return replace(head, damage=str(error))

    def with_mtime(self, head: Head, mtime_ns: int) -> Head:
        """The head with its last activity, which takes the time of the file into account."""
        active = last_activity(head.updated_at, datetime_of_mtime(mtime_ns))
        return head if active is head.updated_at else replace(head, updated_at=active)

    def _read(self, session_id: str, path: str) -> CachedHead:
        """The head as recorded in the file."""
        kernel = self._folder.kernel
        try:
            fd = kernel.open(path, _FLAGS)
        except OSError as error:
            return self._read_carefully(session_id, error)
        try:
            found = os.fstat(fd)
            head = self.read_head_fast(fd, found.st_size, session_id) if stat.S_ISREG(found.st_mode) else None
        except OSError as error:
            return self._read_carefully(session_id, error)
        finally:
            with suppress(OSError):
                kernel.close(fd)
        if head is None:
            return self._read_carefully(session_id, None)
        return found.st_ino, found.st_size, found.st_mtime_ns, self.with_mtime(head, found.st_mtime_ns)

    def _read_carefully(self, session_id: str, error: OSError | None) -> CachedHead:
        path = self._path_of(session_id)
        try:
            found = os.lstat(path)
        except FileNotFoundError:
            raise SessionNotFoundError(session_id, self._folder.path) from None
        except OSError as worse:
            return 0, 0, 0, _unreadable(session_id, str(storage_error(worse, path, "look at")), 0)
        signature = found.st_ino, found.st_size, found.st_mtime_ns
        if error is not None and not isinstance(error, FileNotFoundError):
            return *signature, _unreadable(session_id, str(storage_error(error, path, "read")), found.st_mtime)
        try:
            head = self.read_head(session_id)
        except NotFoundError:
            raise
        except SegueError as reason:
            head = str(reason)
        if not isinstance(head, Head):
            return *signature, _unreadable(session_id, head, found.st_mtime)
        return *signature, self.with_mtime(head, found.st_mtime_ns)


def read_mtime(path: str) -> int:
    """The mtime of a file in nanoseconds; 0 if it is missing or not accessible."""
    try:
        return os.lstat(path).st_mtime_ns
    except OSError:
        return 0


def datetime_of_mtime(mtime_ns: int) -> datetime | None:
    """The time of an mtime; None if the calendar has no such time."""
    try:
        return datetime.fromtimestamp(mtime_ns / 1e9, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def _is_unchanged(entry: os.DirEntry[str], known: CachedHead) -> bool:
    try:
        found = entry.stat(follow_symlinks=False)
    except OSError:
        return False  # gone, or not accessible: `refresh` finds out
    return found.st_mtime_ns == known[2] and found.st_size == known[1] and found.st_ino == known[0]


def _unreadable(session_id: str, why: str, mtime: float) -> Head:
    when = datetime_at(mtime)
    return Head(id=session_id, created_at=when, updated_at=when, damage=why)

"""One writer: a kernel lock on a small file that is never removed and that names the holder.

The lock belongs to the open file, so it ends with the process, however that ends. A query does not take the lock.
"""

from __future__ import annotations

import os
import time
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from segue.errors import SegueError
from segue.store import Owner

if TYPE_CHECKING:
    from datetime import datetime

    from segue.durable.folder import Folder

_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.001, 0.002  # a process that comes back at once must not win each time
_NAMING_SECONDS = 0.25


class WriterLock:
    """A held lock."""

    def __init__(self, folder: Folder, name: str, fd: int, *, was_abandoned: bool = False) -> None:
        self.was_abandoned = was_abandoned
        """Whether the last holder was killed: a holder that releases the lock empties the file."""
        self._folder = folder
        self._name = name
        self._fd = fd
        _held.add(self)

    @classmethod
    def acquire(cls, folder: Folder, name: str, *, timeout_seconds: float, since: datetime) -> WriterLock | Owner:
        """Take the lock, waiting for it if necessary; or return the owner that held it all the time."""
        folder.make()
        fd = folder.open(name, os.O_RDWR | os.O_CREAT)
        try:
            with folder.storage_errors(name, "lock"):
                owner = _wait(folder, name, fd, timeout_seconds)
                if owner is not None:
                    with suppress(OSError):
                        folder.kernel.close(fd)
                    return owner
                was_abandoned = os.fstat(fd).st_size > 0
                note = msgspec.json.encode(Owner(pid=os.getpid(), host=os.uname().nodename, since=since))
                with suppress(OSError):  # for information only: the lock holds without it
                    if was_abandoned:
                        folder.kernel.ftruncate(fd, 0)
                    folder.kernel.write(fd, note)
        except BaseException:
            with suppress(OSError):
                folder.kernel.close(fd)
            raise
        return cls(folder, name, fd, was_abandoned=was_abandoned)

    def fileno(self) -> int:
        """For a child process: a child that inherits it holds the lock as well, even if this process is killed."""
        return self._fd

    def release(self) -> None:
        _held.discard(self)
        if self._fd < 0:
            return
        fd, self._fd = self._fd, -1
        kernel = self._folder.kernel
        with suppress(OSError):
            kernel.ftruncate(fd, 0)
        with suppress(OSError):
            kernel.unlock(fd)
        with suppress(OSError):
            kernel.close(fd)

    def forget(self) -> None:
        """Close the inherited descriptor in a forked child; the parent still holds the lock."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def find_owner(folder: Folder, name: str) -> Owner | None:
    """The process that holds the lock now, found without taking it; None if it is free."""
    try:
        fd = folder.open(name)
    except FileNotFoundError:
        return None
    try:
        with folder.storage_errors(name, "look at"):
            if not folder.kernel.is_locked(fd):
                return None
            note = folder.kernel.pread(fd, 4096, 0)
    finally:
        with suppress(OSError):
            folder.kernel.close(fd)
    try:
        return msgspec.json.decode(note, type=Owner)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return Owner()  # it is held, and the holder has not written its name


def _wait(folder: Folder, name: str, fd: int, timeout_seconds: float) -> Owner | None:
    """None once the lock is ours; else its owner when the time was up."""
    start, pause = time.monotonic(), _FIRST_PAUSE_SECONDS
    while not folder.kernel.try_lock(fd):
        waited = time.monotonic() - start
        if waited >= timeout_seconds:
            owner = find_owner(folder, name)
            # A holder has no name for a moment after taking the lock, and again before releasing it.
            if owner is not None and (owner.pid is not None or waited >= timeout_seconds + _NAMING_SECONDS):
                return owner
        time.sleep(min(pause, max(timeout_seconds - waited, _FIRST_PAUSE_SECONDS)))
        pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)
    return None


_held: weakref.WeakSet[WriterLock] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for lock in list(_held):
        with suppress(OSError, SegueError):
            lock.forget()
    _held.clear()


os.register_at_fork(after_in_child=_after_fork_in_child)

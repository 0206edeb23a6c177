"""A file that one process replaces whole: the old or the new one is on the disk, and never a mixture."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from segue.durable.folder import temporary_for
from segue.errors import ConflictError, DiskFullError, SegueError, WriterStoppedError

if TYPE_CHECKING:
    from segue.durable.folder import Folder


class Snapshot:
    """The caller holds the lock of the session. Other programs may ignore the lock, so their changes are detected."""

    def __init__(self, folder: Folder, name: str, data: bytes, signature: tuple[int, ...]) -> None:
        self.lock = threading.Lock()
        """Held during a replacement, from numbering the records to their acknowledgement."""
        self._folder = folder
        self._name = name
        self._data = data
        self._signature = signature
        self._stopped = ""
        self._process = os.getpid()

    def check(self) -> None:
        """Raise unless the file could be replaced now."""
        if os.getpid() != self._process:
            self._stopped = "it was opened by the parent of this process, which still writes it"
        if self._stopped:
            path = self._folder.path_of(self._name)
            raise WriterStoppedError(
                f"cannot write to {path} any more: {self._stopped}",
                hint="open the session again; everything acknowledged is there",
                path=path,
            )

    def put(self, data: bytes, *, sync: bool = True) -> None:
        """Replace the file by the data, or leave it and raise. Without `sync`, power loss may undo it."""
        self.check()
        if read_signature(self._folder, self._name) != self._signature:
            self.stop("another program wrote to it meanwhile")
            raise ConflictError(
                f"{self._folder.path_of(self._name)} was changed by another program", hint="open the session again"
            )
        try:
            fd, temporary = self._write(data)
        except DiskFullError:
            raise  # nothing was touched: there may be room the next time
        except BaseException:
            self.stop("a write failed")
            raise
        try:
            self._settle(fd, temporary)
            self._folder.rename(temporary, self._name, sync=sync)
        except BaseException:
            self._undo(temporary)
            self.stop("a sync failed")
            raise
        self._data = data
        self._signature = read_signature(self._folder, self._name)

    def stop(self, why: str = "it is closed") -> None:
        self._stopped = self._stopped or why

    def _write(self, data: bytes) -> tuple[int, str]:
        folder, name = self._folder, temporary_for(self._name)
        with folder.storage_errors(name, "write"):
            fd = folder.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL)
            try:
                rest = memoryview(data)
                while rest:
                    rest = rest[folder.kernel.write(fd, rest) :]
            except BaseException:
                with suppress(OSError):
                    folder.kernel.close(fd)
                folder.discard(name)
                raise
        return fd, name

    def _settle(self, fd: int, temporary: str) -> None:
        try:
            with self._folder.storage_errors(temporary, "sync"):
                self._folder.kernel.fdatasync(fd)
        finally:
            with suppress(OSError):  # all data was synced before
                self._folder.kernel.close(fd)

    def _undo(self, temporary: str) -> None:
        """Nothing unacknowledged stays: if the new file is already in place, put the old one back."""
        self._folder.discard(temporary)
        with suppress(SegueError, OSError):
            if read_signature(self._folder, self._name) != self._signature:
                self._folder.replace(self._name, self._data)


def read_signature(folder: Folder, name: str) -> tuple[int, ...]:
    """Inode, size and mtime, which tell one version of a file from another; empty if it is missing."""
    try:
        with folder.storage_errors(name, "look at"):
            found = os.lstat(folder.path_of(name))
    except FileNotFoundError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns

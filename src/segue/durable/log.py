"""A file that only grows: one write and one sync per append, and nothing is acknowledged that is not on the disk."""

from __future__ import annotations

import os
import threading
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from segue.durable.kernel import Kernel, storage_error
from segue.errors import ConflictError, DiskFullError, StorageError, WriterStoppedError

if TYPE_CHECKING:
    from segue.durable.folder import Folder


_CUT_SHORT = "an append was cut short"


class Log:
    """An open file at whose end one process appends. The caller holds the lock."""

    def __init__(self, folder: Folder, name: str, fd: int) -> None:
        self.path = folder.path_of(name)
        self.fd = fd
        found = os.fstat(fd)
        self.size = found.st_size
        self._inode = found.st_ino
        self._kernel: Kernel = folder.kernel
        self._stopped = ""
        self.lock = threading.Lock()
        """Held during an append, from numbering the records to their acknowledgement."""
        _open.add(self)

    def check(self) -> None:
        """Raise unless an append could be made now."""
        if self._stopped:
            raise WriterStoppedError(
                f"cannot write to {self.path} any more: {self._stopped}",
                hint="open the session again; everything acknowledged is there",
                path=self.path,
            )

    def append(self, data: bytes, *, sync: bool = True) -> None:
        """Write all of the data to the end of the file and sync it, or leave the file as it was and raise."""
        # One function: after a sync the caches of the processor are cold, and every call here costs microseconds.
        if self._stopped:
            self._refuse()
        try:  # a program that syncs folders may have put another file in place of ours
            found = os.lstat(self.path)
        except OSError:
            self._refuse()
        if found.st_size != self.size or found.st_ino != self._inode:
            self._refuse()
        self._stopped = _CUT_SHORT  # until it is done: a Ctrl-C may come at any point
        written = -1
        try:
            written = self._kernel.write(self.fd, data)
            if sync and written == len(data):
                self._kernel.fdatasync(self.fd)
        except OSError as error:
            raise self._failed(error, is_written=written >= 0) from error
        except BaseException:
            if self._take_back():
                self._stopped = ""
            raise
        if written != len(data):
            raise self._cut_off(written, len(data))
        self.size += written
        self._stopped = ""

    def sync(self) -> None:
        """Make durable what an earlier writer, which may have been killed, left."""
        self.check()
        self._sync()

    def stop(self, why: str = _CUT_SHORT) -> None:
        """Refuse all further appends."""
        self._stopped = why

    def read(self, start: int) -> bytes:
        """The content from an offset on."""
        pieces: list[bytes] = []
        try:
            while start < self.size and (piece := self._kernel.pread(self.fd, self.size - start, start)):
                pieces.append(piece)
                start += len(piece)
        except OSError as error:
            raise storage_error(error, self.path, "read") from error
        return b"".join(pieces)

    def truncate(self, size: int) -> None:
        """Cut off an append that never completed (its bytes are in quarantine by now)."""
        try:
            self._kernel.ftruncate(self.fd, size)
            self._kernel.fdatasync(self.fd)
        except OSError as error:
            raise storage_error(error, self.path, "truncate") from error
        self.size = size

    def close(self, why: str = "it is closed") -> None:
        if self.fd >= 0:
            fd, self.fd = self.fd, -1
            self._stopped = self._stopped or why
            with suppress(OSError):  # everything acknowledged was synced before
                self._kernel.close(fd)

    def _refuse(self) -> NoReturn:
        self.check()
        self.stop("another program wrote to it meanwhile")
        raise ConflictError(f"{self.path} was changed by another program", hint="open the session again")

    def _failed(self, error: OSError, *, is_written: bool) -> StorageError:
        is_undone = self._take_back()
        if is_written:
            return self._unsynced(error)
        reason = storage_error(error, self.path, "append to")
        if is_undone and isinstance(reason, DiskFullError):
            self._stopped = ""
        return reason

    def _cut_off(self, written: int, size: int) -> DiskFullError:
        if self._take_back():
            self._stopped = ""
        message = f"cannot append to {self.path}: only {written} of {size} bytes fit"
        return DiskFullError(message, hint="make room and try again: nothing that was saved is lost", path=self.path)

    def _sync(self) -> None:
        try:
            self._kernel.fdatasync(self.fd)
        except OSError as error:
            raise self._unsynced(error) from error

    def _unsynced(self, error: OSError) -> WriterStoppedError:
        # A second sync would report success for pages that the kernel has dropped: stop for good.
        self.stop("a sync failed")
        hint = "check the disk, then open the session again; everything acknowledged is there"
        reason = storage_error(error, self.path, "sync")
        return WriterStoppedError(str(reason), hint=hint, path=self.path, errno=error.errno)

    def _take_back(self) -> bool:
        try:
            self._kernel.ftruncate(self.fd, self.size)
        except OSError:
            return False  # the next writer finds the fragment and sets it aside
        return True


_open: weakref.WeakSet[Log] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for log in list(_open):
        log.close("it was opened by the parent of this process, which still writes it")
        log.lock = threading.Lock()  # a thread of the parent may have held it
    _open.clear()


os.register_at_fork(after_in_child=_after_fork_in_child)

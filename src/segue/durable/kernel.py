"""Every system call that can change a file, or whose failure must be survived, goes through a Kernel.

Tests pass kernels that fail a call, or that forget what was never synced; nothing else needs a test double.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import sys
from functools import cache
from typing import TYPE_CHECKING

from segue.errors import DiskFullError, ReadOnlyError, StorageError

if TYPE_CHECKING:
    import ctypes

_HERE = -100  # AT_FDCWD
_SWAP = 2  # RENAME_EXCHANGE on Linux, and RENAME_SWAP on macOS
_FLOCK = "hhqqi4x"  # struct flock on 64-bit Linux
_UNLOCKED, _WRITE = fcntl.F_UNLCK, fcntl.F_WRLCK


class Kernel:
    """The system calls. They are attributes and not methods, so that the fast path costs nothing extra."""

    open = staticmethod(os.open)
    close = staticmethod(os.close)
    write = staticmethod(os.write)
    pread = staticmethod(os.pread)
    ftruncate = staticmethod(os.ftruncate)
    fsync = staticmethod(os.fsync)
    rename = staticmethod(os.rename)
    link = staticmethod(os.link)
    symlink = staticmethod(os.symlink)
    unlink = staticmethod(os.unlink)
    mkdir = staticmethod(os.mkdir)
    rmdir = staticmethod(os.rmdir)
    fchmod = staticmethod(os.fchmod)
    chmod = staticmethod(os.chmod)
    utime = staticmethod(os.utime)

    @staticmethod
    def exchange(one: str, other: str) -> None:
        """Swap two files atomically. OSError with ENOSYS or EINVAL if the system or the file system cannot."""
        first, second = os.fsencode(one), os.fsencode(other)
        try:
            if sys.platform == "darwin":
                code = _libc().renamex_np(first, second, _SWAP)
            else:
                code = _libc().renameat2(_HERE, first, _HERE, second, _SWAP)
        except AttributeError:
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), other) from None
        if code:
            import ctypes

            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), one, None, other)

    if sys.platform == "darwin":  # only this reaches the disk there

        @staticmethod
        def fdatasync(fd: int) -> None:
            fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
    else:
        fdatasync = staticmethod(os.fdatasync)

    if sys.platform == "linux":
        # Open-file-description locks belong to the open file and not to the process, as with flock. Unlike flock, they
        # can be queried without being taken for a moment, which could make a writer fail.

        @staticmethod
        def try_lock(fd: int) -> bool:
            return _ofd(fd, fcntl.F_OFD_SETLK, _WRITE) is not None

        @staticmethod
        def unlock(fd: int) -> None:
            _ofd(fd, fcntl.F_OFD_SETLK, _UNLOCKED)

        @staticmethod
        def is_locked(fd: int) -> bool:
            return _ofd(fd, fcntl.F_OFD_GETLK, _WRITE) != _UNLOCKED
    else:
        # On BSD and macOS, a query by fcntl also sees locks taken by flock.

        @staticmethod
        def try_lock(fd: int) -> bool:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            return True

        @staticmethod
        def unlock(fd: int) -> None:
            fcntl.flock(fd, fcntl.LOCK_UN)

        @staticmethod
        def is_locked(fd: int) -> bool:
            query = struct.pack("qqihh", 0, 0, 0, _WRITE, 0)
            kind: int = struct.unpack("qqihh", fcntl.fcntl(fd, fcntl.F_GETLK, query)[:24])[3]
            return kind != _UNLOCKED


@cache
def _libc() -> ctypes.CDLL:
    import ctypes

    return ctypes.CDLL(None, use_errno=True)


def _ofd(fd: int, command: int, kind: int) -> int | None:
    try:
        answer = fcntl.fcntl(fd, command, struct.pack(_FLOCK, kind, 0, 0, 0, 0))
    except BlockingIOError:
        return None
    except OSError as error:
        if error.errno == errno.EACCES:  # the other error that POSIX allows for "held by another process"
            return None
        raise
    found: int = struct.unpack(_FLOCK, answer)[0]
    return found


KERNEL = Kernel()

_MEANING = {
    errno.ENOSPC: (DiskFullError, "the disk is full", "make room and try again: nothing that was saved is lost"),
    errno.EDQUOT: (
        DiskFullError,
        "the disk quota is used up",
        "make room and try again: nothing that was saved is lost",
    ),
    errno.EFBIG: (DiskFullError, "the file would grow beyond what is allowed", "raise the file size limit"),
    errno.EROFS: (ReadOnlyError, "the file system is read-only", "use a store elsewhere, or mount it writable"),
    errno.EACCES: (ReadOnlyError, "permission denied", "check who owns it and its mode"),
    errno.EPERM: (ReadOnlyError, "the operation is not permitted", "check who owns it and its mode"),
    errno.ELOOP: (
        StorageError,
        "it is a symbolic link, which is never followed here",
        "replace the link by what it points to",
    ),
    errno.EISDIR: (StorageError, "it is a folder where a file should be", "move the folder away"),
    errno.ENOTDIR: (StorageError, "it is a file where a folder should be", "name another place"),
    errno.ENOENT: (StorageError, "it does not exist", "check the path"),
    errno.EMFILE: (StorageError, "too many files are open", "close some, or raise the limit (ulimit -n)"),
    errno.EIO: (
        StorageError,
        "the device reports an input/output error",
        "check the disk; nothing more is written here",
    ),
}


def storage_error(error: OSError, path: str, doing: str) -> StorageError:
    """The typed error for an error of the system: what happened, where, and what to do next."""
    number = error.errno if error.errno is not None else 0
    kind, meaning, hint = _MEANING.get(
        number, (StorageError, (error.strerror or str(error)).lower(), "check the disk and the path")
    )
    return kind(f"cannot {doing} {path}: {meaning}", hint=hint, path=path, errno=number)

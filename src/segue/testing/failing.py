"""Kernels that break on purpose: they count the calls of an operation, fail one of them, or kill the process at one.

kernel = FailingKernel(Fault(at=3, error=errno.EIO))
JournalStore(root, kernel=kernel)
"""

from __future__ import annotations

import errno
import os
import signal
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

from segue.durable.kernel import KERNEL, Kernel

if TYPE_CHECKING:
    from collections.abc import Callable

CALLS = tuple(sorted(name for name in vars(Kernel) if not name.startswith("_")))
"""Every system call that goes through a Kernel."""

SHORT = 0
"""Instead of an error number: half of the bytes are transferred, and the call returns that number."""

_CHANGING = {
    "write",
    "ftruncate",
    "fsync",
    "fdatasync",
    "rename",
    "exchange",
    "link",
    "symlink",
    "unlink",
    "mkdir",
    "rmdir",
    "fchmod",
    "utime",
}
_OPEN_TO_CHANGE = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


class Fault(Struct, frozen=True, kw_only=True):
    """Which call fails, and how."""

    at: int
    """Counted from 1."""
    error: int
    """An error number, or SHORT."""
    for_good: bool = False
    """Whether every later call fails as well."""

    def __str__(self) -> str:
        how = errno.errorcode.get(self.error, "short")
        return f"call {self.at} {how} {'for good' if self.for_good else 'once'}"


class WatchedKernel(Kernel):
    """Makes the system calls, and records them in order."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        for name in CALLS:
            setattr(self, name, partial(self._notice, name, getattr(KERNEL, name)))

    def pass_on(self, name: str, call: Callable[..., object], *args: object) -> object:  # noqa: ARG002 - for those who override it
        return call(*args)

    def _notice(self, name: str, call: Callable[..., object], *args: object) -> object:
        self.calls.append(name)
        return self.pass_on(name, call, *args)


class FailingKernel(WatchedKernel):
    """Fails one call, or every call from one on, until it is repaired."""

    def __init__(self, fault: Fault | None = None) -> None:
        super().__init__()
        self.fault = fault
        self.failed: list[str] = []
        """The calls that failed."""

    def arm(self, fault: Fault) -> None:
        """Count from here on, and fail as the fault specifies."""
        self.calls.clear()
        self.fault = fault

    def mend(self) -> None:
        self.fault = None

    def pass_on(self, name: str, call: Callable[..., object], *args: object) -> object:
        at, fault = len(self.calls), self.fault
        if fault is None or at < fault.at or (at > fault.at and not fault.for_good):
            return call(*args)
        if fault.error == SHORT:
            return self._shorten(name, call, *args)
        self.failed.append(name)
        if name == "close":
            call(*args)  # a close that fails has closed all the same
        raise OSError(fault.error, os.strerror(fault.error))

    def _shorten(self, name: str, call: Callable[..., object], *args: object) -> object:
        match name, args:
            case "write", (fd, bytes() | memoryview() as data) if len(data) > 1:
                self.failed.append(name)
                return call(fd, data[: len(data) // 2])
            case "pread", (fd, int(size), offset) if size > 1:
                found = call(fd, size, offset)
                if not isinstance(found, bytes) or len(found) < 2:  # half of one byte would be the end of the file
                    return found
                self.failed.append(name)
                return found[: len(found) // 2]
        return call(*args)


class DyingKernel(WatchedKernel):
    """Kills the process, as `kill -9` does, before its n-th call; of a write, the first `torn` bytes get through."""

    def __init__(self, at: int, *, torn: int = 0) -> None:
        super().__init__()
        self.at = at
        self.torn = torn

    def pass_on(self, name: str, call: Callable[..., object], *args: object) -> object:
        if len(self.calls) == self.at:
            match name, args:
                case "write", (fd, bytes() | memoryview() as data) if self.torn:
                    call(fd, data[: self.torn])
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*args)


class ReadOnlyKernel(WatchedKernel):
    """Refuses every call that would change a file, and records the attempt."""

    def __init__(self) -> None:
        super().__init__()
        self.attempts: list[str] = []

    def pass_on(self, name: str, call: Callable[..., object], *args: object) -> object:
        match name, args:
            case "open", (_, int(flags), *_) if flags & _OPEN_TO_CHANGE:
                self._refuse(name)
            case _ if name in _CHANGING:
                self._refuse(name)
        return call(*args)

    def _refuse(self, name: str) -> None:
        self.attempts.append(name)
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

"""A disk that forgets what was not synced: real system calls, with a record of what power loss would leave.

Strict on purpose: a file's content is durable as of its last sync, a name as of the last sync of its folder. Real disks
often keep more, and never promise to.
"""

# It stands where the kernel stands, and speaks of descriptors and plain paths.
# ruff: noqa: PTH102, PTH104, PTH106, PTH108, PTH114, PTH115, PTH123, PTH208, PTH211

from __future__ import annotations

import os
import shutil
import stat
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from segue.durable.kernel import KERNEL, Kernel

if TYPE_CHECKING:
    from typing import Self


class KilledError(BaseException):
    """The process is dead: no handler of its errors runs any system call."""


class _File:
    """What is durable of a file."""

    def __init__(self, content: bytes = b"") -> None:
        self.content = content


class _Link:
    """A symbolic link: its target is durable with its name."""

    def __init__(self, target: str) -> None:
        self.target = target


class _Folder:
    """What is durable of a folder: its names."""

    def __init__(self) -> None:
        self.names: dict[str, _File | _Folder | _Link] = {}


class Disk:
    """The folder `place` and all below it. The initial content is durable."""

    def __init__(self, place: str) -> None:
        self._place = os.path.realpath(place)
        self._now: dict[int, _File | _Folder | _Link] = {}  # by inode, of what is there at the moment
        self._mutex = threading.RLock()
        self._root = self._adopt(self._place)

    def begin(self, path: str) -> None:
        """A file or folder was created: its inode may have been in use before."""
        with self._mutex:
            found = os.lstat(path)
            self._now[found.st_ino] = _Folder() if stat.S_ISDIR(found.st_mode) else _File()

    def sync(self, fd: int, path: str) -> None:
        """The content of the file, or the names in the folder, are durable from now on."""
        if path != self._place and not path.startswith(f"{self._place}/"):
            return  # what lies above the place is durable anyway
        with self._mutex:
            found = os.fstat(fd)
            if stat.S_ISDIR(found.st_mode):
                folder = self._now.setdefault(found.st_ino, _Folder())
                assert isinstance(folder, _Folder)
                folder.names = {}
                for name in os.listdir(fd):
                    with suppress(FileNotFoundError):  # another thread has removed it meanwhile
                        folder.names[name] = self._find(f"{path}/{name}")
            else:
                file = self._now.setdefault(found.st_ino, _File())
                assert isinstance(file, _File)
                file.content = os.pread(fd, found.st_size, 0)

    def cut(self) -> None:
        """Restore the folder to exactly what was durable."""
        with self._mutex:
            for entry in list(os.scandir(self._place)):
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path)
                else:
                    os.unlink(entry.path)
            self._now = {os.lstat(self._place).st_ino: self._root}
            self._restore(self._root, self._place, {})

    def _find(self, path: str) -> _File | _Folder | _Link:
        """What is known of it; what another process made counts as durable."""
        if os.path.islink(path):
            return self._adopt(path)
        return self._now.get(os.lstat(path).st_ino) or self._adopt(path)

    def _adopt(self, path: str) -> _File | _Folder | _Link:
        found = os.lstat(path)
        known: _File | _Folder | _Link
        if stat.S_ISDIR(found.st_mode):
            known = _Folder()
            known.names = {name: self._adopt(f"{path}/{name}") for name in os.listdir(path)}
        elif stat.S_ISLNK(found.st_mode):
            return _Link(os.readlink(path))
        else:
            with open(path, "rb") as file:
                known = _File(file.read())
        return self._now.setdefault(found.st_ino, known)

    def _restore(self, known: _File | _Folder | _Link, path: str, written: dict[_File, str]) -> None:
        if isinstance(known, _Link):
            os.symlink(known.target, path)
            return
        if isinstance(known, _File):
            if known in written:
                os.link(written[known], path)
                return
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(known.content)
            written[known] = path
        elif path != self._place:
            os.mkdir(path, 0o700)
        self._now[os.lstat(path).st_ino] = known
        if isinstance(known, _Folder):
            for name, inner in known.names.items():
                self._restore(inner, f"{path}/{name}", written)


class PowerKernel(Kernel):
    """The system calls of one process on a Disk. It can be made to fail at a call, and to die at one."""

    def __init__(self, disk: Disk) -> None:
        self.calls = 0
        """The number of calls so far that changed something."""
        self._disk = disk
        self._open: dict[int, str] = {}
        self._failures: dict[str, tuple[int, str]] = {}
        self._dies_at = 0
        self._dead = False

    def fail(self, call: str, error_number: int, *, spare: str) -> Self:
        """Let the next call of this name (`sync` is both kinds) fail, unless its path contains `spare`."""
        self._failures[call] = (error_number, spare)
        return self

    def die_at(self, call: int) -> Self:
        """Die instead of making the call of this number."""
        self._dies_at = call
        return self

    def die(self) -> None:
        """Do what the system does when a process ends: close every descriptor, which releases every lock."""
        self._dead = True
        while self._open:
            os.close(self._open.popitem()[0])

    def open(self, path: str, flags: int, mode: int = 0o777) -> int:  # type: ignore[override]
        is_new = bool(flags & os.O_CREAT) and not os.path.lexists(path)
        self._step("open", changes=is_new)
        fd = os.open(path, flags, mode)
        self._open[fd] = path
        if is_new:
            self._disk.begin(path)
        return fd

    def close(self, fd: int) -> None:
        if self._open.pop(fd, None) is not None:
            os.close(fd)

    def write(self, fd: int, data: bytes | memoryview) -> int:  # type: ignore[override]
        self._step("write", self._open.get(fd, ""))
        return os.write(fd, data)

    def pread(self, fd: int, size: int, offset: int) -> bytes:
        self._step("pread", changes=False)
        return os.pread(fd, size, offset)

    def ftruncate(self, fd: int, size: int) -> None:
        self._step("ftruncate")
        os.ftruncate(fd, size)

    def fsync(self, fd: int) -> None:  # type: ignore[override]
        self._step("sync", self._open.get(fd, ""))
        self._disk.sync(fd, self._open[fd])

    def fdatasync(self, fd: int) -> None:  # type: ignore[override]
        self._step("sync", self._open.get(fd, ""))
        self._disk.sync(fd, self._open[fd])

    def rename(self, old: str, new: str) -> None:  # type: ignore[override]
        self._step("rename")
        os.rename(old, new)

    def exchange(self, one: str, other: str) -> None:  # type: ignore[override]
        self._step("exchange")
        KERNEL.exchange(one, other)

    def link(self, old: str, new: str) -> None:  # type: ignore[override]
        self._step("link")
        os.link(old, new)

    def symlink(self, target: str, path: str) -> None:  # type: ignore[override]
        self._step("symlink")
        os.symlink(target, path)

    def unlink(self, path: str) -> None:  # type: ignore[override]
        self._step("unlink")
        os.unlink(path)

    def mkdir(self, path: str, mode: int = 0o777) -> None:  # type: ignore[override]
        self._step("mkdir")
        os.mkdir(path, mode)
        self._disk.begin(path)

    def rmdir(self, path: str) -> None:  # type: ignore[override]
        self._step("rmdir")
        os.rmdir(path)

    def fchmod(self, fd: int, mode: int) -> None:
        self._step("fchmod")
        os.fchmod(fd, mode)

    def _step(self, call: str, path: str = "", *, changes: bool = True) -> None:
        self.calls += changes
        if changes and self.calls == self._dies_at:
            self.die()
        if self._dead:
            raise KilledError
        number, spare = self._failures.get(call, (0, ""))
        if number and spare not in path:
            del self._failures[call]
            raise OSError(number, os.strerror(number))

"""Opens a folder step by step, each from the descriptor of the last: a link made meanwhile cannot lead elsewhere.

For files that are not ours, named by an untrusted caller: the path was resolved and checked before, and what is opened
here is what is at that path, or nothing.
"""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Literal, NamedTuple

from segue.durable.folder import TEMPORARY
from segue.durable.kernel import KERNEL, storage_error
from segue.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.durable.kernel import Kernel

_STEP = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""With O_PATH where the system has it: some folders above may be passed through and not read."""
_NEW_FILE_MODE = 0o666  # less what the umask takes away


class DirectoryEntry(NamedTuple):
    name: str
    kind: Literal["file", "folder", "link", "other"]
    size_bytes: int


class HeldFolder:
    """One open folder, even if it is renamed meanwhile. Every failure is a StorageError."""

    def __init__(self, descriptor: int, path: str, kernel: Kernel) -> None:
        self.path = path.rstrip("/")
        self._descriptor = descriptor
        self._kernel = kernel

    def entries(self) -> list[DirectoryEntry]:
        """Its entries, sorted by name."""
        with self._storage_errors("", "list"), self._readable() as descriptor, os.scandir(descriptor) as found:
            return sorted(_entry(one) for one in found)

    def read(self, name: str, *, size_bytes: int) -> tuple[bytes, int]:
        """The beginning of a regular file, and its size. Links are not followed, pipes are not waited for."""
        with self._storage_errors(name, "read"):
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            descriptor = self._kernel.open(name, flags, dir_fd=self._descriptor)
            try:
                found = os.fstat(descriptor)
                self._check_regular(name, found.st_mode)
                data = b""
                while len(data) < size_bytes and (
                    more := self._kernel.pread(descriptor, size_bytes - len(data), len(data))
                ):
                    data += more
                return data, max(found.st_size, len(data))
            finally:
                self._kernel.close(descriptor)

    def write(self, name: str, data: bytes) -> bool:
        """Write a whole file durably, old or new and never mixed. Returns whether it replaced one, whose mode stays."""
        with self._storage_errors(name, "write"):
            mode = self._mode(name)
            temporary = f"{TEMPORARY}{secrets.token_hex(8)}"
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = self._kernel.open(temporary, flags, _NEW_FILE_MODE, dir_fd=self._descriptor)
            try:
                try:
                    if mode is not None:
                        self._kernel.fchmod(descriptor, stat.S_IMODE(mode))
                    rest = memoryview(data)
                    while rest:
                        rest = rest[self._kernel.write(descriptor, rest) :]
                    self._kernel.fdatasync(descriptor)
                finally:
                    self._kernel.close(descriptor)
                self._kernel.rename(temporary, name, src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)
            except BaseException:
                with suppress(OSError):
                    self._kernel.unlink(temporary, dir_fd=self._descriptor)
                raise
            self._sync()
            return mode is not None

    @contextmanager
    def reserved(self, name: str) -> Iterator[None]:
        """A file of this name exists during the block. If it was made for that and not touched, it is removed."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        made: os.stat_result | None = None
        with self._storage_errors(name, "make"), suppress(FileExistsError):
            descriptor = self._kernel.open(name, flags, _NEW_FILE_MODE, dir_fd=self._descriptor)
            made = os.fstat(descriptor)
            self._kernel.close(descriptor)
        try:
            yield
        finally:
            with suppress(FileNotFoundError):
                found = os.stat(name, dir_fd=self._descriptor, follow_symlinks=False)
                if made is not None and (found.st_ino, found.st_ctime_ns) == (made.st_ino, made.st_ctime_ns):
                    self._kernel.unlink(name, dir_fd=self._descriptor)

    def set_aside(self, name: str) -> str:
        """Rename a file to a name that is not in use, and return that name."""
        with self._storage_errors(name, "rename"):
            aside = f"{name}.set-aside-{secrets.token_hex(4)}"
            self._kernel.rename(name, aside, src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)
            self._sync()
            return aside

    @contextmanager
    def inside(self, name: str, *, make: bool = False) -> Iterator[HeldFolder]:
        """A folder inside, open during the block; with `make` it is created if it is missing."""
        with self._storage_errors(name, "open"):
            try:
                descriptor = self._kernel.open(name, _STEP, dir_fd=self._descriptor)
            except FileNotFoundError:
                if not make:
                    raise
                with suppress(FileExistsError):
                    self._kernel.mkdir(name, dir_fd=self._descriptor)
                    self._sync()
                descriptor = self._kernel.open(name, _STEP, dir_fd=self._descriptor)
        try:
            yield HeldFolder(descriptor, f"{self.path}/{name}", self._kernel)
        finally:
            self._kernel.close(descriptor)

    def _mode(self, name: str) -> int | None:
        try:
            mode = os.stat(name, dir_fd=self._descriptor, follow_symlinks=False).st_mode
        except FileNotFoundError:
            return None
        self._check_regular(name, mode)
        return mode

    def _check_regular(self, name: str, mode: int) -> None:
        if not stat.S_ISREG(mode):
            kind = "a folder" if stat.S_ISDIR(mode) else "not a regular file"
            path = f"{self.path}/{name}"
            raise StorageError(f"cannot open {path}: it is {kind}", hint="name another file", path=path)

    @contextmanager
    def _readable(self) -> Iterator[int]:
        descriptor = self._kernel.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=self._descriptor)
        try:
            yield descriptor
        finally:
            self._kernel.close(descriptor)

    def _sync(self) -> None:
        with self._readable() as descriptor:
            self._kernel.fsync(descriptor)

    @contextmanager
    def _storage_errors(self, name: str, doing: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise storage_error(error, f"{self.path}/{name}" if name else self.path or "/", doing) from None


@contextmanager
def descend(path: str, *, make: bool = False, kernel: Kernel = KERNEL) -> Iterator[HeldFolder]:
    """The folder at an absolute path without `..` and without links; with `make`, missing folders are created."""
    top = kernel.open("/", _STEP)
    with ExitStack() as held:
        held.callback(kernel.close, top)
        folder = HeldFolder(top, "", kernel)
        for name in path.split("/"):
            if name:
                folder = held.enter_context(folder.inside(name, make=make))
        yield folder


def _entry(found: os.DirEntry[str]) -> DirectoryEntry:
    if found.is_symlink():
        return DirectoryEntry(found.name, "link", 0)
    if found.is_dir(follow_symlinks=False):
        return DirectoryEntry(found.name, "folder", 0)
    with suppress(FileNotFoundError):
        if found.is_file(follow_symlinks=False):
            return DirectoryEntry(found.name, "file", found.stat(follow_symlinks=False).st_size)
    return DirectoryEntry(found.name, "other", 0)

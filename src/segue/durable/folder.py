"""A folder of ours: names are checked, links are never followed, whole files are old or new and never mixed.

Files have mode 0600 and folders 0700, independent of the umask.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from segue.durable.kernel import KERNEL, Kernel, storage_error
from segue.errors import StorageError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Data = bytes | Iterable[bytes]
    """The whole content, or its pieces."""

TEMPORARY = ".new-"
"""The prefix of a file that is not finished; such a file is never part of a session."""

_UNFINISHED = re.compile(rf"{re.escape(TEMPORARY)}(?:(.+)-)?[0-9a-f]{{16}}", re.DOTALL)
_LONGEST_NAME_BYTES = 255 - len(TEMPORARY) - 17
_FILE_MODE, _FOLDER_MODE = 0o600, 0o700
_CHUNK = 1 << 20
_UNSETTLED_NS = 100_000_000
_NO_HARD_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}


def temporary_for(name: str) -> str:
    """A unique temporary name for what will be `name`. After a crash it tells which file it was meant for.

    It has another ending, so that no program takes it for a finished file.
    """
    unique = os.urandom(8).hex()
    is_short = len(os.fsencode(name)) <= _LONGEST_NAME_BYTES
    return f"{TEMPORARY}{name}-{unique}" if is_short else f"{TEMPORARY}{unique}"


def parse_temporary_name(temporary: str) -> str | None:
    """The name that a temporary file was to get, empty if unknown; None if it is not a temporary file of ours."""
    found = _UNFINISHED.fullmatch(temporary)
    return None if found is None else found[1] or ""


def is_settled(mtime_ns: int) -> bool:
    """Whether a change from now on gives another mtime: two changes within one tick of the clock look the same."""
    return mtime_ns < time.time_ns() - _UNSETTLED_NS


class Folder:
    """One folder. Missing and existing files raise FileNotFoundError and FileExistsError, all else a StorageError."""

    __slots__ = ("_is_named", "_parent", "_synced", "kernel", "path")

    def __init__(self, path: str, kernel: Kernel = KERNEL, *, parent: Folder | None = None) -> None:
        self.path = path
        self.kernel = kernel
        self._parent = parent  # the folder of ours that this one is in
        self._is_named = False  # whether its name is known to be durable
        self._synced: tuple[int, ...] = ()  # its state when the names of all its entries became durable

    def __repr__(self) -> str:
        return f"Folder({self.path!r})"

    def sub(self, name: str) -> Folder:
        return Folder(self.path_of(name), self.kernel, parent=self)

    def path_of(self, name: str) -> str:
        """Every path is made here: whatever the callers checked, a name stays inside its folder."""
        if not name or "/" in name or "\0" in name or name in {".", ".."}:
            raise UsageError(f"{name!r} is not a file name")
        if self._parent is not None:
            self._refuse_links()
        return f"{self.path}/{name}"

    def exists(self) -> bool:
        """Whether it exists as a folder, and not as a link to one (the root was resolved when it was named)."""
        if self._parent is not None:
            self._refuse_links()
        try:
            return stat.S_ISDIR(os.lstat(self.path).st_mode)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise storage_error(error, self.path, "look at") from error

    def make(self) -> None:
        """Create it, and what is missing above it, durably."""
        above = self._parent or Folder(os.path.dirname(self.path), self.kernel)
        if self.exists():
            if not self._is_named:
                above.sync()  # the process that made it may have been killed before this
                self._is_named = True
            return
        if self._parent is not None or not os.path.isdir(above.path):  # a folder above the root may be a link
            above.make()
        with self.storage_errors("", "create"):
            try:
                self.kernel.mkdir(self.path, _FOLDER_MODE)
            except FileExistsError:
                if not self.exists():
                    raise self._unusable("a file or a link where a folder should be") from None
            self.kernel.chmod(self.path, _FOLDER_MODE)
        above.sync()
        if self._parent is None:
            with suppress(StorageError):  # the folder above may be new as well; it is not ours
                Folder(os.path.dirname(above.path), self.kernel).sync()
        self._is_named = True

    def sync(self) -> None:
        """Make the names of its entries durable."""
        with self.storage_errors("", "sync"):
            fd = self.kernel.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
            try:
                self.kernel.fsync(fd)
            finally:
                self.close(fd)

    def sync_if_changed(self) -> None:
        """The same, unless its entries have certainly not changed since this was last done.

        An entry that is added, removed or renamed changes the mtime of the folder, whoever does it.
        """
        with self.storage_errors("", "sync"):
            found = os.lstat(self.path)
        state = found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns
        if state != self._synced:
            settled = is_settled(max(found.st_mtime_ns, found.st_ctime_ns))
            self.sync()
            self._synced = state if settled else ()

    def scan(self) -> Iterator[os.DirEntry[str]]:
        """Its entries; none if it does not exist."""
        try:
            entries = os.scandir(self.path)
        except FileNotFoundError:
            return
        except OSError as error:
            raise storage_error(error, self.path, "list") from error
        with entries:
            yield from entries

    def open(self, name: str, flags: int = os.O_RDONLY) -> int:
        """Open a regular file. Links are never followed, and a pipe in its place never blocks."""
        with self.storage_errors(name, "open"):
            fd = self.kernel.open(self.path_of(name), flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, _FILE_MODE)
            try:
                mode = os.fstat(fd).st_mode
                if not stat.S_ISREG(mode):
                    kind = "a folder" if stat.S_ISDIR(mode) else "not a regular file"
                    path = self.path_of(name)
                    raise StorageError(f"cannot open {path}: it is {kind}", hint="move it away", path=path)
                if flags & os.O_CREAT and stat.S_IMODE(mode) != _FILE_MODE:
                    self.kernel.fchmod(fd, _FILE_MODE)
            except BaseException:
                self.close(fd)
                raise
            return fd

    def read(self, name: str) -> bytes:
        fd = self.open(name)
        try:
            with self.storage_errors(name, "read"):
                return b"".join(self._chunks(fd))
        finally:
            self.close(fd)

    def begin(self, data: Data, purpose: str, *, sync: bool = True) -> tuple[int, str]:
        """Write the data to a new temporary file, durably unless `sync` is false; its descriptor and name.

        `purpose` is the name that the file will get. It is removed if anything fails.
        """
        name = temporary_for(purpose)
        fd = self.open(name, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL)
        try:
            with self.storage_errors(name, "write"):
                for piece in (data,) if isinstance(data, bytes) else data:
                    rest = memoryview(piece)
                    while rest:
                        rest = rest[self.kernel.write(fd, rest) :]
                if sync:
                    self.kernel.fdatasync(fd)
        except BaseException:
            self.close(fd)
            self.discard(name)
            raise
        return fd, name

    def publish(self, temporary: str, name: str) -> None:
        """Give a finished temporary file its name, durably. FileExistsError if the name is taken: one of two wins."""
        with self.storage_errors(name, "create"):
            try:
                self._link_or_rename(temporary, name)
            finally:
                self.discard(temporary)
        try:
            self.sync()
        except BaseException:
            self.discard(name)  # it was never acknowledged
            raise

    def create(self, name: str, data: Data) -> None:
        """Create a whole new file: it exists durably, or not at all."""
        fd, temporary = self.begin(data, name)
        self.close(fd)
        self.publish(temporary, name)

    def replace(self, name: str, data: Data, *, sync: bool = True) -> None:
        """Replace a whole file by another: old or new, never mixed. Without `sync` the new one may be lost."""
        fd, temporary = self.begin(data, name, sync=sync)
        self.close(fd)
        self.rename(temporary, name, sync=sync)

    def rename(self, old: str, new: str, *, sync: bool = True) -> None:
        """Rename a file, durably unless `sync` is false."""
        try:
            with self.storage_errors(new, "write"):
                self.kernel.rename(self.path_of(old), self.path_of(new))
        except BaseException:
            if old.startswith(TEMPORARY):
                self.discard(old)
            raise
        if sync:
            self.sync()

    def is_same(self, one: str, other: str) -> bool:
        """Whether two names belong to the same file."""
        with self.storage_errors(other, "look at"):
            return os.path.samestat(os.lstat(self.path_of(one)), os.lstat(self.path_of(other)))

    def link(self, old: str, new: str) -> None:
        """Give a file a second name, durably; a copy where the file system has no hard links."""
        try:
            with self.storage_errors(new, "create"):
                self.kernel.link(self.path_of(old), self.path_of(new))
        except StorageError as error:
            if error.errno not in _NO_HARD_LINKS:
                raise
            self.create(new, self.read(old))
        self.sync()

    def point(self, name: str, target: str) -> None:
        """Make a symbolic link to something inside this folder, durably. It replaces an older one without a gap."""
        inside = Folder(self.path, self.kernel)
        *above, last = target.split("/")
        for step in above:
            inside = inside.sub(step)
        inside.path_of(last)
        temporary = temporary_for(name)
        with self.storage_errors(name, "create"):
            self.kernel.symlink(target, self.path_of(temporary))
        self.rename(temporary, name)

    def target(self, name: str) -> str:
        """The target of a symbolic link, wherever that leads; empty if there is no such link."""
        try:
            with self.storage_errors(name, "look at"):
                return os.readlink(self.path_of(name))
        except FileNotFoundError:
            return ""
        except StorageError as error:
            if error.errno == errno.EINVAL:  # not a link
                return ""
            raise

    def remove(self, name: str) -> None:
        with self.storage_errors(name, "delete"):
            self.kernel.unlink(self.path_of(name))
        self.sync()

    def discard(self, name: str) -> None:
        """Remove a file, and ignore a failure: it does no harm if it stays."""
        with suppress(OSError):
            self.kernel.unlink(self.path_of(name))

    def remove_tree(self) -> None:
        """Remove it with all its content, if it exists; a link is removed, not followed."""
        if not self.exists():
            return
        for entry in list(self.scan()):
            if entry.is_dir(follow_symlinks=False):
                self.sub(entry.name).remove_tree()
                continue
            with self.storage_errors(entry.name, "delete"):
                self.kernel.unlink(self.path_of(entry.name))
        with self.storage_errors("", "delete"):
            self.kernel.rmdir(self.path)

    def sweep(self) -> None:
        """Remove what killed writers left unfinished, here and in the folders below. The caller holds the lock."""
        for entry in list(self.scan()):
            if parse_temporary_name(entry.name) is not None:
                self.drop(entry.name)
            elif entry.is_dir(follow_symlinks=False):
                self.sub(entry.name).sweep()

    def drop(self, name: str) -> None:
        """Remove a file, or a folder with all its content."""
        if os.path.isdir(path := self.path_of(name)) and not os.path.islink(path):
            self.sub(name).remove_tree()
            return
        with self.storage_errors(name, "delete"), suppress(FileNotFoundError):
            self.kernel.unlink(path)

    def remove_if_empty(self) -> None:
        with suppress(OSError):
            self.kernel.rmdir(self.path)

    @contextmanager
    def storage_errors(self, name: str, doing: str) -> Iterator[None]:
        """Turn errors of the system into typed ones. The caller handles missing and existing files."""
        try:
            yield
        except (FileNotFoundError, FileExistsError):
            raise
        except OSError as error:
            raise storage_error(error, f"{self.path}/{name}" if name else self.path, doing) from error

    def _refuse_links(self) -> None:
        """A link in the place of a folder of ours would lead out of the root."""
        folder: Folder | None = self
        while folder is not None and folder._parent is not None:  # noqa: SLF001 - its own kind
            if os.path.islink(folder.path):
                raise folder._unusable("a symbolic link, which is never followed here")  # noqa: SLF001
            folder = folder._parent  # noqa: SLF001

    def _unusable(self, what: str) -> StorageError:
        hint = "move it away, or name another folder"
        return StorageError(f"cannot use {self.path}: it is {what}", hint=hint, path=self.path)

    def _link_or_rename(self, old: str, new: str) -> None:
        try:
            self.kernel.link(self.path_of(old), self.path_of(new))
        except OSError as error:
            if error.errno not in _NO_HARD_LINKS:
                raise
            if os.path.lexists(self.path_of(new)):  # our own writers hold a lock here, so none comes between
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), new) from None
            self.kernel.rename(self.path_of(old), self.path_of(new))

    def _chunks(self, fd: int) -> Iterator[bytes]:
        offset = 0
        while chunk := self.kernel.pread(fd, _CHUNK, offset):
            yield chunk
            offset += len(chunk)

    def close(self, fd: int) -> None:
        with suppress(OSError):  # all data was synced before
            self.kernel.close(fd)

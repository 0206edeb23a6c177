"""Small files that anyone may have written: read with a limit, and never waiting on a pipe."""

from __future__ import annotations

import errno
import os

from segue.durable.folder import Folder
from segue.errors import StorageError

CONFIG_BYTES = 1 << 20
"""The limit for a configuration file."""


class UnusableFileError(ValueError):
    """The reason why a file is not read."""


def read_small_file(path: str, *, size_bytes: int, inside: str = "") -> bytes:
    """Read a whole file. A link is followed, but not out of the folder `inside`, where that is given.

    UnusableFileError if it is too large or leads out, FileNotFoundError if it does not exist, StorageError otherwise.
    """
    target = os.path.realpath(path)
    if inside and not target.startswith(f"{os.path.realpath(inside)}/"):
        raise UnusableFileError("it is a link that leads out of its folder")
    parent, _, name = target.rpartition("/")
    folder = Folder(parent)
    try:
        fd = folder.open(name)
    except StorageError as error:
        if error.errno == errno.ENOTDIR:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path) from None
        raise
    try:
        if os.fstat(fd).st_size > size_bytes:
            raise UnusableFileError(f"it is larger than {size_bytes // 1024} KB")
        with folder.storage_errors(name, "read"):
            return folder.kernel.pread(fd, size_bytes + 1, 0)
    finally:
        folder.close(fd)

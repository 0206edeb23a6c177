"""Small files of other people: never more than was asked for, never waiting on a pipe."""

from __future__ import annotations

import os

from segue.durable.folder import Folder


class UnusableFileError(ValueError):
    """Why a file is not even read."""


def read_small_file(path: str, *, size_bytes: int, inside: str = "") -> bytes:
    """What a file holds. A link is followed, but not out of the folder `inside`, where that is given.

    UnusableFileError for what is too large or leads out, FileNotFoundError, StorageError for the rest.
    """
    target = os.path.realpath(path)
    if inside and not target.startswith(f"{os.path.realpath(inside)}/"):
        raise UnusableFileError("it is a link that leads out of its folder")
    parent, _, name = target.rpartition("/")
    folder = Folder(parent)
    fd = folder.open(name)
    try:
        if os.fstat(fd).st_size > size_bytes:
            raise UnusableFileError(f"it is larger than {size_bytes // 1024} KB")
        with folder.storage_errors(name, "read"):
            return folder.kernel.pread(fd, size_bytes + 1, 0)
    finally:
        folder.kernel.close(fd)

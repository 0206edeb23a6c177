"""Checks that a folder in a place that all users may write to is ours alone."""

from __future__ import annotations

import os
import stat

from segue.durable.kernel import storage_error
from segue.errors import StorageError

_PRIVATE = 0o077


def check_private(path: str) -> None:
    """StorageError unless the folder is missing, or a folder of ours (not a link to one) that no other user may enter.

    Who can replace the folder can replace its content, so the folder above is checked as well.
    """
    above = os.path.dirname(path)
    us = os.geteuid()
    try:
        for found in (os.lstat(above), os.stat(above)):
            if found.st_uid not in {us, 0}:
                raise _refusal(path, f"{above} belongs to user {found.st_uid}")
            if stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_IWOTH and not found.st_mode & stat.S_ISVTX:
                raise _refusal(path, f"all users may change what is in {above}")
        found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise storage_error(error, path, "look at") from error
    if stat.S_ISLNK(found.st_mode):
        raise _refusal(path, "it is a symbolic link, which is never followed here")
    if found.st_uid != us:
        raise _refusal(path, f"it belongs to user {found.st_uid}")
    if stat.S_ISDIR(found.st_mode) and found.st_mode & _PRIVATE:
        raise _refusal(path, f"other users may enter it (mode {stat.S_IMODE(found.st_mode):04o})")


def _refusal(path: str, why: str) -> StorageError:
    hint = "make it a folder of your own with mode 0700, or name another folder"
    return StorageError(f"cannot store sessions in {path}: {why}", hint=hint, path=path)

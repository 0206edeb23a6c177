"""A small change to a file that users edit as well: exact, atomic, and never over what they wrote meanwhile."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

from segue.durable.kernel import storage_error
from segue.durable.lock import WriterLock
from segue.durable.snapshot import read_signature
from segue.errors import ConflictError

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from segue.durable.folder import Folder

_ATTEMPTS = 20
_PATIENCE_SECONDS = 60.0


def edit_file(folder: Folder, name: str, change: Callable[[bytes], bytes], *, locks: Folder, now: datetime) -> bool:
    """Replace a file by what `change` makes of its content, durably. Returns whether that changed anything.

    A missing file counts as empty. Our own processes wait for each other at a lock in `locks`. Other programs do not
    know it: if the file has changed between reading and replacing, the change is applied again to the new content. The
    file keeps its mode. ConflictError if it keeps changing.
    """
    lock = WriterLock.acquire(locks, ".edit", timeout_seconds=_PATIENCE_SECONDS, since=now)
    if not isinstance(lock, WriterLock):
        raise ConflictError(f"{folder.path_of(name)} is being changed by process {lock.pid}", hint="try again")
    try:
        for _ in range(_ATTEMPTS):
            before = read_signature(folder, name)
            data = folder.read(name) if before else b""
            new = change(data)
            if new == data:
                return False
            if _put(folder, name, new, before):
                return True
    except FileNotFoundError as error:  # the folder is gone, or the file was removed just now
        raise storage_error(error, folder.path_of(name), "change") from error
    finally:
        lock.release()
    raise ConflictError(f"{folder.path_of(name)} keeps being changed by another program", hint="try again")


def _put(folder: Folder, name: str, data: bytes, before: tuple[int, ...]) -> bool:
    """Returns whether it could be done without losing what another program wrote."""
    if not before:
        try:
            folder.create(name, data)
        except FileExistsError:
            return False
        return True
    fd, temporary = folder.begin(data, name)
    try:
        with folder.storage_errors(name, "write"):
            folder.kernel.fchmod(fd, stat.S_IMODE(os.lstat(folder.path_of(name)).st_mode))
    except FileNotFoundError:
        pass  # the check below finds that it has changed
    except BaseException:
        folder.discard(temporary)
        raise
    finally:
        with suppress(OSError):
            folder.kernel.close(fd)
    if read_signature(folder, name) != before:
        folder.discard(temporary)
        return False
    folder.rename(temporary, name)
    return True

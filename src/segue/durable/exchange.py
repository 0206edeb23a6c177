"""Replaces a file that other programs may write to at any moment: its last content is returned and never lost."""

from __future__ import annotations

import errno
import fcntl
import sys
import time
from typing import TYPE_CHECKING

from segue.durable.snapshot import read_signature
from segue.errors import ConflictError, StorageError

if TYPE_CHECKING:
    from segue.durable.folder import Folder

_CANNOT = {errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP}
_ATTEMPTS = 50
_PATIENCE_SECONDS = 5.0
_CHECK_SECONDS = 0.005
_UNCHANGED_CHECKS = 20
"""A file counts as finished after this many checks without a change, if the system cannot tell whether it is open."""


def exchange(folder: Folder, name: str, data: bytes, aside: str) -> bytes | None:
    """Replace a file by the data, durably. Returns its last content, which is in the file `aside` then.

    None if there was no file. An editor may be writing at that very moment, and continues to write to the file aside:
    it is given time to finish. A process that is killed leaves aside the old content or the new one.
    """
    for _ in range(_ATTEMPTS):
        if not read_signature(folder, name):
            try:
                folder.create(name, data)
            except FileExistsError:
                continue
            return None
        fd, temporary = folder.begin(data, name)
        folder.close(fd)
        folder.rename(temporary, aside, sync=False)  # whole: the next process reads what is aside
        try:
            _swap(folder, name, aside)
        except FileNotFoundError:  # an editor is between renaming the old one and writing the new one
            folder.discard(aside)
            continue
        folder.sync()
        return _finished(folder, aside)
    raise ConflictError(f"{folder.path_of(name)} keeps being changed by another program", hint="try again")


def _swap(folder: Folder, name: str, aside: str) -> None:
    try:
        with folder.storage_errors(name, "write"):
            folder.kernel.exchange(folder.path_of(aside), folder.path_of(name))
    except StorageError as error:
        if error.errno in _CANNOT:
            _swap_step_by_step(folder, name, aside)
        else:
            folder.discard(aside)
            raise


def _swap_step_by_step(folder: Folder, name: str, aside: str) -> None:
    """For a moment there is no file of this name; a reader then falls back to the events."""
    old = f"{aside}.old"
    folder.rename(name, old)
    try:
        folder.publish(aside, name)
    except FileExistsError:  # another program wrote it in that moment: its file stays, and ours is tried again later
        raise ConflictError(f"{folder.path_of(name)} was changed by another program", hint="try again") from None
    finally:
        folder.rename(old, aside)


def _finished(folder: Folder, name: str) -> bytes:
    """The content of a file once no program writes to it any more, or after some seconds in any case."""
    until = time.monotonic() + _PATIENCE_SECONDS
    unchanged, before = 0, read_signature(folder, name)
    while time.monotonic() < until and unchanged < _UNCHANGED_CHECKS:
        is_written = _is_open_for_writing(folder, name)
        if is_written is False:
            break
        time.sleep(_CHECK_SECONDS)
        now = read_signature(folder, name)
        unchanged, before = (unchanged + 1 if now == before and is_written is None else 0), now
    return folder.read(name)


def _is_open_for_writing(folder: Folder, name: str) -> bool | None:
    """Whether any process has it open for writing; None where the system cannot tell."""
    if sys.platform != "linux":
        return None
    fd = folder.open(name)
    try:
        # A lease is granted only if no process writes. No other process knows the name, so none breaks the lease.
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except BlockingIOError:
        return True
    except OSError:
        return None
    finally:
        folder.close(fd)
    return False

"""Replacing a file that others write to at any moment: what was there until then is looked at, never lost."""

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
_GLANCE_SECONDS = 0.005
_STILL_GLANCES = 20
"""So often it has to look the same, where nobody can tell whether it is still being written."""


def exchange(folder: Folder, name: str, data: bytes, aside: str) -> bytes | None:
    """Put the data in the place of a file, durably. What was there until that moment is returned, and is `aside` then.

    None if nothing was there. An editor may be writing at that very moment, and goes on writing to what is aside: it is
    given the time to finish. Whoever is killed leaves aside what was there, or what was to be there.
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
        folder.rename(temporary, aside, sync=False)  # whole: what is aside is looked at by whoever comes next
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
    """For a moment there is no file of this name; whoever reads then has the events."""
    old = f"{aside}.old"
    folder.rename(name, old)
    try:
        folder.publish(aside, name)
    except FileExistsError:  # somebody wrote it in that moment: theirs stays, and ours is tried again another time
        raise ConflictError(f"{folder.path_of(name)} was changed by another program", hint="try again") from None
    finally:
        folder.rename(old, aside)


def _finished(folder: Folder, name: str) -> bytes:
    """What is in a file when nobody writes to it any more; after some seconds, what is in it then."""
    until = time.monotonic() + _PATIENCE_SECONDS
    still, before = 0, read_signature(folder, name)
    while time.monotonic() < until and still < _STILL_GLANCES:
        is_written = _is_open_for_writing(folder, name)
        if is_written is False:
            break
        time.sleep(_GLANCE_SECONDS)
        now = read_signature(folder, name)
        still, before = (still + 1 if now == before and is_written is None else 0), now
    return folder.read(name)


def _is_open_for_writing(folder: Folder, name: str) -> bool | None:
    """Whether any process has it open to write; None where nobody can tell."""
    if sys.platform != "linux":
        return None
    fd = folder.open(name)
    try:
        # A lease is granted only where nobody writes. Nobody knows the name, so that nobody breaks it meanwhile.
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except BlockingIOError:
        return True
    except OSError:
        return None
    finally:
        folder.close(fd)
    return False

"""What each terminal showed last: the lines of its last list, and the session that its last command used.

`@3` and `-` mean these. They belong to the session of a shell, so that two windows do not mix them up. They may be lost
at any time, so nothing here is synced, and a failure to record them is not an error.
"""

from __future__ import annotations

import os
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from segue.errors import SegueError
from segue.user_folders import cache_folder

if TYPE_CHECKING:
    from collections.abc import Iterable

    from segue.durable.folder import Folder

_NAME = "terminals"
_MOST_LINES = 1000
_OLD_SECONDS = 30 * 24 * 3600


class RecentSession(Struct, frozen=True, array_like=True):
    """A session, and the source that has it: the URL of a store, or an AI tool and the folder of its sessions."""

    source: str
    id: str


def record_list(sessions: Iterable[RecentSession]) -> int:
    """Record the lines of a list that is shown, from the first on; how many have been recorded."""
    lines = list(islice(sessions, _MOST_LINES))
    try:
        _remove_old(_write("list", lines))
    except (SegueError, OSError):
        return 0
    return len(lines)


def recorded_list() -> list[RecentSession] | None:
    """The lines of the last list in this terminal; None if there was none."""
    return _read("list")


def record_session(source: str, id: str) -> None:
    """Record that a command has used this session."""
    used = [RecentSession(source, id)]
    if _read("session") != used:
        with suppress(SegueError, OSError):
            _write("session", used)


def recorded_session() -> RecentSession | None:
    """The session that the last command in this terminal used; None if there was none."""
    found = _read("session")
    return found[0] if found and found[0].id else None


def forget_session(source: str, id: str) -> None:
    """Remove a session from what any terminal has recorded; the other lines of a list stay where they are."""
    gone = RecentSession(source, id)
    with suppress(SegueError, OSError):
        folder = cache_folder().sub(_NAME)
        for entry in list(folder.scan()):
            found = _decode(folder, entry.name)
            if found is not None and gone in found:
                kept = [RecentSession("", "") if session == gone else session for session in found]
                folder.replace(entry.name, msgspec.json.encode(kept), sync=False)


def _write(kind: str, sessions: list[RecentSession]) -> Folder:
    folder = cache_folder().sub(_NAME)
    name, data = f"{_shell_session()}.{kind}", msgspec.json.encode(sessions)
    try:
        folder.replace(name, data, sync=False)
    except FileNotFoundError:
        folder.make()
        folder.replace(name, data, sync=False)
    return folder


def _read(kind: str) -> list[RecentSession] | None:
    return _decode(cache_folder().sub(_NAME), f"{_shell_session()}.{kind}")


def _decode(folder: Folder, name: str) -> list[RecentSession] | None:
    try:
        return msgspec.json.decode(folder.read(name), type=list[RecentSession])
    except (SegueError, OSError, msgspec.MsgspecError):
        return None


def _remove_old(folder: Folder) -> None:
    changed = {entry.name: entry.stat(follow_symlinks=False).st_mtime for entry in folder.scan()}
    for name, moment in changed.items():
        if moment < max(changed.values()) - _OLD_SECONDS:
            folder.discard(name)


def _shell_session() -> str:
    """The leader of the session that this process belongs to, usually a shell, and when it started."""
    leader = os.getsid(0)
    try:
        # The name of the program may contain anything, so the fields are counted from its end.
        started = Path(f"/proc/{leader}/stat").read_bytes().rpartition(b")")[2].split()[19].decode()
    except (OSError, IndexError):
        started = "0"
    return f"{leader}-{started}"

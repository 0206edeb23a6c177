"""Namespaces: most files become read-only, and all processes end with the first one.

They belong to a new user namespace, so they do not need root. Some systems do not let users create one.
"""

from __future__ import annotations

import os
import stat
import struct
from contextlib import suppress
from typing import TYPE_CHECKING

from segue.sandbox import system

if TYPE_CHECKING:
    from collections.abc import Sequence

_NEW_MOUNTS, _NEW_IPC, _NEW_USER, _NEW_PIDS = 0x20000, 0x8000000, 0x10000000, 0x20000000
_BIND, _RECURSIVE, _PRIVATE = 0x1000, 0x4000, 0x40000
_NOSUID, _NODEV, _NOEXEC = 2, 4, 8
_MOUNT_SETATTR = 442
_HERE, _ALL_BENEATH, _READ_ONLY = -100, 0x8000, 1


def enter() -> None:
    """Enter new namespaces: the next child becomes their first process, and all others end with it."""
    user, group = os.geteuid(), os.getegid()
    system.unshare(_NEW_USER | _NEW_MOUNTS | _NEW_PIDS | _NEW_IPC)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        _write(f"/proc/self/{name}", text)
    system.mount("none", "/", "", _PRIVATE | _RECURSIVE)


def close_files(written: Sequence[str], read_only: Sequence[str], hidden: Sequence[str], *, spare: str) -> None:
    """Make everything read-only except `written`; within it `read_only` stays so, and `hidden` is inaccessible."""
    # A file that no user can open, not even root, and an empty folder.
    nothing, empty = f"{spare}/nothing", f"{spare}/empty"
    os.mknod(nothing, stat.S_IFSOCK)
    os.mkdir(empty, 0)  # noqa: PTH102 - pathlib takes time to load
    for path in written:
        _bind(path, path)
    if "/" not in written:
        _set("/", add=_READ_ONLY)
    for path in written:
        _set(path, remove=_READ_ONLY)
    for path in read_only:
        _bind(path, path)
        _set(path, add=_READ_ONLY)
    for path in hidden:
        _bind(empty if os.path.isdir(path) else nothing, path)  # noqa: PTH112 - as above
        _set(path, add=_READ_ONLY)


def show_own_processes() -> bool:
    """Limit /proc to the own processes; False where a container forbids it. The first process calls it."""
    with suppress(OSError):
        system.mount("proc", "/proc", "proc", _NOSUID | _NODEV | _NOEXEC)
        return True
    return False


def _bind(source: str, target: str) -> None:
    with suppress(FileNotFoundError):
        system.mount(source, target, "", _BIND | _RECURSIVE)


def _set(path: str, *, add: int = 0, remove: int = 0) -> None:
    with suppress(FileNotFoundError):
        system.call(_MOUNT_SETATTR, _HERE, os.fsencode(path), _ALL_BENEATH, struct.pack("=QQQQ", add, remove, 0, 0), 32)


def _write(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)

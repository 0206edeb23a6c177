"""Landlock: which files a process, and all that it starts, may open, change, create and remove.

Rules only allow, each for a path and everything beneath it. What the kernel can restrict and no rule allows is denied
permanently. This does not need root. See landlock(7).
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from enum import IntFlag
from typing import TYPE_CHECKING

from segue.sandbox import system

if TYPE_CHECKING:
    from collections.abc import Iterable

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION = 1
_PATH_BENEATH = 1
_TCP = 0b11  # bind and connect
_SCOPED = 0b11  # abstract unix sockets, and signals


class Right(IntFlag):
    EXECUTE = 1 << 0
    WRITE_FILE = 1 << 1
    READ_FILE = 1 << 2
    READ_DIR = 1 << 3
    REMOVE_DIR = 1 << 4
    REMOVE_FILE = 1 << 5
    MAKE_CHAR = 1 << 6
    MAKE_DIR = 1 << 7
    MAKE_REG = 1 << 8
    MAKE_SOCK = 1 << 9
    MAKE_FIFO = 1 << 10
    MAKE_BLOCK = 1 << 11
    MAKE_SYM = 1 << 12
    REFER = 1 << 13
    TRUNCATE = 1 << 14
    IOCTL_DEV = 1 << 15


READ = Right.EXECUTE | Right.READ_FILE | Right.READ_DIR
WRITE = (
    Right.WRITE_FILE
    | Right.TRUNCATE
    | Right.REMOVE_DIR
    | Right.REMOVE_FILE
    | Right.MAKE_DIR
    | Right.MAKE_REG
    | Right.MAKE_SOCK
    | Right.MAKE_FIFO
    | Right.MAKE_SYM
    | Right.REFER
)
_OF_FILES = Right.EXECUTE | Right.WRITE_FILE | Right.READ_FILE | Right.TRUNCATE | Right.IOCTL_DEV
_KNOWN_SINCE = {2: Right.REFER, 3: Right.TRUNCATE, 5: Right.IOCTL_DEV}
TCP_SINCE, SCOPED_SINCE = 4, 6


def version() -> int:
    """The version of Landlock in this kernel; 0 if it has none."""
    try:
        return system.call(_CREATE_RULESET, None, 0, _ASK_VERSION)
    except OSError:
        return 0


def restrict(rules: Iterable[tuple[str, Right]], *, network: bool) -> None:
    """Allow only this from now on. Paths that do not exist, or have become links, are skipped: that is stricter."""
    known = version()
    handled = Right((1 << 16) - 1)
    for since, right in _KNOWN_SINCE.items():
        if known < since:
            handled &= ~right
    attributes = struct.pack(
        "=QQQ",
        handled,
        0 if network or known < TCP_SINCE else _TCP,
        _SCOPED if known >= SCOPED_SINCE else 0,
    )
    size = 24 if known >= SCOPED_SINCE else 16 if known >= TCP_SINCE else 8
    ruleset = system.call(_CREATE_RULESET, ctypes.create_string_buffer(attributes, 24), size, 0)
    try:
        for path, rights in rules:
            _allow(ruleset, path, rights & handled)
        system.prctl(system.PR_SET_NO_NEW_PRIVS, 1)
        system.call(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, rights: Right) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISLNK(mode):
            return
        if not stat.S_ISDIR(mode):
            rights &= _OF_FILES
        if rights:
            system.call(
                _ADD_RULE,
                ruleset,
                _PATH_BENEATH,
                ctypes.create_string_buffer(struct.pack("=Qi", rights, descriptor), 12),
                0,
            )
    finally:
        os.close(descriptor)

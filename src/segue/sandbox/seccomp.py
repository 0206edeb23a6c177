"""Filters system calls, for what Landlock does not cover: sockets other than TCP, and modes, owners and times of files.

A denied call fails with an error that programs expect. Calls of another architecture (32-bit, x32) fail as well, since
the same numbers mean other calls there.
"""

from __future__ import annotations

import ctypes
import errno
import struct

from segue.sandbox import system

_PR_SET_SECCOMP, _FILTER_MODE = 22, 2
_LOAD, _EQUALS, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000
_NUMBER, _ARCHITECTURE, _ARGUMENT = 0, 4, 16
_X32 = 0x40000000
_INTERNET = (2, 10)  # IPv4 and IPv6
_NETLINK = 16
"""Programs use it to find the addresses of this machine before they resolve a name."""

_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_EVERYWHERE = {"io_uring_setup": 425, "mount_setattr": 442, "fchmodat2": 452, "setxattrat": 463, "removexattrat": 466}
_EVERYWHERE |= {"file_setattr": 469}
_NUMBERS = {
    "x86_64": _EVERYWHERE
    | {"socket": 41, "chmod": 90, "chown": 92, "lchown": 94, "utime": 132, "setxattr": 188, "lsetxattr": 189}
    | {"removexattr": 197, "lremovexattr": 198, "utimes": 235, "add_key": 248, "request_key": 249, "keyctl": 250}
    | {"fchownat": 260, "futimesat": 261, "fchmodat": 268, "utimensat": 280, "perf_event_open": 298}
    | {"open_by_handle_at": 304, "bpf": 321, "userfaultfd": 323},
    "aarch64": _EVERYWHERE
    | {"setxattr": 5, "lsetxattr": 6, "removexattr": 14, "lremovexattr": 15, "fchmodat": 53, "fchownat": 54}
    | {"utimensat": 88, "socket": 198, "add_key": 217, "request_key": 218, "keyctl": 219, "perf_event_open": 241}
    | {"open_by_handle_at": 265, "bpf": 280, "userfaultfd": 282},
}
_ALWAYS = (
    "io_uring_setup",  # it could do what the filter denies
    "mount_setattr",
    "open_by_handle_at",
    "add_key",
    "request_key",
    "keyctl",
    "bpf",
    "perf_event_open",
    "userfaultfd",
)
_BY_PATH = (
    "chmod",
    "fchmodat",
    "fchmodat2",
    "chown",
    "lchown",
    "fchownat",
    "setxattr",
    "lsetxattr",
    "setxattrat",
    "removexattr",
    "lremovexattr",
    "removexattrat",
    "file_setattr",
    "utime",
    "utimes",
    "futimesat",
)
"""Calls that change a file without opening it, which Landlock does not check."""

MACHINES = tuple(_ARCHITECTURES)


def restrict(machine: str, *, network: bool, changes_modes: bool) -> None:
    """Allow only internet sockets from now on, and only with `network`."""
    numbers = _NUMBERS[machine]
    steps = [
        _step(_LOAD, _ARCHITECTURE),
        _step(_EQUALS, _ARCHITECTURES[machine], 1, 0),
        _fail(errno.ENOSYS),
        _step(_LOAD, _NUMBER),
    ]
    if machine == "x86_64":
        steps += [_step(_AT_LEAST, _X32, 0, 1), _fail(errno.ENOSYS)]
    for name in _ALWAYS:
        steps += [_step(_EQUALS, numbers[name], 0, 1), _fail(errno.ENOSYS)]
    if not changes_modes:
        for name in _BY_PATH:
            if name in numbers:
                steps += [_step(_EQUALS, numbers[name], 0, 1), _fail(errno.EPERM)]
        # Without a path it applies to an open file.
        path_is_null = [_step(_LOAD, _ARGUMENT + 8), _step(_EQUALS, 0, 0, 2), _step(_LOAD, _ARGUMENT + 12)]
        path_is_null += [_step(_EQUALS, 0, 1, 0), _fail(errno.EPERM), _step(_RETURN, _ALLOW)]
        steps += [_step(_EQUALS, numbers["utimensat"], 0, len(path_is_null)), *path_is_null]
    allowed = (*_INTERNET, _NETLINK) if network else ()
    steps += [_step(_EQUALS, numbers["socket"], 1, 0), _step(_RETURN, _ALLOW), _step(_LOAD, _ARGUMENT)]
    for at, family in enumerate(allowed):
        steps.append(_step(_EQUALS, family, len(allowed) - at, 0))
    steps += [_fail(errno.EACCES), _step(_RETURN, _ALLOW)]
    program = ctypes.create_string_buffer(b"".join(steps))
    head = ctypes.create_string_buffer(struct.pack("@HP", len(steps), ctypes.addressof(program)))
    system.prctl(system.PR_SET_NO_NEW_PRIVS, 1)
    system.prctl(_PR_SET_SECCOMP, _FILTER_MODE, ctypes.addressof(head))


def _step(code: int, value: int, if_so: int = 0, if_not: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_so, if_not, value)


def _fail(number: int) -> bytes:
    return _step(_RETURN, _FAIL | number)

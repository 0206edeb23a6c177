"""System calls that Python has no function for."""

from __future__ import annotations

import ctypes
import os

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long

PR_SET_PDEATHSIG, PR_CAPBSET_DROP, PR_SET_SECUREBITS, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 24, 28, 36, 38

_CAPSET = {"x86_64": 126, "aarch64": 91}
_CAPABILITIES = 64
_CAPABILITY_VERSION = 0x20080522
_NO_ROOT_LOCKED = 0b1111  # being root gives no capabilities, and that cannot be changed back


def call(number: int, *arguments: int | bytes | ctypes.Array[ctypes.c_char] | None) -> int:
    """Make a system call by its number; OSError if it fails."""
    ctypes.set_errno(0)
    given = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    return _checked(_libc.syscall(ctypes.c_long(number), *given))


def prctl(option: int, *arguments: int) -> None:
    ctypes.set_errno(0)
    given = [ctypes.c_ulong(one) for one in (*arguments, 0, 0, 0, 0)[:4]]
    _checked(_libc.prctl(ctypes.c_int(option), *given))


def mount(source: str, target: str, kind: str, flags: int) -> None:
    ctypes.set_errno(0)
    _checked(_libc.mount(os.fsencode(source), os.fsencode(target), kind.encode() or None, ctypes.c_ulong(flags), None))


def unshare(flags: int) -> None:
    ctypes.set_errno(0)
    _checked(_libc.unshare(ctypes.c_int(flags)))


def drop_capabilities() -> None:
    """Drop all capabilities permanently: neither root nor a file with more rights brings one back."""
    for number in range(_CAPABILITIES):
        try:
            prctl(PR_CAPBSET_DROP, number)
        except OSError:  # no such capability, or none of our own to drop
            break
    try:
        prctl(PR_SET_SECUREBITS, _NO_ROOT_LOCKED)
    except PermissionError:
        if os.geteuid() == 0:
            raise
    header = ctypes.create_string_buffer(_CAPABILITY_VERSION.to_bytes(4, "little") + bytes(4), 8)
    call(_CAPSET[os.uname().machine], header, ctypes.create_string_buffer(bytes(24), 24))


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result

"""Commands: with the least of an environment, for a limited time, and gone with all that they started."""

from __future__ import annotations

import os
import selectors
import signal
import threading
import time
from contextlib import contextmanager, suppress
from subprocess import DEVNULL, PIPE, STDOUT, Popen, TimeoutExpired
from typing import TYPE_CHECKING, Annotated, ClassVar

from msgspec import Meta, Struct

from segue.abilities.ability import Room, Wish, clipped
from segue.abilities.call import FailedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_KEPT = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR")
"""What commands need to work at all. Keys and tokens are in none of these."""
_NOBODY_WATCHES = {"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}
_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_CHUNK_BYTES = 65536
_GRACE_SECONDS = 1.0
_TICK_SECONDS = 0.1
"""How soon it is noticed that a command has ended although something that it left behind holds its output open."""


class RunShell(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Run a command in sh, without input; you get what it writes. Nothing that it starts outlives it."""

    command: Annotated[str, Meta(min_length=1)]

    changes: ClassVar[bool] = True

    @property
    def wish(self) -> Wish:
        return Wish("shell", self.command)

    def run(self, room: Room, place: str) -> str:
        del place
        process: Popen[bytes] | None = None
        try:
            with _held_back():
                process = _start(self.command, room)
            output, is_over = _collect(process, room)
        finally:
            if process is not None:
                _stop(process)
        text = clipped(output.decode("utf-8", "replace"), room.limit).rstrip("\n")
        if not is_over:
            raise FailedError(f"{text}\n[stopped: it ran for more than {room.timeout_seconds:g} seconds]".lstrip())
        if process.returncode:
            raise FailedError(f"{text}\n[exit code {process.returncode}]".lstrip())
        return text or "[it wrote nothing, and ended well]"


def least(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: environ[name] for name in _KEPT if name in environ} | _NOBODY_WATCHES


def _start(command: str, room: Room) -> Popen[bytes]:
    try:
        return Popen(
            ["/bin/sh", "-c", command],
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=STDOUT,
            cwd=room.cwd,
            env=least(room.environ),
            bufsize=0,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise FailedError(f"it cannot be started: {getattr(error, 'strerror', None) or error}") from None


@contextmanager
def _held_back() -> Iterator[None]:
    """Let Ctrl-C and its like come a moment later: a command that is half started is one that nobody ends."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {number: signal.signal(number, lambda number, _: came.append(number)) for number in _STOPPING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])


def _collect(process: Popen[bytes], room: Room) -> tuple[bytearray, bool]:
    """The beginning and the end of what it writes, and whether it ended by itself."""
    assert process.stdout is not None  # noqa: S101 - for the type checker: it is a pipe
    output = bytearray()
    half = room.limit * 4  # bytes that a character may take, so that what is kept is always enough
    deadline = time.monotonic() + room.timeout_seconds
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while time.monotonic() < deadline:
            has_ended = process.poll() is not None
            if not selector.select(0 if has_ended else _TICK_SECONDS):
                if has_ended:
                    return output, True
                continue
            data = os.read(process.stdout.fileno(), _CHUNK_BYTES)
            if not data:
                break
            output += data
            del output[half:-half]
    with suppress(TimeoutExpired):
        process.wait(max(0, deadline - time.monotonic()))
        return output, True
    return output, False


def _stop(process: Popen[bytes]) -> None:
    """End whatever is left of the group; also behind a command that ended well."""
    if process.poll() is None:
        _signal(process, signal.SIGTERM)
        with suppress(TimeoutExpired):
            process.wait(_GRACE_SECONDS)
    _signal(process, signal.SIGKILL)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _signal(process: Popen[bytes], number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)

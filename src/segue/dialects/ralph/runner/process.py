"""A command that is run and listened to: told something on its input, heard as it speaks, stopped when it has to be."""

from __future__ import annotations

import codecs
import os
import selectors
import signal
from contextlib import suppress
from subprocess import PIPE, STDOUT, Popen, TimeoutExpired
from typing import IO, TYPE_CHECKING, NamedTuple

from segue.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_CHUNK_BYTES = 65536
_KEPT_CHARACTERS = 1 << 20
_GRACE_SECONDS = 2.0
"""For a command that is told to stop, until it is killed."""
_TICK_SECONDS = 0.1
"""How soon it is noticed that a command has to stop, or has ended although a process it left holds its output open."""


class Ended(NamedTuple):
    code: int | None
    """Negative for the signal that ended it; None if it was stopped."""
    output: str
    """What it said, errors and all; of more than a million characters the last."""

    @property
    def words(self) -> str:
        """How it ended, if not well."""
        match self.code:
            case None:
                return "was stopped"
            case 0:
                return ""
            case code if code < 0:
                return f"was killed by {_signal_name(-code)}"
        return f"ended with exit code {self.code}"


def attend(
    argv: Sequence[str],
    *,
    cwd: str,
    environ: Mapping[str, str],
    given: str = "",
    hear: Callable[[str], None],
    should_stop: Callable[[], bool],
    held: Sequence[int] = (),
) -> Ended:
    """Run it without a shell, in a session and process group of its own, to its end or until it should stop.

    `held` are descriptors that live as long as it does. UsageError if it cannot be started.
    """
    try:
        process = Popen(
            argv,
            stdin=PIPE,
            stdout=PIPE,
            stderr=STDOUT,
            env=dict(environ),
            cwd=cwd,
            bufsize=0,
            start_new_session=True,
            pass_fds=held,
        )
    except (OSError, ValueError) as error:  # a ValueError is a NUL in a word
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"{argv[0]} cannot be started: {reason.lower()}", hint="check the command") from error
    try:
        return _listen(process, given.encode("utf-8", "replace"), hear, should_stop)
    finally:
        _end(process)


def _listen(process: Popen[bytes], given: bytes, hear: Callable[[str], None], should_stop: Callable[[], bool]) -> Ended:
    """Write and read at the same time: neither side can block the other."""
    assert process.stdin  # noqa: S101 - for the type checker: both are pipes
    assert process.stdout  # noqa: S101 - as above
    unsent, said = memoryview(given), ""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    with selectors.DefaultSelector() as selector:
        for pipe, event in ((process.stdin, selectors.EVENT_WRITE), (process.stdout, selectors.EVENT_READ)):
            os.set_blocking(pipe.fileno(), False)
            selector.register(pipe, event)
        is_speaking = True
        while is_speaking:
            if should_stop():
                return Ended(None, said)
            has_ended = process.poll() is not None
            ready = selector.select(0 if has_ended else _TICK_SECONDS)
            if has_ended and not any(key.fileobj is process.stdout for key, _ in ready):
                break
            for key, _ in ready:
                if key.fileobj is process.stdin:
                    unsent = unsent[_send(process.stdin, unsent[:_CHUNK_BYTES]) :]
                    if not unsent:
                        selector.unregister(process.stdin)
                        process.stdin.close()
                    continue
                data = os.read(key.fd, _CHUNK_BYTES)
                is_speaking = bool(data)
                if text := decoder.decode(data, final=not data):
                    hear(text)
                    said = (said + text)[-_KEPT_CHARACTERS:]
    while process.poll() is None:  # it has closed its output, and goes on
        with suppress(TimeoutExpired):
            process.wait(_TICK_SECONDS)
        if should_stop():
            return Ended(None, said)
    return Ended(process.returncode, said)


def _send(pipe: IO[bytes], data: memoryview) -> int:
    """How much was taken; all of it when nobody reads it: a command need not want its input."""
    try:
        return pipe.write(data) or 0  # None when the pipe is full
    except OSError:
        return len(data)


def _end(process: Popen[bytes]) -> None:
    """Leave nothing behind: first ask, so that it can save what it has; then end whatever is left."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
    if process.poll() is not None:
        return
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        with suppress(TimeoutExpired):
            process.wait(_GRACE_SECONDS)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"

"""One program, git or a hook: without a terminal, without what an outer git left behind, and not for ever."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired
from typing import IO, TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_CHUNK = 1 << 16
_GRACE_SECONDS = 2.0
_TICK_SECONDS = 0.25
"""How soon it is noticed that a program has ended although a process that it left behind holds its output open."""

# Who commits, which configuration is the user's, and where git is installed. Every other variable of git could lead to
# another repository or index, to other rules for paths, or to a program.
_KEPT = {
    *(f"GIT_{who}_{what}" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL", "DATE")),
    *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH"),
    "GIT_TEST_ASSUME_DIFFERENT_OWNER",
}
_NOBODY_ANSWERS = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": "true",
    "GIT_SEQUENCE_EDITOR": "true",
    "GIT_ASKPASS": "true",
    "SSH_ASKPASS": "true",
    "SSH_ASKPASS_REQUIRE": "never",
    "LANGUAGE": "en",
}


class GitResult(NamedTuple):
    code: int | None
    """None if it had to be stopped."""
    output: bytes
    errors: str


def clean_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """What a user set for all programs, without what was meant for another call of git."""
    kept = {name: value for name, value in environ.items() if not name.startswith("GIT_") or name in _KEPT}
    return kept | _NOBODY_ANSWERS


def run(
    argv: Sequence[str | bytes],
    *,
    cwd: Path,
    environ: Mapping[str, str],
    timeout_seconds: float,
    given: bytes | None = None,
) -> GitResult:
    """In a session of its own: nothing can ask a terminal. Raises OSError or ValueError if it cannot be started."""
    process = Popen(
        argv,
        stdin=DEVNULL if given is None else PIPE,
        stdout=PIPE,
        stderr=PIPE,
        cwd=cwd,
        env=environ,
        start_new_session=True,
    )
    try:
        return _wait(process, given, timeout_seconds)
    finally:
        _stop(process)


def _wait(process: Popen[bytes], given: bytes | None, timeout_seconds: float) -> GitResult:
    deadline = time.monotonic() + timeout_seconds
    while True:
        try:
            output, errors = process.communicate(given, timeout=_TICK_SECONDS)
        except TimeoutExpired as waited:
            given = None  # it was taken by the first call
            if process.poll() is not None:
                output, errors = (waited.output or b"") + _rest(process.stdout), waited.stderr or b""
                return GitResult(process.returncode, output, _text(errors + _rest(process.stderr)))
            if time.monotonic() > deadline:
                return GitResult(None, b"", _text(waited.stderr))
        else:
            return GitResult(process.returncode, output, _text(errors))


def _rest(pipe: IO[bytes] | None) -> bytes:
    """What a program that has ended wrote and nobody has read; others may hold the pipe open."""
    if pipe is None or pipe.closed:
        return b""
    os.set_blocking(pipe.fileno(), False)
    pieces = []
    with suppress(BlockingIOError):
        while piece := os.read(pipe.fileno(), _CHUNK):
            pieces.append(piece)
    return b"".join(pieces)


def _stop(process: Popen[bytes]) -> None:
    """First ask, so that git takes its locks away; then end whatever is left."""
    for pipe in (process.stdin, process.stdout, process.stderr):
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


def _text(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", "replace")

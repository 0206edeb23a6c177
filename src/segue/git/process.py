"""One call of git: without a terminal, without what an outer git left behind, and not for ever."""

from __future__ import annotations

import os
import re
import signal
import time
from contextlib import suppress
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_GRACE_SECONDS = 2.0
_TICK_SECONDS = 0.25
"""How soon it is noticed that git has ended although a process that a hook left behind holds its output open."""

_OPTIONS = ("--literal-pathspecs", "--no-optional-locks", "-c", "core.fsync=all", "-c", "i18n.commitEncoding=utf-8")

# What a hook of an outer git leaves behind would lead to another repository, another index or other rules for paths.
_LEFTOVER = re.compile(
    r"GIT_(?:DIR|WORK_TREE|COMMON_DIR|INDEX_FILE|INDEX_VERSION|PREFIX|NAMESPACE|OBJECT_DIRECTORY"
    r"|ALTERNATE_OBJECT_DIRECTORIES|SHALLOW_FILE|GRAFT_FILE|IMPLICIT_WORK_TREE|NO_REPLACE_OBJECTS|REPLACE_REF_BASE"
    r"|INTERNAL_\w+|CONFIG|CONFIG_PARAMETERS|CONFIG_COUNT|CONFIG_(?:KEY|VALUE)_\d+|\w+_PATHSPECS|REFLOG_ACTION)"
)
_NOBODY_ANSWERS = {"GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "true", "GIT_SEQUENCE_EDITOR": "true", "LANGUAGE": "en"}


class Ended(NamedTuple):
    code: int | None
    """None if it had to be stopped."""
    output: bytes
    errors: str


def run(
    *arguments: str | bytes, root: Path, environ: Mapping[str, str], timeout_seconds: float, given: bytes | None = None
) -> Ended:
    """In a session of its own: no hook can ask a terminal. Raises OSError or ValueError if git cannot be started."""
    process = Popen(
        ["git", *_OPTIONS, *arguments],
        stdin=DEVNULL if given is None else PIPE,
        stdout=PIPE,
        stderr=PIPE,
        cwd=root,
        env={name: value for name, value in environ.items() if not _LEFTOVER.fullmatch(name)} | _NOBODY_ANSWERS,
        start_new_session=True,
    )
    try:
        return _wait(process, given, timeout_seconds)
    finally:
        _stop(process)


def _wait(process: Popen[bytes], given: bytes | None, timeout_seconds: float) -> Ended:
    deadline = time.monotonic() + timeout_seconds
    while True:
        try:
            output, errors = process.communicate(given, timeout=_TICK_SECONDS)
        except TimeoutExpired as waited:
            given = None  # it was taken by the first call
            if process.poll() is not None:
                return Ended(process.returncode, waited.output or b"", _text(waited.stderr))
            if time.monotonic() > deadline:
                return Ended(None, b"", _text(waited.stderr))
        else:
            return Ended(process.returncode, output, _text(errors))


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

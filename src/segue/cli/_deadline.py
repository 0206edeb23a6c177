"""A hook that must answer in time: it runs in a child process, and if that gives no answer, the answer is no.

An AI tool continues without an answer if its hook hangs, crashes or is killed. So this module imports and reads
nothing else: anything that can go wrong goes wrong in the child. The child is a fork and not a program (see `process`),
since the hook is a function that is imported already.
"""

from __future__ import annotations

import os
import select
import sys
import time
from contextlib import suppress
from io import BufferedWriter, FileIO, TextIOWrapper
from signal import SIGKILL
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable

SECONDS = 10.0
BLOCKED = 2
"""The exit code that means no to Claude Code; it ignores a hook that ends with any other one than 0."""
_TICK_SECONDS = 0.005


def answer_within(seconds: float, run: Callable[[], int]) -> int:
    """Run it and print its output; BLOCKED and a refusal unless it succeeded and printed something."""
    answer, why = b"", "it was interrupted"
    with suppress(Exception, KeyboardInterrupt):
        answer, why = _ask_child(run, time.monotonic() + seconds)
    if not why:
        sys.stdout.buffer.write(answer)
        return 0
    with suppress(Exception):
        _refuse(f"segue: the hook gave no answer: {why}")
    return BLOCKED


def _ask_child(run: Callable[[], int], deadline: float) -> tuple[bytes, str]:
    """What the child printed, and why it does not count; empty if it does."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _work(run, writing)
    os.close(writing)
    status: int | None = None
    pieces: list[bytes] = []
    try:
        while (left := deadline - time.monotonic()) > 0 and select.select([reading], [], [], left)[0]:
            piece = os.read(reading, 1 << 16)
            pieces.append(piece)
            if not piece:
                status = _wait_for(child, deadline)
                break
    finally:
        os.close(reading)
        if status is None:
            os.kill(child, SIGKILL)
            os.waitpid(child, 0)
    if status is None:
        return b"", "it took too long"
    if status:
        return b"", f"it ended with {os.waitstatus_to_exitcode(status)}"
    return b"".join(pieces), "" if any(pieces) else "it printed nothing"


def _work(run: Callable[[], int], writing: int) -> NoReturn:
    code = 70
    try:
        os.dup2(writing, 1)
        os.close(writing)
        # The old one may be for a file, in which it could seek.
        sys.stdout = TextIOWrapper(BufferedWriter(FileIO(1, "w", closefd=False)), encoding="utf-8")
        code = run()
        sys.stdout.flush()
    except BaseException as error:  # noqa: BLE001 - the child must never continue as the parent
        with suppress(Exception):
            sys.stderr.write(f"segue: {type(error).__name__}: {error}\n")
            sys.stderr.flush()
        code = code or 70
    finally:
        os._exit(code)


def _wait_for(child: int, deadline: float) -> int | None:
    """The status of the child, which has closed its output; None if it does not end in time."""
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        if time.monotonic() > deadline:
            return None
        select.select([], [], [], _TICK_SECONDS)


def _refuse(why: str) -> None:
    from json import dumps

    decision = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": why}
    sys.stderr.write(f"{why}\n")
    sys.stdout.write(f"{dumps({'hookSpecificOutput': decision})}\n")

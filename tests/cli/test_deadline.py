"""A hook that gives no answer in time, for whatever reason, says no: by its exit code and by its output."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from segue.cli._deadline import SECONDS

if TYPE_CHECKING:
    from tests.support.cli import Segue

PROGRAM = """
import os, signal, sys
from segue.cli._deadline import answer_within

def run():
    {body}

sys.exit(answer_within({seconds}, run))
"""


def answer(body: str, *, seconds: float = 60.0) -> tuple[int, str, str]:
    """How a process ends whose child does this."""
    program = PROGRAM.format(body=body, seconds=seconds)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def refusal(why: str) -> str:
    reason = f"segue: the hook gave no answer: {why}"
    told = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": reason}
    return json.dumps({"hookSpecificOutput": told}) + "\n"


def test_what_is_answered_in_time_is_passed_on() -> None:
    assert answer("print('{}'); return 0") == (0, "{}\n", "")
    code, out, _ = answer("print('x' * 1_000_000); return 0")
    assert (code, len(out)) == (0, 1_000_001)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("return 3", "it ended with 3"),
        ("print('{}'); return 3", "it ended with 3"),
        ("return 0", "it printed nothing"),
        ("raise RecursionError('deep')", "it ended with 70"),
        ("import segue.nowhere", "it ended with 70"),
        ("sys.exit(0)", "it ended with 70"),
        ("os._exit(0)", "it printed nothing"),
        ("print('{}', flush=True); os.kill(os.getpid(), signal.SIGKILL)", "it ended with -9"),
        ("os.abort()", "it ended with -6"),
    ],
)
def test_however_it_fails_the_answer_is_no(body: str, why: str) -> None:
    code, out, complaint = answer(body)
    assert (code, out) == (2, refusal(why))
    assert f"segue: the hook gave no answer: {why}" in complaint


@pytest.mark.parametrize(
    "body",
    [
        "signal.pause()",
        "sys.stdin = open(os.pipe()[0]); sys.stdin.read()",
        "print('{}', flush=True); signal.pause()",
        "sys.stdout.flush(); os.close(1); signal.pause()",
        # Held fast in C, where no Python signal handler is called and no other thread runs.
        "import re; re.match('(a*)*b', 'a' * 64)",
    ],
)
def test_what_takes_too_long_is_answered_with_no(body: str) -> None:
    code, out, _ = answer(body, seconds=0.3)
    assert (code, out) == (2, refusal("it took too long"))


@pytest.mark.long
def test_a_call_that_never_ends_is_answered_with_no_in_time(cli: Segue, session: str) -> None:
    reading, writing = os.pipe()  # nobody writes, and nobody closes
    try:
        done = subprocess.run(
            [sys.executable, "-m", "segue", "scope", "hook", session],
            stdin=reading,
            capture_output=True,
            check=False,
            cwd=cli.home,
            env=cli.environment(),
            timeout=SECONDS * 6,
        )
    finally:
        os.close(reading)
        os.close(writing)
    assert (done.returncode, done.stdout.decode()) == (2, refusal("it took too long"))

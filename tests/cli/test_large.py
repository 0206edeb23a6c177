"""Sessions that are larger than memory: shown and exported turn by turn."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from segue.formats.transcript import json_document, to_json_object
from segue.model import Turn

if TYPE_CHECKING:
    from tests.support.cli import Segue

NOW = datetime(2026, 11, 15, tzinfo=UTC)
WAYS = (
    ("show", "large"),
    ("show", "large", "--markdown"),
    ("show", "large", "--json"),
    ("export", "large"),
    ("export", "large", "--format", "json"),
    ("export", "large", "--format", "jsonl"),
    ("export", "large", "--format", "json", "-o", "out.json", "--force"),
)


def grow(cli: Segue, megabytes: int) -> None:
    """So much more text, on a branch of its own."""
    words = f"{'many words ' * 40}\n" * 100
    with cli.library.open("large") as session:
        session.fork(at=0, name=f"branch-{megabytes}")
        turn = Turn(role="user", content=words, timestamp=NOW, tokens=None, branch=session.branch, id="")
        for _ in range(megabytes):
            session.record(*[replace(turn, id=os.urandom(8).hex()) for _ in range((1 << 20) // len(words))])


def memory(cli: Segue, *arguments: str) -> int:
    """What a call takes at most, in kilobytes."""
    process = subprocess.Popen(
        [sys.executable, "-m", "segue", *arguments],
        stdout=subprocess.DEVNULL,
        env=cli.environment(),
        cwd=cli.home,
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return used.ru_maxrss


@pytest.mark.parametrize("size", [24, pytest.param(200, marks=pytest.mark.long)])
def test_memory_does_not_grow_with_the_session(cli: Segue, size: int) -> None:
    cli.ok("new", "--id", "large")
    grow(cli, 2)
    small = {way: memory(cli, *way) for way in WAYS}
    grow(cli, size)
    large = {way: memory(cli, *way) for way in WAYS}
    assert not {way: (small[way], large[way]) for way in WAYS if large[way] > small[way] + 16 * 1024}


def test_json_of_all_branches_is_what_the_model_holds(cli: Segue, session: str) -> None:
    with cli.library.open(session) as live:
        for number in range(20):
            live.fork(at=1, name=f"branch-{number}")
            live.add("user", f"On branch {number}")
    whole = json.loads(cli.ok("export", session, "--format", "json"))
    assert whole == json.loads(json_document(to_json_object(cli.library.load(session))))


def test_a_reader_that_has_seen_enough_is_no_error(cli: Segue) -> None:
    cli.ok("new", "--id", "large")
    grow(cli, 2)
    for way in WAYS[:6]:
        process = subprocess.Popen(
            [sys.executable, "-m", "segue", *way],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=cli.environment(),
            cwd=cli.home,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(1000)
        process.stdout.close()
        assert process.stderr.read() == b""
        process.stderr.close()
        process.wait()


@pytest.mark.parametrize("pager", ["cat", "head -c 100", "true", "less"])
def test_a_pager_gets_it_as_it_comes_and_may_end_early(cli: Segue, pager: str) -> None:
    cli.ok("new", "--id", "large")
    grow(cli, 1)
    terminal = cli.at_terminal("show", "large", PAGER=pager)
    if pager == "less":
        terminal.wait_for("words")
        terminal.type("q")
    assert terminal.end().code == 0

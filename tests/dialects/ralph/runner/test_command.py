"""Commands that are listened to: heard as they speak, and gone when they have to stop."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from segue.dialects.ralph.runner.command import CommandResult, run_command
from segue.durable.folder import Folder
from segue.durable.lock import WriterLock, find_owner
from segue.errors import UsageError
from segue.model import EPOCH

if TYPE_CHECKING:
    from pathlib import Path


def never() -> bool:
    return False


def listen(script: str, root: Path, *, stdin: str = "") -> tuple[CommandResult, list[str]]:
    heard: list[str] = []
    argv = ["/bin/sh", "-c", script]
    ended = run_command(argv, cwd=str(root), environ=os.environ, stdin=stdin, on_output=heard.append, should_stop=never)
    return ended, heard


def test_what_is_said_is_heard_and_kept_errors_and_all(tmp_path: Path) -> None:
    ended, heard = listen("echo one; echo two >&2; exit 3", tmp_path)
    assert ended == CommandResult(3, "one\ntwo\n")
    assert "".join(heard) == ended.output
    assert ended.failure == "ended with exit code 3"


def test_more_than_a_pipe_holds_goes_in_and_comes_out(tmp_path: Path) -> None:
    text = "αβγ\n" * 100_000
    ended, _ = listen("exec cat", tmp_path, stdin=text)
    assert ended == CommandResult(0, text)


def test_a_command_need_not_want_its_input(tmp_path: Path) -> None:
    ended, _ = listen("exec 0<&-; echo done", tmp_path, stdin="x" * 1_000_000)
    assert ended == CommandResult(0, "done\n")


def test_bytes_that_are_no_text_are_heard_all_the_same(tmp_path: Path) -> None:
    ended, _ = listen(r"printf '\377\316'", tmp_path)
    assert ended.output == "\ufffd\ufffd"


def test_of_endless_words_the_last_are_kept(tmp_path: Path) -> None:
    ended, _ = listen("yes | head -c 3000000; echo end", tmp_path)
    assert len(ended.output) == 1 << 20
    assert ended.output.endswith("end\n")


def test_a_process_that_is_left_behind_does_not_hold_it_up(tmp_path: Path) -> None:
    ended, _ = listen("sleep 1000 & echo $! >left; echo done", tmp_path)
    assert ended == CommandResult(0, "done\n")
    os.kill(int((tmp_path / "left").read_text()), 9)


def test_a_command_that_closes_its_output_is_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gate")
    ended, _ = listen("(: >gate) & exec >&- 2>&-; cat gate; exit 5", tmp_path)
    assert ended.code == 5


def test_a_signal_is_named(tmp_path: Path) -> None:
    ended, _ = listen("kill -9 $$", tmp_path)
    assert ended.failure == "was killed by SIGKILL"


def test_a_command_that_must_stop_is_gone_with_its_children_even_if_it_will_not(tmp_path: Path) -> None:
    heard: list[str] = []
    lock = WriterLock.acquire(Folder(str(tmp_path)), "held", timeout_seconds=0.0, since=EPOCH)
    assert isinstance(lock, WriterLock)
    ended = run_command(
        ["/bin/sh", "-c", "trap '' TERM; (trap '' TERM; echo ready; sleep 1000; sleep 1000); sleep 1000"],
        cwd=str(tmp_path),
        environ=os.environ,
        on_output=heard.append,
        should_stop=lambda: bool(heard),
        pass_fds=(lock.fileno(),),
    )
    assert (ended.code, ended.output, ended.failure) == (None, "ready\n", "was stopped")
    lock.forget()
    while find_owner(Folder(str(tmp_path)), "held") is not None:  # until the last of them has gone
        os.sched_yield()


@pytest.mark.parametrize("argv", [["/no/such/command"], ["/etc/passwd"], ["/bin/echo", "a\0b"]])
def test_what_cannot_be_started_is_told(argv: list[str], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be started"):
        run_command(argv, cwd=str(tmp_path), environ=os.environ, on_output=lambda _: None, should_stop=never)

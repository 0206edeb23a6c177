"""Programs are found, run and stopped in one way, and signals arrive where they do no harm."""

from __future__ import annotations

import os
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest

from segue import process
from segue.chat.agent import AgentError, Message, Request
from segue.chat.agents.command import CommandAgent
from segue.console.entry import absolute_search_path

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


QUESTION = Request(system="", messages=(Message(role="user", content="Why?"),))


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder with untrusted programs."""
    for place in (tmp_path, tmp_path / "bin"):
        place.mkdir(exist_ok=True)
        (place / "claude").write_text("#!/bin/sh\ntouch ran\n", encoding="utf-8")
        (place / "claude").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "path", ["", ":", "::", ".", "./", "..", "bin", "./bin", "~", "/nowhere:", ":/nowhere", ".:/nowhere"]
)
def test_empty_and_relative_elements_of_the_path_find_nothing(clone: Path, path: str) -> None:
    assert process.which("claude", {"PATH": path}) is None
    with pytest.raises(AgentError, match="there is no command"):
        list(CommandAgent(["claude"], environ={"PATH": path}).answer(QUESTION))
    assert not (clone / "ran").exists()
    assert absolute_search_path(path) in {"", "/nowhere"}


def test_absolute_folders_are_searched_in_order_and_a_slash_means_a_path(clone: Path) -> None:
    assert process.which("claude", {"PATH": f":{clone}/nowhere:{clone}/bin:{clone}"}) == f"{clone}/bin/claude"
    assert process.which("./claude", {"PATH": ""}) == "./claude"
    for name in ("", "no\0name", "./nothing", "bin", "./bin"):
        assert process.which(name, {"PATH": str(clone)}) is None


# ── Running ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def shell(script: str, folder: Path, *, timeout_seconds: float = 60) -> process.ProcessResult:
    return process.run(["/bin/sh", "-c", script], cwd=folder, environ={}, timeout_seconds=timeout_seconds)


@pytest.mark.parametrize("left_behind", ["", "sleep 1000 & echo $! > left; "])
def test_no_output_is_lost_when_a_program_ends_between_two_checks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left_behind: str
) -> None:
    monkeypatch.setattr(process, "_TICK_SECONDS", 0.0)  # every check comes too early
    ended = shell(f"{left_behind}echo out; echo err >&2", tmp_path)
    if left_behind:
        shell("kill $(cat left)", tmp_path)
    assert ended == process.ProcessResult(0, b"out\n", "err\n")


def test_input_and_output_larger_than_a_pipe_do_not_block_each_other(tmp_path: Path) -> None:
    data = bytes(range(256)) * 4096
    ended = process.run(["/bin/cat"], cwd=tmp_path, environ={}, stdin=data, timeout_seconds=60)
    assert (ended.code, ended.output) == (0, data)


def test_a_program_that_runs_too_long_is_stopped_with_what_it_started(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "held")
    held = os.open(tmp_path / "held", os.O_RDONLY | os.O_NONBLOCK)
    ended = shell("(trap '' TERM; sleep 1000) > held & echo started; wait", tmp_path, timeout_seconds=0.5)
    assert (ended.code, ended.output) == (None, b"started\n")
    os.set_blocking(held, True)
    assert os.read(held, 1) == b""  # as soon as no process has it open
    os.close(held)


def test_how_a_program_ended_can_be_described(tmp_path: Path) -> None:
    codes = [shell(script, tmp_path).code for script in ("true", "exit 3", "kill -KILL $$")]
    described = [process.describe_exit(code) for code in (*codes, None, -4321)]
    assert described == [
        "",
        "ended with exit code 3",
        "was killed by SIGKILL",
        "was stopped",
        "was killed by signal 4321",
    ]


# ── Signals ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """Every signal is handled as before when a test ends."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    yield
    after = {number: signal.getsignal(number) for number in numbers}
    for number, handler in before.items():
        signal.signal(number, handler)
    assert after == before


def test_a_signal_that_is_ignored_stays_so_in_what_is_started(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with process.exit_on_signal(), process.noted_signals() as noted:
            signal.raise_signal(signal.SIGHUP)
            ended = shell("kill -HUP $$; echo alive", tmp_path)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert (ended.output, noted) == (b"alive\n", [])


def test_ctrl_c_during_a_start_leaves_no_program_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []
    start = subprocess.Popen

    def interrupted(*args: object, **options: object) -> subprocess.Popen[bytes]:
        started.append(start(*args, **options))  # type: ignore[call-overload]  # as they were given
        signal.raise_signal(signal.SIGINT)
        return started[0]

    monkeypatch.setattr(subprocess, "Popen", interrupted)
    with pytest.raises(KeyboardInterrupt):
        shell("sleep 1000", tmp_path)
    assert started[0].returncode == -signal.SIGTERM


def test_ctrl_c_interrupts_once_and_only_where_it_may() -> None:
    may_stop = False
    with process.interruptible(lambda: may_stop):
        signal.raise_signal(signal.SIGINT)
        may_stop = True
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)


def test_ctrl_c_is_left_to_another_handler() -> None:
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        with process.interruptible(lambda: True):
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert came == [signal.SIGINT]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_us_does_so_in_order(number: signal.Signals) -> None:
    with pytest.raises(SystemExit) as raised, process.exit_on_signal():
        signal.raise_signal(number)
    assert raised.value.code == 128 + number


def test_noted_signals_interrupt_nothing() -> None:
    with process.noted_signals() as noted:
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)
        assert noted == [signal.SIGTERM, signal.SIGINT]


def test_ctrl_c_at_the_terminal_belongs_to_the_program(tmp_path: Path) -> None:
    script = "trap 'exit 7' INT; kill -INT $PPID; kill -INT $$; exit 1"
    assert process.run_in_terminal(["/bin/sh", "-c", script], cwd=tmp_path, environ={}) == 7

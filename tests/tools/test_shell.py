"""Commands: what they get, what comes back, and that nothing of them stays."""

from __future__ import annotations

import os
import signal
import threading
from typing import TYPE_CHECKING

import pytest

from segue.tools import ToolResult
from tests.support.tool_project import ToolProject, call

if TYPE_CHECKING:
    from pathlib import Path


SANDBOXED = "[it ran in a sandbox without network and without access to files out of scope]"


@pytest.fixture(autouse=True)
def everything(project: ToolProject) -> None:
    project.allow()


class Held:
    """A pipe that a command holds open as long as anything of it lives."""

    def __init__(self, folder: Path) -> None:
        os.mkfifo(folder / "held")
        self._end = os.open(folder / "held", os.O_RDONLY | os.O_NONBLOCK)

    def wait_until_all_are_gone(self) -> None:
        os.set_blocking(self._end, True)
        assert os.read(self._end, 1) == b""
        os.close(self._end)


def test_what_it_writes_comes_back_from_the_folder_at_hand(project: ToolProject) -> None:
    result = project.do("run_shell", command="pwd; echo oops >&2")
    assert result == ToolResult(content=f"{project.root}\noops")


def test_how_it_ended_is_told(project: ToolProject) -> None:
    assert project.do("run_shell", command="true").content == "[no output, exit code 0]"
    failed = project.do("run_shell", command="echo no; exit 3")
    assert (failed.status, failed.content) == ("failed", f"no\n[exit code 3]\n{SANDBOXED}")


def test_it_gets_no_key_and_no_input(project: ToolProject) -> None:
    environ = {"PATH": "/usr/bin:/bin", "HOME": "/h", "OPENAI_API_KEY": "sk-1", "GITHUB_TOKEN": "t", "LD_PRELOAD": "x"}
    found = project.do("run_shell", project.executor(environ=environ), command="env; cat").content
    names = {line.partition("=")[0] for line in found.split("\n")}
    assert names >= {"PATH", "HOME", "TERM"}
    assert not names & {"OPENAI_API_KEY", "GITHUB_TOKEN", "LD_PRELOAD"}


def test_a_long_output_keeps_its_beginning_and_its_end(project: ToolProject) -> None:
    found = project.do("run_shell", project.executor(limit=400), command="seq 1 200000").content
    assert found.startswith("1\n2\n")
    assert found.endswith("199999\n200000")
    assert "[the middle is left out]" in found
    assert len(found) < 500


def test_a_command_that_takes_too_long_is_ended_with_its_children(project: ToolProject) -> None:
    held = Held(project.root)
    command = "echo begun; sleep 1000 > held & wait"
    result = project.do("run_shell", project.executor(timeout_seconds=0.5), command=command)
    assert (result.status, result.content.startswith("begun\n[stopped: ")) == ("failed", True)
    held.wait_until_all_are_gone()


def test_what_it_leaves_behind_neither_holds_it_up_nor_outlives_it(project: ToolProject) -> None:
    held = Held(project.root)
    assert project.do("run_shell", command="sleep 1000 2> held & true").status == "done"
    held.wait_until_all_are_gone()


def test_ctrl_c_ends_it_with_its_children(project: ToolProject) -> None:
    held = Held(project.root)
    os.mkfifo(project.root / "ready")
    run_call = project.executor().prepare(call("run_shell", command="sleep 1000 > held & echo > ready; wait"))
    assert not isinstance(run_call, ToolResult)

    def interrupt() -> None:
        with open(project.root / "ready", encoding="utf-8") as ready:
            ready.read()
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        run_call()
    held.wait_until_all_are_gone()


def test_a_folder_that_is_gone_fails_in_words(project: ToolProject) -> None:
    run_call = project.executor().prepare(call("run_shell", command="ls"))
    assert not isinstance(run_call, ToolResult)
    project.root.rmdir()
    assert run_call().content == "it cannot be started: No such file or directory"


@pytest.mark.parametrize("command", ["sudo ls", "ls; sudo rm x", "ls $(sudo id)", "env sudo id"])
def test_what_is_denied_is_refused_without_a_question(project: ToolProject, command: str) -> None:
    project.approver.widens = "once"
    assert project.do("run_shell", command=command).status == "refused"
    assert project.approver.asked == []

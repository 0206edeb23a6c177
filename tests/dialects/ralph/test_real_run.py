"""A change worked through by the real Claude Code and the real Codex, against a model on this machine."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.integration_machine import ARGUMENTS
from tests.support.integration_machine import Machine as Tools
from tests.support.loopback.model import Model
from tests.support.ralph_demo import Demo, ended

pytestmark = pytest.mark.real_tools

TASKS = "## 1. Program\n\n- [ ] 1.1 Use the TOOL\n\n## 2. Page\n\n- [ ] 2.1 Use the TOOL once more\n"
RALPHTOOL = Path(sys.executable).with_name("ralphtool")
DONE = re.compile(r"`(.*? agent task done) ID (.*?--story (\d+))`")
LEARN = re.compile(r"`(.*? agent learn) \"TEXT\" --task ID (.*?)`")


def obey(prompt: str) -> str:
    """The commands that the prompt names, and no others: a shell may know none of them by name."""
    done, learn = DONE.search(prompt), LEARN.search(prompt)
    assert done
    assert learn
    return f"{done[1]} {done[3]}.1 {done[2]} && {learn[1]} 'Learned in story {done[3]}' {learn[2]}"


class Workshop(Demo):
    """Where the tool is installed, and talks to the model beside it; `ralphtool` is installed as well."""

    def __init__(self, root: Path, tools: Tools) -> None:
        self._tools = tools
        super().__init__(root)
        (self.change / "tasks.md").write_text(TASKS, encoding="utf-8")

    def environment(self, **more: str) -> dict[str, str]:
        ours = super().environment(**more)
        theirs = self._tools.environ
        path = f"{RALPHTOOL.parent}:{theirs['PATH']}"
        return {**theirs, **ours, "HOME": theirs["HOME"], "PATH": path, "PYTHONPATH": ""}

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [RALPHTOOL, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.root,
            env=self.environment(),
        )


@pytest.mark.parametrize("name", ["claude", "codex"])
def test_a_tool_works_through_a_change_with_a_verification_that_fails_once(
    tmp_path: Path, request: pytest.FixtureRequest, name: str
) -> None:
    with Model(obey) as model:
        (tmp_path / "tools").mkdir()
        (tmp_path / "shop").mkdir()
        tools = Tools(tmp_path / "tools", request.config.getoption("--real-tools"), model, name)
        shop = Workshop(tmp_path / "shop", tools)
        verify = "test -e tried || { touch tried; echo not yet; exit 1; }"
        words = ["run", "--change", "add-greeting", "--verify", verify, "--with", " ".join([name, *ARGUMENTS[name]])]
        shown = ended(shop.start(*words), 0).text
    assert "attempt 2 of 4" in shown
    assert shop.tasks == TASKS.replace("[ ]", "[x]")
    assert "- Learned in story 1 (story 1)\n- Learned in story 2 (story 2)\n" in shop.learned
    session = shop.saved()
    assert (session.status, session.agent) == ("completed", name)
    roles = [turn.role for turn in session.turns]
    assert roles == ["user", "assistant", "tool", "assistant"] * 3
    assert all(turn.id.startswith(f"{name}:") for turn in session.turns if turn.role != "user")
    assert "with this output:\n\nnot yet" in session.turns[4].content
    assert model.heard("with this output:\n\nnot yet")

"""A change worked through by the real Claude Code, against a model on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.integration_machine import Machine as Tools
from tests.support.loopback.model import Model
from tests.support.ralph_demo import PACKAGE, Demo, ended

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.real_tools

TASKS = "## 1. Program\n\n- [ ] 1.1 Use the TOOL\n\n## 2. Page\n\n- [ ] 2.1 Use the TOOL once more\n"
COMMAND = """$RALPHTOOL agent task done "$RALPH_STORY.1" && $RALPHTOOL agent learn "Learned in story $RALPH_STORY" """


class Workshop(Demo):
    """Where the tool is installed, and talks to the model beside it."""

    def __init__(self, root: Path, tools: Tools) -> None:
        self._tools = tools
        super().__init__(root)

    def environment(self, **more: str) -> dict[str, str]:
        ours = super().environment(**more)
        theirs = self._tools.environ
        return {**theirs, **ours, "HOME": theirs["HOME"], "PATH": theirs["PATH"], "PYTHONPATH": str(PACKAGE)}


def test_claude_works_through_a_change_with_a_verification_that_fails_once(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    with Model(COMMAND) as model:
        (tmp_path / "tools").mkdir()
        (tmp_path / "shop").mkdir()
        tools = Tools(tmp_path / "tools", request.config.getoption("--real-tools"), model, "claude")
        shop = Workshop(tmp_path / "shop", tools)
        (shop.change / "tasks.md").write_text(TASKS, encoding="utf-8")
        verify = "test -e tried || { touch tried; echo not yet; exit 1; }"
        words = ["run", "--change", "add-greeting", "--verify", verify, "--with", "claude --allowedTools Bash"]
        shown = ended(shop.start(*words), 0).text
    assert "attempt 2 of 4" in shown
    assert shop.tasks == TASKS.replace("[ ]", "[x]")
    assert "- Learned in story 1 (story 1)\n- Learned in story 2 (story 2)\n" in shop.learned
    session = shop.saved()
    assert (session.status, session.agent) == ("completed", "claude")
    assert [turn.role for turn in session.turns] == ["user", "assistant", "tool", "assistant"] * 3
    assert all(turn.id.startswith("claude:") for turn in session.turns if turn.role != "user")
    assert "and said:\n\nnot yet" in session.turns[4].content
    assert model.heard("and said:\n\nnot yet")

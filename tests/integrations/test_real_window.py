"""A session with more than a model can read reaches the model of a real tool in the order that providers demand."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import segue
from segue.integrations.format.outgoing import NO_RESULT
from tests.integrations.test_real_handover import SegueCli
from tests.support.integration_machine import Machine

if TYPE_CHECKING:
    from tests.support.loopback.model import Model

pytestmark = pytest.mark.real_tools

HOME = Path(__file__).resolve().parents[1] / "corpus" / "homes" / "claude-results-over-15k"
PROMPT = "What did we read before?"


@pytest.mark.parametrize("tool", ["claude", "codex"])
def test_no_call_is_interrupted_and_no_text_of_a_tool_is_the_users(
    tmp_path: Path, model: Model, request: pytest.FixtureRequest, tool: str
) -> None:
    machine = Machine(tmp_path, request.config.getoption("--real-tools"), model, tool)
    subprocess.run(["git", "init", "-q"], cwd=machine.project, check=True)
    shutil.copytree(HOME / ".claude" / "projects", machine.home / ".claude" / "projects")
    cli = SegueCli(machine)
    cli.run("import", "claude", "--all")
    (head,) = segue.open(cli.store).list()
    cli.run("add", head.id, "Thank you.")  # so that Claude Code needs a session of its own
    told = cli.run("resume", head.id, "--with", tool, said=PROMPT)
    assert "results are shortened" in told
    assert "marked as interrupted" not in told

    heard = model.heard(PROMPT)
    calls = [piece for piece in heard if piece.role == "call"]
    results = [piece for piece in heard if piece.role == "result"]
    assert len(calls) == len(results) >= 20
    assert not any(NO_RESULT in piece.text for piece in results)
    waiting = 0
    for piece in heard:
        waiting += {"call": 1, "result": -1}.get(piece.role, 0)
        assert waiting >= 0
        assert not waiting or piece.role in {"call", "result"}
    by_user = "\n".join(piece.text for piece in heard if piece.role == "user")
    assert not any(result.text[100:200] in by_user for result in results if len(result.text) > 200)

"""A session of one real tool continues in another, tool calls included, against a model on this machine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import segue
from tests.support.integration_machine import Machine

if TYPE_CHECKING:
    from tests.support.loopback.model import Model

pytestmark = pytest.mark.real_tools

CORPUS = Path(__file__).resolve().parents[1] / "corpus"
MODELS = {"gemini": "gemini-2.5-flash", "pi": "loopback/m"}
PROMPT = "What did we do before?"
EARLIER = [
    ("user", "Use a TOOL, please"),
    ("call", ""),
    ("result", "from-the-shell"),
    ("assistant", "You said: Use a TOOL, please"),
]
"""The turns in the tool where the session started."""


@pytest.mark.parametrize("agent", ["claude", "codex", "gemini/gemini-2.5-flash"])
def test_messages_that_a_tool_answers_as_an_agent_leave_no_entries_of_their_own(
    tmp_path: Path, model: Model, request: pytest.FixtureRequest, agent: str
) -> None:
    machine = Machine(tmp_path, request.config.getoption("--real-tools"), model, "claude")
    subprocess.run(["git", "init", "-q"], cwd=machine.project, check=True)
    cli = SegueCli(machine, store="")
    cli.run("chat", "--agent", agent, "--id", "talk", said="One\nTwo\n")
    assert [entry["id"] for entry in json.loads(cli.print("list", "--json"))] == ["talk"]


class SegueCli:
    """The command, on the machine of a tool."""

    def __init__(self, machine: Machine, store: str | None = None) -> None:
        self.machine = machine
        self.store = f"journal:{machine.home / 'sessions'}" if store is None else store

    def run(self, *words: str, said: str = "") -> str:
        return self._run(*words, said=said).stderr

    def print(self, *words: str) -> str:
        return self._run(*words).stdout

    def _run(self, *words: str, said: str = "") -> subprocess.CompletedProcess[str]:
        source = Path(segue.__file__).resolve().parents[1]
        environ = {**self.machine.environ, "PYTHONPATH": str(source), "SEGUE_STORE": self.store}
        command = [sys.executable, "-m", "segue", *words]
        done = subprocess.run(
            command, input=said, env=environ, cwd=self.machine.project, check=False, capture_output=True, text=True
        )
        assert done.returncode == 0, done
        return done

    def bring(self, tool: str) -> str:
        """A session of another tool, as that tool wrote it; its id here."""
        folders = {"claude": ".claude/projects/-tmp-corpus", "codex": ".codex/sessions/2026/11/15"}
        found = next(iter(sorted((CORPUS / tool).glob("tool*.jsonl"))))
        folder = self.machine.home / folders[tool]
        folder.mkdir(parents=True, exist_ok=True)
        own = "01a1df2c-2d86-7e70-bc93-0122e7838b23"
        names = {"claude": f"{own}.jsonl", "codex": f"rollout-2026-11-15T12-00-00-{own}.jsonl"}
        shutil.copyfile(found, folder / names[tool])
        os.utime(folder / names[tool], (1_700_000_000, 1_700_000_000))  # nobody is writing it
        self.run("import", tool, "--all")
        (head,) = segue.open(self.store).list()
        return head.id


@pytest.mark.parametrize(
    ("began", "tool"),
    [
        ("codex", "claude"),
        ("claude", "codex"),
        ("claude", "gemini"),
        ("codex", "opencode"),
        ("claude", "pi"),
        ("claude", "copilot"),
    ],
)
def test_what_was_said_elsewhere_reaches_the_model_in_order_and_what_follows_comes_back(
    tmp_path: Path, model: Model, request: pytest.FixtureRequest, began: str, tool: str
) -> None:
    # The command itself starts the tool: the machine is the same for all of them.
    machine = Machine(tmp_path, request.config.getoption("--real-tools"), model, "claude")
    subprocess.run(["git", "init", "-q"], cwd=machine.project, check=True)
    cli = SegueCli(machine)
    id = cli.bring(began)
    resume = ("resume", id, "--with", tool, *(("--model", MODELS[tool]) if tool in MODELS else ()))
    told = cli.run(*resume, said=PROMPT)
    assert f"handed over to {tool}, nothing lost" in told

    heard = model.heard(PROMPT)
    places = [
        next(at for at, piece in enumerate(heard) if piece.role == role and text in piece.text)
        for role, text in EARLIER
    ]
    assert places == sorted(places)
    assert sum(piece.role == "call" for piece in heard) == sum(piece.role == "result" for piece in heard) == 1

    after = [(turn.role, turn.content) for turn in segue.open(cli.store).load(id).turns]
    assert after[-2:] == [("user", PROMPT), ("assistant", f"You said: {PROMPT}")]
    told = cli.run(*resume, said="And once more?")
    assert f"{tool} continues its existing session" in told
    found = [(turn.role, turn.content) for turn in segue.open(cli.store).load(id).turns]
    assert found == [*after, ("user", "And once more?"), ("assistant", "You said: And once more?")]

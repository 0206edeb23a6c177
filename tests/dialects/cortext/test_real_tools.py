"""One conversation, held in turn in our chat and in the real Claude Code and Codex, against a model on this machine."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.support.integration_machine import Machine as Tools
from tests.support.loopback.model import Model, Use, last_words
from tests.support.workspace import Office

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.loopback.talk import Said

pytestmark = pytest.mark.real_tools


class Workshop(Office):
    """An office in which the real tools are installed, and talk to the model beside them."""

    def __init__(self, root: Path, tools: Tools) -> None:
        self._tools = tools
        super().__init__(root)

    def environment(self, **more: str) -> dict[str, str]:
        ours = super().environment(**more)
        path = f"{ours['PATH']}:{self._tools.environ['PATH']}"
        return {**self._tools.environ, **ours, "HOME": str(self._tools.home), "PATH": path}


@pytest.fixture
def model() -> Iterator[Model]:
    with Model() as found:
        yield found


@pytest.mark.parametrize("tool", ["claude", "codex"])
def test_all_turns_are_there_in_order_and_once_each(
    tmp_path: Path, model: Model, tool: str, request: pytest.FixtureRequest
) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "office").mkdir()
    tools = Tools(tmp_path / "tools", request.config.getoption("--real-tools"), model, tool)
    office = Workshop(tmp_path / "office", tools)
    office.run(f'cortext new brainstorm "API design" --agent {office.agent("REST is simpler.")}', "REST?", "/exit")
    told = office.run(f"cortext resume 001 --tool {tool}", "Said in the tool.")
    assert "You said: Said in the tool." in told.text
    heard = [said.text for said in model.heard("Said in the tool.")]
    places = [next(at for at, text in enumerate(heard) if words in text) for words in ("REST?", "REST is simpler.")]
    assert places == sorted(places)
    office.run("cortext resume 001", "Said in its own session.")
    office.run(f"cortext resume 001 --tool segue --agent {office.agent('Welcome back.')}", "Back in the chat.", "/exit")
    assert office.said() == [
        "REST?",
        "REST is simpler.",
        "Said in the tool.",
        "You said: Said in the tool.",
        "Said in its own session.",
        "You said: Said in its own session.",
        "Back in the chat.",
        "Welcome back.",
    ]
    assert [message["role"] for message in office.messages()] == ["user", "assistant"] * 4


# ── Slash commands ───────────────────────────────────────────────────────────────────────────────────────────────────

TALK = "REST or GraphQL?"
API = "*-api-design"


def obey(said: list[Said]) -> str | Use | None:
    """What a model does that follows our slash commands step by step."""
    words = last_words(said)
    after = max(at for at, one in enumerate(said) if one.role == "user" and one.text == words)
    results = [one.text for one in said[after:] if one.role == "result"]
    if "starts a conversation of the type brainstorm" in words:
        steps: list[str | Use] = [shell('cortext new brainstorm "API design" --tool claude --json'), "It has started."]
    elif "<wanted></wanted>" in words:
        titles = [f"{at}. {one['title']}" for at, one in enumerate(json.loads(results[0]), 1)] if results else []
        steps = [shell("cortext resume --list --limit 20 --json"), "\n".join(titles)]
    elif "resumes an earlier conversation" in words or words == "1":
        path = str(json.loads(results[0])["context_file"]) if results else ""
        steps = [shell('cortext resume "API" --tool claude --json'), Use("Read", {"file_path": path}), "Welcome back."]
    elif "pauses the current conversation" in words:
        steps = [shell('cortext stop --summary "We talked." --json'), "Session saved.\n\nConversation ..."]
    else:
        return None
    return steps[len(results)]


def shell(command: str) -> Use:
    return Use("Bash", {"command": command, "description": "As the slash command says"})


class Claude:
    """Claude Code without a terminal, in a workspace."""

    def __init__(self, root: Path, tools: str, model: Model) -> None:
        (root / "tools").mkdir()
        (root / "office").mkdir()
        model.act = obey
        self._program = f"{tools}/bin/claude"
        self.office = Workshop(root / "office", Tools(root / "tools", tools, model, "claude"))
        self.office.run("cortext init --tool claude")
        self._session = ""

    def say(self, words: str, *, is_new: bool = False) -> str:
        """Its answer, in a new session or in that of the last words."""
        resumed = () if is_new else ("--resume", self._session)
        done = subprocess.run(
            [self._program, *resumed, "--print", "--output-format=json", "--allowedTools=Bash(cortext:*)", "--", words],
            cwd=self.office.project,
            env=self.office.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
            timeout=120,
        )
        told = json.loads(done.stdout)
        self._session = told["session_id"]
        return str(told["result"])


def test_slash_commands_in_claude_resume_and_stop_the_conversation(
    tmp_path: Path, model: Model, request: pytest.FixtureRequest
) -> None:
    claude = Claude(tmp_path, request.config.getoption("--real-tools"), model)
    command = claude.office.project / ".claude" / "commands" / "workspace.brainstorm.md"
    text = command.read_text(encoding="utf-8").replace("You help somebody think", "You only ask")
    command.write_text(text, encoding="utf-8")
    claude.say("/workspace.brainstorm API design", is_new=True)
    assert any("You only ask about a topic" in one.text for one in model.asked[-1].said if one.role == "user")
    claude.say(TALK)
    assert claude.say("/workspace.stop-conversation").startswith("Session saved.")
    said = ["It has started.", TALK, f"You said: {TALK}"]
    outputs, files = [], []
    claude.office.run('cortext new plan "The release" --json')
    for number in range(3):
        if number == 1:
            assert claude.say("/workspace.resume", is_new=True).splitlines() == ["1. API design", "2. The release"]
        resumed = claude.say("1") if number == 1 else claude.say("/workspace.resume API", is_new=True)
        assert resumed == "Welcome back."
        output, file = [one.text for one in model.asked[-1].said if one.role == "result"][-2:]
        outputs.append(output)
        files.append(file)
        claude.say(f"Round {number}?")
        claude.say("/workspace.stop-conversation")
        said += ["Welcome back.", f"Round {number}?", f"You said: Round {number}?"]
    office = claude.office
    assert office.said(API) == said
    assert len({len(output) for output in outputs}) == 1
    assert office.session(API)["context_summary"] == "We talked."
    assert "You only ask about a topic" in outputs[-1]  # the command that was used
    assert TALK not in outputs[-1]
    assert files[-1].index("We talked.") < files[-1].index(TALK) < files[-1].index("Round 1?")
    assert files[-1].count(f"You said: {TALK}") == 1
    document = office.document(API).read_text(encoding="utf-8")
    assert "context_file" not in document
    assert "tool_call" not in document
    assert [line for line in document.splitlines() if line in said] == said
    assert not list((office.project / ".workspace" / "context").glob("*.md"))

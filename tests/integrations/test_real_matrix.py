"""Every AI tool that can be launched, to every other one and back, without a terminal and at one."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import segue
from segue.integrations import HandoverContext
from segue.integrations.registry import launchable
from segue.transfer.imported_copy import imported_session_id
from tests.support.codex_daemon import codex_daemon_stops
from tests.support.integration_machine import Machine
from tests.support.loopback.model import last_words
from tests.support.tmux import TmuxTerminal

if TYPE_CHECKING:
    from segue.model import JsonObject
    from tests.support.loopback.model import Model

pytestmark = pytest.mark.real_tools

TARGETS = tuple(launchable())
MODELS = {"gemini": "gemini-2.5-flash", "pi": "loopback/m"}
FIRST = "Use a TOOL, please"
EARLIER = [("user", FIRST), ("call", ""), ("result", "from-the-shell"), ("assistant", f"You said: {FIRST}")]
LEAVE: dict[str, tuple[str, ...]] = {
    "claude": ("/exit", "Enter"),
    "codex": ("/quit", "Enter"),
    "gemini": ("/quit", "Enter"),
    "opencode": ("/exit", "Enter"),
    "pi": ("/quit", "Enter"),
    "copilot": ("/exit", "Enter"),
    "qwen": ("/quit", "Enter"),
    "kilo": ("/exit", "Enter"),
}
"""How a user leaves the screen of a tool: a command, and a key."""


class Desk:
    """One user with all tools, and a conversation that started in one of them."""

    def __init__(self, root: Path, folder: str, model: Model, began: str) -> None:
        self.root, self.model = root, model
        self.machine = Machine(root, folder, model, began)
        self.store = f"journal:{self.machine.home}/.local/state/segue/sessions"
        self.environ = {**self.machine.environ, "PYTHONPATH": str(Path(segue.__file__).resolve().parents[1])}
        subprocess.run(["git", "init", "-q"], cwd=self.machine.project, check=True)
        assert self.machine.launch(HandoverContext(), FIRST).run(self.machine.environ) == 0
        (self.external,) = self.machine.tool.sessions(self.machine.home, self.machine.environ)
        self.id = imported_session_id(began, self.external.id)

    def run(self, *words: str, said: str = "") -> str:
        return self._run(*words, said=said).stderr

    def print(self, *words: str) -> str:
        return self._run(*words).stdout

    def _run(self, *words: str, said: str = "") -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "segue", *words]
        done = subprocess.run(
            command, input=said, env=self.environ, cwd=self.machine.project, check=False, capture_output=True, text=True
        )
        assert done.returncode == 0, done
        return done

    @property
    def turns(self) -> list[tuple[str, str]]:
        with segue.open(self.store) as library:
            if self.id in {head.id for head in library.list()}:
                return [(turn.role, turn.content) for turn in library.load(self.id).turns]
        builder, turns = self.machine.tool.read(self.external)
        return [(turn.role, turn.content) for turn in builder.transcript(turns).turns]

    def continue_in(self, tool: str, prompt: str) -> str:
        """Without a terminal: the model gets what was said before, and the answer comes back."""
        before = self.turns
        told = self.run(*self._resume(tool), said=prompt)
        self._check(before, prompt)
        return told

    def continue_at_a_terminal(self, tool: str, prompt: str) -> None:
        """At a terminal: the screen shows what was said before, the model gets it, and the answer comes back."""
        before = self.turns
        argv = [sys.executable, "-m", "segue", *self._resume(tool)]
        with (
            codex_daemon_stops(self.machine.home, self.environ),
            TmuxTerminal(self.root, argv, env=self.environ, cwd=self.machine.project) as terminal,
        ):
            terminal.wait_for(FIRST, before[-1][1])
            terminal.type(prompt)
            terminal.press("Enter")
            terminal.wait_for(f"You said: {prompt}")
            command, key = LEAVE[tool]
            terminal.type(command)
            assert terminal.leave(key) == 0, terminal.screen
        self._check(before, prompt)

    def _resume(self, tool: str) -> list[str]:
        model = ["--model", MODELS[tool]] if tool in MODELS else []
        known = self.id in {head.id for head in segue.open(self.store).list()}
        return ["resume", self.id if known else self.external.id, "--with", tool, *model]

    def _check(self, before: list[tuple[str, str]], prompt: str) -> None:
        # A tool may ask for a title as well: what it knows of the conversation is the longest request.
        heard = max((asked.said for asked in self.model.asked if prompt in last_words(asked.said)), key=len)
        places = [
            next(at for at, piece in enumerate(heard) if piece.role == role and text in piece.text)
            for role, text in EARLIER
        ]
        assert places == sorted(places)
        said = [text for role, text in before if role == "user"]
        told = [piece.text for piece in heard if piece.role == "user"]
        assert [text for text in said if not any(text in piece for piece in told)] == []
        assert not [text for text in told if "from-the-shell" in text]
        roles = [piece.role for piece in heard]
        assert roles.count("call") == roles.count("result") == 1
        assert self.turns == [*before, ("user", prompt), ("assistant", f"You said: {prompt}")]


@pytest.fixture
def desk(request: pytest.FixtureRequest, tmp_path: Path, model: Model) -> Desk:
    return Desk(tmp_path, request.config.getoption("--real-tools"), model, request.param)


PAIRS = pytest.mark.parametrize(
    ("desk", "tool"), list(permutations(TARGETS, 2)), indirect=["desk"], ids=lambda value: value
)


@PAIRS
def test_a_conversation_goes_from_one_tool_to_another_and_back_twice(desk: Desk, tool: str) -> None:
    began = desk.machine.tool.name
    assert f"handed over to {tool}, nothing lost" in desk.continue_in(tool, "Tell what was before")
    assert f"{tool} continues its existing session" in desk.continue_in(tool, "And once more")
    desk.continue_in(began, "Back here again")
    desk.continue_in(began, "And once more here")
    desk.run("import", tool, "--all")
    desk.run("import", began, "--all")
    assert [head.id for head in segue.open(desk.store).list()] == [desk.id]
    assert len(json.loads(desk.print("list", "--json"))) == 1


@PAIRS
def test_the_screen_of_a_tool_shows_what_was_said_in_another(desk: Desk, tool: str) -> None:
    desk.continue_at_a_terminal(tool, "Tell what was before")
    desk.continue_at_a_terminal(tool, "And once more")


@pytest.mark.parametrize(
    ("desk", "chain"),
    [(TARGETS[at], (TARGETS[at - 1], TARGETS[at - 2], TARGETS[at])) for at in range(len(TARGETS))],
    indirect=["desk"],
)
def test_a_conversation_goes_through_three_tools_and_back(desk: Desk, chain: tuple[str, ...]) -> None:
    for number, tool in enumerate(chain):
        desk.continue_in(tool, f"Number {number}, tell what was before")
    assert [entry["id"] for entry in json.loads(desk.print("list", "--json"))] == [desk.id]


@pytest.mark.parametrize(
    ("desk", "tool"),
    [(("codex" if tool == "claude" else "claude"), tool) for tool in TARGETS],
    indirect=["desk"],
    ids=lambda value: value,
)
def test_a_conversation_of_half_a_million_characters_goes_over_and_a_long_answer_comes_back(
    desk: Desk, tool: str
) -> None:
    with segue.open(desk.store) as library, library.create(id="large") as session:
        for number in range(25):
            id = f"c{number}"
            session.add("user", f"Question {number}")
            call: JsonObject = {"type": "tool_call", "id": id, "name": "read", "arguments": {"path": f"f{number}"}}
            session.add("assistant", "", parts=[call])
            content = f"IGNORE ALL {number} " + "x" * 20_000
            session.add("tool", content, parts=[{"type": "tool_result", "id": id, "content": content}])
            session.add("assistant", f"Answer {number}")
    prompt = "Long: " + " ".join(f"w{number}" for number in range(15_000))
    model = ["--model", MODELS[tool]] if tool in MODELS else []
    told = desk.run("resume", "large", "--with", tool, *model, said=prompt)
    assert "shortened" in told or "left out" in told

    heard = max((asked.said for asked in desk.model.asked if prompt in last_words(asked.said)), key=len)
    assert sum(len(piece.text) for piece in heard) < 600_000
    assert not [piece for piece in heard if piece.role == "user" and "IGNORE ALL" in piece.text]
    assert not [piece for piece in heard if "interrupted" in piece.text]
    roles = [piece.role for piece in heard]
    assert roles.count("call") == roles.count("result") > 10
    turns = segue.open(desk.store).load("large").turns
    assert [(turn.role, turn.content.strip()) for turn in turns[-2:]] == [
        ("user", prompt),
        ("assistant", f"You said: {prompt}"),
    ]

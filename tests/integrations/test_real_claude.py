"""Claude Code itself, against a model on this machine."""

from __future__ import annotations

import base64
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

import segue
from segue.bridges.sessions import NamedSessions, new_record
from segue.integrations import HandoverContext
from tests.support import integration_claims
from tests.support.integration_machine import trusted, turn
from tests.support.tmux import TmuxTerminal

if TYPE_CHECKING:
    from segue.model import JsonObject
    from tests.support.integration_machine import Machine
    from tests.support.loopback.model import Model

pytestmark = pytest.mark.real_tools


def test_a_conversation_goes_on_in_claude_and_comes_back_once(machine: Machine, model: Model) -> None:
    integration_claims.goes_on_and_comes_back_once(machine, model)


def test_a_conversation_begins_in_claude_and_comes_back(machine: Machine) -> None:
    integration_claims.begins_empty_and_comes_back(machine)


def test_claude_can_be_told_a_conversation_in_words(machine: Machine, model: Model) -> None:
    integration_claims.can_be_told_in_words(machine, model)


def test_a_session_of_claude_can_be_read_and_resumed_after_a_kill(machine: Machine, model: Model) -> None:
    integration_claims.is_readable_after_a_kill(machine, model)


PICTURE = "iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAF0lEQVR4nGP4z8BAEiJN9aiGUQ1DSgMAkPn/Afnh+ngAAAAASUVORK5CYII="
IMAGE: JsonObject = {"type": "image", "media_type": "image/png", "data": PICTURE}
LOOK: JsonObject = {"type": "tool_call", "id": "1", "name": "look", "arguments": {"at": "b.png"}}
FAIL: JsonObject = {"type": "tool_call", "id": "2", "name": "run", "arguments": {"what": "tests"}}
SEEN: JsonObject = {"type": "tool_result", "id": "1", "content": "16 by 16", "images": [IMAGE]}
FAILED: JsonObject = {"type": "tool_result", "id": "2", "content": "no such file", "is_error": True}
TURNS = (
    turn("user", "What is in this picture?", IMAGE),
    turn("assistant", "I compare it.", LOOK, FAIL),
    turn("tool", "", SEEN, FAILED),
    turn("assistant", "It is grey."),
)


def test_images_and_failed_calls_reach_the_model_as_such(machine: Machine, model: Model) -> None:
    assert machine.launch(HandoverContext(turns=TURNS), "And now?").run(machine.environ) == 0
    model.heard("And now?")
    messages = [message for asked in model.asked for message in asked.body["messages"]]  # type: ignore[attr-defined]  # a list
    blocks = [block for message in messages if isinstance(message["content"], list) for block in message["content"]]
    image = {"type": "base64", "media_type": "image/png", "data": PICTURE}
    assert any(block["type"] == "image" and block["source"] == image for block in blocks)
    results = [block for block in blocks if block["type"] == "tool_result"]
    assert any(part.get("source") == image for block in results for part in block["content"] if isinstance(part, dict))
    assert [block["content"] for block in results if block.get("is_error")] == ["no such file"]


def test_a_long_result_a_skill_and_attached_files_come_out_of_its_session(machine: Machine, model: Model) -> None:
    skill = machine.project / ".claude" / "skills" / "greet" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: greet\ndescription: Greets\n---\nGreet $ARGUMENTS warmly.\n", encoding="utf-8")
    (machine.project / "notes.txt").write_text("a secret word\n", encoding="utf-8")
    (machine.project / "folder").mkdir()
    (machine.project / "folder" / "inside.txt").touch()
    (machine.project / "grey.png").write_bytes(base64.b64decode(PICTURE))
    model.command = "seq 1 30000"
    launch = machine.launch(HandoverContext(), "TOOL, please")
    assert launch.run(machine.environ) == 0
    for prompt in ("/greet Bob", "Look at @notes.txt, @folder and @grey.png"):
        assert machine.resume(launch.native_id, prompt).run(machine.environ) == 0

    found = machine.read_back(launch)
    assert found.damages == ()
    (result,) = (turn for turn in found.turns if turn.role == "tool")
    assert result.content.split() == [str(number) for number in range(1, 30_001)]
    _, command, attached = (turn for turn in found.turns if turn.role == "user")
    typed, _, body = command.content.partition("\n\n")
    assert typed == "/greet Bob"
    assert body.endswith("Greet Bob warmly.")
    assert attached.content == "Look at @notes.txt, @folder and @grey.png"
    files = {Path(str(part["path"])).name: part["content"] for part in attached.parts if part["type"] == "file"}
    assert files == {"notes.txt": "a secret word\n", "folder": "inside.txt"}
    assert [part["data"] for part in attached.parts if part["type"] == "image"] == [PICTURE]


def test_at_a_terminal_the_earlier_turns_are_on_the_screen_and_a_rewound_one_is_a_branch(
    tmp_path: Path, machine: Machine
) -> None:
    for path, text in trusted(machine.project).items():
        (machine.home / path).write_text(text, encoding="utf-8")
    store = f"journal:{machine.home / 'sessions'}"
    library = segue.open(store)
    with library.create(agent="x", id="talk") as session:
        session.record(*(replace(turn, branch=session.branch) for turn in TURNS))
    environ = {**machine.environ, "PYTHONPATH": str(Path(segue.__file__).resolve().parents[1]), "SEGUE_STORE": store}
    command = [sys.executable, "-m", "segue", "resume", "talk", "--with", "claude"]

    def answered(terminal: TmuxTerminal, prompt: str) -> str:
        terminal.type(prompt)
        terminal.press("Enter")
        return terminal.wait_for(f"● You said: {prompt}")

    def leave(terminal: TmuxTerminal) -> str:
        terminal.type("/exit")
        assert terminal.leave("Enter") == 0
        return terminal.screen

    def said() -> list[str]:
        return [turn.content for turn in library.load("talk").turns if turn.role == "user"]

    with TmuxTerminal(tmp_path, command, env=environ, cwd=machine.project) as terminal:
        shown = terminal.wait_for("What is in this picture?", "● I compare it.", "● It is grey.", "auto mode")
        assert "could not be restored" not in shown
        answered(terminal, "first round")
        assert "imported 2 turns from claude" in leave(terminal)
    assert said() == ["What is in this picture?", "first round"]

    with TmuxTerminal(tmp_path, command, env=environ, cwd=machine.project) as terminal:
        terminal.wait_for("What is in this picture?", "● It is grey.", "● You said: first round", "auto mode")
        answered(terminal, "second round")
        terminal.press("Escape")
        terminal.press("Escape")
        terminal.wait_for("Restore the code and/or conversation", "second round No code changes")
        terminal.press("Up")
        terminal.press("Up")
        terminal.press("Enter")
        terminal.wait_for("│ first round", "1. Restore conversation")
        terminal.press("Enter")
        terminal.wait_for_absence("Restore conversation", "You said: first round")
        terminal.press("C-u")
        answered(terminal, "another round")
        assert "imported 4 turns from claude" in leave(terminal)
    assert said() == ["What is in this picture?", "another round"]
    (main,) = library.load("talk").branches.keys() - {library.load("talk").branch}
    rewound = [turn.content for turn in library.tail("talk", 4, branch=main) if turn.role == "user"]
    assert rewound == ["first round", "second round"]


def test_the_session_of_a_framework_goes_on_in_claude(machine: Machine, model: Model) -> None:
    store = f"journal:{machine.home / 'sessions'}"
    sessions = NamedSessions("langgraph", store)
    with sessions.writing("customer 7") as session:
        session.record(new_record("checkpoint", {"step": 1}, name="head"), *TURNS)
    environ = {**machine.environ, "PYTHONPATH": str(Path(segue.__file__).resolve().parents[1]), "SEGUE_STORE": store}
    command = [sys.executable, "-m", "segue", "resume", sessions.id_of("customer 7"), "--with", "claude"]
    subprocess.run(command, check=True, input=b"What went wrong?", env=environ, cwd=machine.project)
    assert any("It is grey." in text for _, text in model.heard("What went wrong?"))
    (overview,) = sessions.all()
    assert (overview.turn_count, overview.records["head"].data) == (len(TURNS) + 2, {"step": 1})

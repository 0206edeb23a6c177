"""Codex itself, against a model on this machine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import segue
from segue.integrations import HandoverContext, LaunchOptions
from tests.support import integration_claims
from tests.support.codex_daemon import codex_daemon_stops
from tests.support.integration_machine import turn
from tests.support.tmux import TmuxTerminal

if TYPE_CHECKING:
    from segue.model import JsonObject
    from tests.support.integration_machine import Machine
    from tests.support.loopback.model import Model

pytestmark = pytest.mark.real_tools


def test_a_conversation_goes_on_in_codex_and_comes_back_once(machine: Machine, model: Model) -> None:
    integration_claims.goes_on_and_comes_back_once(machine, model)


def test_a_conversation_begins_in_codex_and_comes_back(machine: Machine) -> None:
    integration_claims.begins_empty_and_comes_back(machine)


def test_codex_can_be_told_a_conversation_in_words(machine: Machine, model: Model) -> None:
    integration_claims.can_be_told_in_words(machine, model)


def test_a_session_of_codex_can_be_read_and_resumed_after_a_kill(machine: Machine, model: Model) -> None:
    integration_claims.is_readable_after_a_kill(machine, model)


# ── What the model gets ──────────────────────────────────────────────────────────────────────────────────────────────

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
IMAGE: JsonObject = {"type": "image", "media_type": "image/png", "data": PIXEL}


def test_failed_results_and_images_reach_the_model(machine: Machine, model: Model) -> None:
    call: JsonObject = {"type": "tool_call", "id": "1", "name": "look", "arguments": {"at": "it"}}
    look: JsonObject = {"type": "tool_call", "id": "2", "name": "look", "arguments": {"at": "this"}}
    failed: JsonObject = {"type": "tool_result", "id": "1", "content": "no such file", "is_error": True}
    seen: JsonObject = {"type": "tool_result", "id": "2", "content": "a dot", "images": [IMAGE]}
    context = HandoverContext(
        turns=(
            turn("user", "What is this?", IMAGE),
            turn("assistant", "", call, look),
            turn("tool", "no such file", failed),
            turn("tool", "a dot", seen),
            turn("assistant", "A dot."),
        )
    )
    assert machine.launch(context, "Sure?").run(machine.environ) == 0
    items = model.asked[-1].body["input"]
    assert isinstance(items, list)
    url = f"data:image/png;base64,{PIXEL}"
    (asked,) = (item for item in items if "What is this?" in str(item))
    assert [block.get("image_url") for block in asked["content"]] == [None, url]
    results = [item["output"] for item in items if item["type"] == "function_call_output"]
    assert results[0] == "[this call failed]\nno such file"
    assert [block.get("text") or block.get("image_url") for block in results[1]] == ["a dot", url]


# ── At a terminal ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def trusting(machine: Machine) -> Machine:
    """The machine of a user who has answered the questions that Codex asks in a new project."""
    settings = machine.home / ".codex" / "config.toml"
    asks_nothing = 'approval_policy = "never"\nsandbox_mode = "danger-full-access"\ndisable_paste_burst = true\n'
    settings.write_text(f"{asks_nothing}{settings.read_text(encoding='utf-8')}", encoding="utf-8")
    machine.environ["SEGUE_STORE"] = f"journal:{machine.home / 'sessions'}"
    machine.environ["PYTHONPATH"] = str(Path(segue.__file__).resolve().parents[1])
    return machine


@pytest.mark.parametrize("chooses", [False, True])
def test_codex_resumes_by_itself_what_was_handed_over(trusting: Machine, tmp_path: Path, *, chooses: bool) -> None:
    """By its id or from its own list, with the process in the background that all of its windows share."""
    said = (turn("user", "Why does login fail?"), turn("assistant", "The token expires."))
    launch = trusting.tool.launch(
        HandoverContext(turns=said), LaunchOptions(cwd=trusting.project, environ=trusting.environ)
    )
    argv = launch.argv[:-1] if chooses else launch.argv
    with (
        codex_daemon_stops(trusting.home, trusting.environ),
        TmuxTerminal(tmp_path, argv, env=trusting.environ, cwd=trusting.project) as terminal,
    ):
        if chooses:
            terminal.wait_for("Resume a previous session", "Why does login fail?")
            terminal.press("Enter")
        terminal.wait_for("Why does login fail?", "The token expires.", "Ask Codex")
        assert (trusting.home / ".codex" / "app-server-daemon" / "daemon.pid").exists()
        terminal.type("/quit")
        assert terminal.leave("Enter") == 0


def test_the_screen_of_codex_shows_the_conversation_and_can_rewind_it(trusting: Machine, tmp_path: Path) -> None:
    library = segue.open(trusting.environ["SEGUE_STORE"])
    with library.create(id="login", title="Login") as session:
        session.add("user", "Why does login fail?")
        call: JsonObject = {"type": "tool_call", "id": "1", "name": "grep", "arguments": {"words": "token"}}
        session.add("assistant", "Let me look.", parts=[call])
        result: JsonObject = {"type": "tool_result", "id": "1", "content": "token.py:7 expires"}
        session.add("tool", "token.py:7 expires", parts=[result])
        session.add("assistant", "The token expires too early.")
        session.add("user", "Which test shows it?")
        session.add("assistant", "None does.")

    segue_command = [sys.executable, "-m", "segue"]
    with (
        codex_daemon_stops(trusting.home, trusting.environ),
        TmuxTerminal(
            tmp_path,
            [*segue_command, "resume", "login", "--with", "codex"],
            env=trusting.environ,
            cwd=trusting.project,
        ) as terminal,
    ):
        terminal.wait_for(
            "Why does login fail?", "Let me look.", "grep", "token.py:7 expires", "None does.", "Ask Codex"
        )
        terminal.type("Please use a TOOL")
        terminal.press("Enter")
        terminal.wait_for("You said: Please use a TOOL")
        terminal.type("And then?")
        terminal.press("Enter")
        terminal.wait_for("You said: And then?", "Ask")
        terminal.press("Escape")
        terminal.press("Escape")
        terminal.wait_for("Browsing transcript")
        terminal.press("Left", "Left")
        terminal.press("Enter")
        terminal.wait_for("Conversation reverted", "Which test shows it?")
        terminal.type(" Name it.")
        terminal.press("Enter")
        terminal.wait_for("You said: Which test shows it? Name it.")
        terminal.type("/quit")
        assert terminal.leave("Enter") == 0
        assert "imported 8 turns from codex" in terminal.screen

    whole = library.load("login")
    paths = {name: [found.content for found in whole.path(name)] for name in whole.branches}
    assert whole.branch == "branch-2"
    assert paths["branch-2"] == [
        "Why does login fail?",
        "Let me look.",
        "token.py:7 expires",
        "The token expires too early.",
        "Which test shows it? Name it.",
        "You said: Which test shows it? Name it.",
    ]
    assert paths["main"][4:7] == ["Which test shows it?", "None does.", "Please use a TOOL"]
    assert paths["main"][-2:] == ["And then?", "You said: And then?"]
    again = subprocess.run(
        [*segue_command, "resume", "login", "--from", "codex"],
        env=trusting.environ,
        cwd=trusting.project,
        check=True,
        capture_output=True,
        text=True,
    )
    assert "no new turns in codex" in again.stderr

"""Gemini CLI itself, against a model on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from segue.integrations import HandoverContext, LaunchOptions
from segue.integrations.format.parts import call_part, image_part, result_part
from tests.support import integration_claims, terminal_claims
from tests.support.integration_machine import EARLIER, turn
from tests.support.tmux import TmuxTerminal

if TYPE_CHECKING:
    from segue.integrations import Launch
    from tests.support.integration_machine import Machine
    from tests.support.loopback.model import Model

pytestmark = pytest.mark.real_tools

IMAGE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SEEN = HandoverContext(
    turns=(
        turn("user", "Look at this.", image_part("image/png", IMAGE)),
        turn("assistant", "", call_part("1", "read", {"path": "a.png"}), call_part("2", "read", {"path": "b"})),
        turn("tool", "the picture", result_part("1", "the picture", images=[image_part("image/png", IMAGE)])),
        turn("tool", "no such file", result_part("2", "no such file", failed=True)),
        turn("assistant", "One is there."),
        turn("user", "/mycmd foo"),
        turn("assistant", "Done."),
    )
)


def test_a_conversation_goes_on_in_gemini_and_comes_back_once(machine: Machine, model: Model) -> None:
    integration_claims.goes_on_and_comes_back_once(machine, model)


def test_a_conversation_begins_in_gemini_and_comes_back(machine: Machine) -> None:
    integration_claims.begins_empty_and_comes_back(machine)


def test_gemini_can_be_told_a_conversation_in_words(machine: Machine, model: Model) -> None:
    integration_claims.can_be_told_in_words(machine, model)


def test_a_session_of_gemini_can_be_read_and_resumed_after_a_kill(machine: Machine, model: Model) -> None:
    integration_claims.is_readable_after_a_kill(machine, model)


def test_failed_results_images_and_commands_reach_the_model(machine: Machine, model: Model) -> None:
    assert machine.launch(SEEN, "And?").run(machine.environ) == 0
    contents = model.asked[-1].body["contents"]
    assert isinstance(contents, list)
    pieces = [piece for content in contents for piece in content["parts"]]
    asked = next(content["parts"] for content in contents if "Look at this." in str(content))
    assert [piece["inlineData"]["data"] for piece in asked if "inlineData" in piece] == [IMAGE]
    assert [piece["functionResponse"]["response"] for piece in pieces if "functionResponse" in piece] == [
        {"output": "the picture"},
        {"error": "no such file"},
    ]
    answers = next(content["parts"] for content in contents if "the picture" in str(content))
    assert [piece["inlineData"]["data"] for piece in answers if "inlineData" in piece] == [IMAGE]
    assert [text for piece in pieces if "/mycmd" in (text := piece.get("text", ""))] == ["\u2060/mycmd foo"]


def test_the_screen_of_gemini_shows_the_conversation_every_time_and_no_session_is_lost(
    machine: Machine, model: Model, tmp_path: Path
) -> None:
    options = LaunchOptions(cwd=machine.project, environ=machine.environ, model="gemini-2.5-flash")
    first = machine.tool.launch(EARLIER, options)
    said = ["-- Why does login fail?", "Let me look.", "too early."]
    say(machine, tmp_path, first, said, "Use a TOOL")
    found = machine.read_back(first)
    assert [turn.role for turn in found.turns] == ["user", "assistant", "tool", "assistant"]

    second = machine.tool.resume(found.native_id, options)
    assert second
    say(machine, tmp_path, second, [*said, "You said: Use a TOOL"], "And then")
    heard = model.heard("And then")
    assert [piece.role for piece in heard if "from-the-shell" in piece.text] == ["call", "result"]
    # Gemini has deleted the first session as it started; its second name keeps it.
    assert machine.read_back(first) == found
    back = machine.read_back(second)
    assert [turn.content for turn in back.turns] == ["And then", "You said: And then"]

    third = machine.tool.resume(back.native_id, options)
    assert third
    say(machine, tmp_path, third, [*said, "You said: Use a TOOL", "You said: And then"], "The end")
    assert [turn.content for turn in machine.read_back(third).turns] == ["The end", "You said: The end"]
    assert machine.read_back(second) == back
    sessions = machine.tool.sessions(machine.home, machine.environ)
    assert {session.id for session in sessions} >= {found.native_id, back.native_id}


def test_a_turn_of_ours_that_was_rewound_in_gemini_stays_and_the_rest_is_a_branch(
    machine: Machine, tmp_path: Path
) -> None:
    def go_back(terminal: TmuxTerminal) -> None:
        terminal.press("Escape", "Escape")
        terminal.wait_for("Rewind", "Stay at current position")
        terminal.press("Up", "Enter")
        terminal.wait_for("Rewind conversation")
        terminal.press("Enter")
        terminal.wait_for_absence("Thus.")
        terminal.press("C-u")

    terminal_claims.brings_back_what_was_said_instead_of_ours(
        machine,
        tmp_path,
        ready="Type your message",
        leave=("/quit", "Enter"),
        go_back=go_back,
        model="gemini-2.5-flash",
    )


def say(machine: Machine, folder: Path, launch: Launch, shown: list[str], words: str) -> None:
    argv = [*launch.argv, "--yolo"]
    with TmuxTerminal(folder, argv, env={**machine.environ, **launch.environ}, cwd=machine.project) as terminal:
        terminal.wait_for(*shown, "Type your message")
        terminal.type(words)
        terminal.press("Enter")
        terminal.wait_for(f"You said: {words}")
        terminal.type("/quit")
        terminal.leave("Enter")
    for path in launch.temporary:
        Path(path).unlink()

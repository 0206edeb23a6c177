"""Qwen Code itself, against a model on this machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from segue.integrations import HandoverContext, LaunchOptions
from segue.integrations.format.parts import call_part, image_part, result_part
from tests.support import integration_claims, terminal_claims
from tests.support.integration_machine import EARLIER, turn
from tests.support.tmux import TmuxTerminal

if TYPE_CHECKING:
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
    )
)


def test_a_conversation_goes_on_in_qwen_and_comes_back_once(machine: Machine, model: Model) -> None:
    integration_claims.goes_on_and_comes_back_once(machine, model)


def test_a_conversation_begins_in_qwen_and_comes_back(machine: Machine) -> None:
    integration_claims.begins_empty_and_comes_back(machine)


def test_qwen_can_be_told_a_conversation_in_words(machine: Machine, model: Model) -> None:
    integration_claims.can_be_told_in_words(machine, model)


def test_a_session_of_qwen_can_be_read_and_resumed_after_a_kill(machine: Machine, model: Model) -> None:
    integration_claims.is_readable_after_a_kill(machine, model)


def test_failed_results_and_images_reach_a_model_that_takes_them(machine: Machine, model: Model) -> None:
    options = LaunchOptions(
        cwd=machine.project, environ=machine.environ, prompt="And?", headless=True, model="qwen3-vl-plus"
    )
    launch = machine.tool.launch(SEEN, options)
    assert launch.run(machine.environ) == 0
    messages = next(asked.body["messages"] for asked in model.asked if "One is there." in str(asked.body))
    assert isinstance(messages, list)
    with_images = [message for message in messages if f"data:image/png;base64,{IMAGE}" in str(message)]
    assert "Look at this." in str(with_images[0])
    results = [str(message["content"]) for message in messages if message["role"] == "tool"]
    assert ("the picture" in results[0], "no such file" in results[1], len(with_images)) == (True, True, 2)
    stored = map(json.loads, Path(launch.written[0]).read_text(encoding="utf-8").splitlines())
    status = [record["toolCallResult"]["status"] for record in stored if record["type"] == "tool_result"]
    assert status == ["success", "error"]


def test_the_screen_of_qwen_shows_the_conversation_every_time(machine: Machine, tmp_path: Path) -> None:
    options = LaunchOptions(cwd=machine.project, environ=machine.environ)
    launch = machine.tool.launch(EARLIER, options)
    shown = ["-- Why does login fail?", "Let me look.", "x read", "no result: interrupted", "too early."]
    for words in ("And then", "The end"):
        with TmuxTerminal(tmp_path, launch.argv, env=machine.environ, cwd=machine.project) as terminal:
            terminal.wait_for(*shown, "Type your message")
            terminal.type(words)
            terminal.press("Enter")
            terminal.wait_for(f"You said: {words}")
            terminal.type("/quit")
            terminal.leave("Enter")
        shown.append(f"You said: {words}")
        assert [turn.content for turn in machine.read_back(launch).turns][-2:] == [words, f"You said: {words}"]
        resumed = machine.tool.resume(launch.native_id, options)
        assert resumed
        launch = resumed
    assert len(machine.read_back(launch).turns) == 4


def test_a_turn_of_ours_that_was_rewound_in_qwen_stays_and_the_rest_is_a_branch(
    machine: Machine, tmp_path: Path
) -> None:
    def go_back(terminal: TmuxTerminal) -> None:
        terminal.press("Escape")
        terminal.wait_for("Esc again to rewind")
        terminal.press("Escape")
        terminal.wait_for("Enter to select")
        terminal.press("Enter")
        terminal.wait_for("Rewind to: How?", "Restore conversation only")
        terminal.press("Enter")
        terminal.wait_for("Conversation rewound.")
        terminal.press("C-u")

    terminal_claims.brings_back_what_was_said_instead_of_ours(
        machine, tmp_path, ready="Type your message", leave=("/quit", "Enter"), go_back=go_back
    )

"""GitHub Copilot CLI itself, against a model on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from segue.integrations.format.outgoing import IMAGE_LEFT_OUT
from tests.support import integration_claims, terminal_claims
from tests.support.terminal_claims import say

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.integration_machine import Machine
    from tests.support.loopback.model import Model
    from tests.support.tmux import TmuxTerminal

pytestmark = pytest.mark.real_tools


def test_a_conversation_goes_on_in_copilot_and_comes_back_once(machine: Machine, model: Model) -> None:
    integration_claims.goes_on_and_comes_back_once(machine, model)


def test_a_conversation_begins_in_copilot_and_comes_back(machine: Machine) -> None:
    integration_claims.begins_empty_and_comes_back(machine)


def test_copilot_can_be_told_a_conversation_in_words(machine: Machine, model: Model) -> None:
    integration_claims.can_be_told_in_words(machine, model)


def test_a_session_of_copilot_can_be_read_and_resumed_after_a_kill(machine: Machine, model: Model) -> None:
    integration_claims.is_readable_after_a_kill(machine, model)


def test_copilot_shows_the_conversation_at_a_terminal(machine: Machine, model: Model, tmp_path: Path) -> None:
    terminal_claims.shows_and_continues_in_two_rounds(machine, model, tmp_path, ready="? help", leave=["C-c", "C-c"])


def test_what_was_rewound_in_copilot_comes_back_as_a_branch(machine: Machine, tmp_path: Path) -> None:
    def go_back(terminal: TmuxTerminal) -> None:
        say(terminal, "/rewind")
        terminal.wait_for("Rewind to a previous point", "Second? (")
        terminal.press("Down", "Enter")
        terminal.wait_for("Conversation only")
        terminal.press("Enter")
        terminal.wait_for("Rewound the conversation.")
        terminal.press("C-u")

    terminal_claims.brings_a_rewind_back_as_a_branch(
        machine, tmp_path, ready="? help", leave=("/exit", "Enter"), go_back=go_back
    )


def test_a_turn_of_ours_that_was_rewound_in_copilot_stays_and_the_rest_is_a_branch(
    machine: Machine, tmp_path: Path
) -> None:
    def go_back(terminal: TmuxTerminal) -> None:
        say(terminal, "/rewind")
        terminal.wait_for("Rewind to a previous point", "How? (")
        terminal.press("Enter")
        terminal.wait_for("Conversation only")
        terminal.press("Enter")
        terminal.wait_for("Rewound the conversation.")
        terminal.press("C-u")

    terminal_claims.brings_back_what_was_said_instead_of_ours(
        machine, tmp_path, ready="? help", leave=("/exit", "Enter"), go_back=go_back
    )


def test_failures_and_images_reach_the_model_of_copilot(machine: Machine, model: Model) -> None:
    machine.environ |= {"COPILOT_PROVIDER_TYPE": "anthropic", "COPILOT_PROVIDER_BASE_URL": model.url}
    results = terminal_claims.hands_over_failures_and_images(machine, model)
    assert [result["content"] for result in results] == ["no such file", f"a picture\n{IMAGE_LEFT_OUT}"]
    (session,) = machine.tool.sessions(machine.home, machine.environ)
    parts = [part for entry in machine.tool.read(session).turns for part in entry.turn.parts]
    failed = [part["content"] for part in parts if part.get("is_error")]
    assert failed == ["no such file"]  # it has the field, and does not send it

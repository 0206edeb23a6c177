"""pi itself, against a model on this machine."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.support import integration_claims, terminal_claims
from tests.support.terminal_claims import say

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.integration_machine import Machine
    from tests.support.loopback.model import Model
    from tests.support.tmux import TmuxTerminal

pytestmark = pytest.mark.real_tools


def test_a_conversation_goes_on_in_pi_and_comes_back_once(machine: Machine, model: Model) -> None:
    integration_claims.goes_on_and_comes_back_once(machine, model)


def test_a_conversation_begins_in_pi_and_comes_back(machine: Machine) -> None:
    integration_claims.begins_empty_and_comes_back(machine)


def test_pi_can_be_told_a_conversation_in_words(machine: Machine, model: Model) -> None:
    integration_claims.can_be_told_in_words(machine, model)


def test_a_session_of_pi_can_be_read_and_resumed_after_a_kill(machine: Machine, model: Model) -> None:
    integration_claims.is_readable_after_a_kill(machine, model)


def test_pi_shows_the_conversation_at_a_terminal(machine: Machine, model: Model, tmp_path: Path) -> None:
    terminal_claims.shows_and_continues_in_two_rounds(machine, model, tmp_path, ready="128k (auto)", leave=["C-d"])


def test_what_was_left_with_tree_in_pi_comes_back_as_a_branch(machine: Machine, tmp_path: Path) -> None:
    def go_back(terminal: TmuxTerminal) -> None:
        say(terminal, "/tree")
        terminal.wait_for("Session Tree", "user: First?")
        terminal.press("Up", "Up", "Up", "Enter")  # to what the user said first, which is then in the editor
        terminal.wait_for("Summarize branch?")
        terminal.press("Enter")
        terminal.wait_for("Navigated to selected point")
        terminal.press("C-u")

    terminal_claims.brings_a_rewind_back_as_a_branch(
        machine, tmp_path, ready="128k (auto)", leave=("/quit", "Enter"), go_back=go_back, model="loopback/m"
    )


def test_a_turn_of_ours_that_was_left_with_tree_in_pi_stays_and_the_rest_is_a_branch(
    machine: Machine, tmp_path: Path
) -> None:
    def go_back(terminal: TmuxTerminal) -> None:
        say(terminal, "/tree")
        terminal.wait_for("Session Tree", "user: How?")
        terminal.press("Up", "Enter")
        terminal.wait_for("Summarize branch?")
        terminal.press("Enter")
        terminal.wait_for("Navigated to selected point")
        terminal.press("C-u")

    terminal_claims.brings_back_what_was_said_instead_of_ours(
        machine, tmp_path, ready="128k (auto)", leave=("/quit", "Enter"), go_back=go_back, model="loopback/m"
    )


def test_failures_and_images_reach_the_model_of_pi(machine: Machine, model: Model) -> None:
    provider = {"baseUrl": model.url, "apiKey": "none", "api": "anthropic-messages"}
    models = {"providers": {"loopback": {**provider, "models": [{"id": "m", "input": ["text", "image"]}]}}}
    (machine.home / ".pi" / "agent" / "models.json").write_text(json.dumps(models), encoding="utf-8")
    results = terminal_claims.hands_over_failures_and_images(machine, model)
    assert [result.get("is_error", False) for result in results] == [True, False]

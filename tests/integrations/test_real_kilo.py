"""Kilo itself, against a model on this machine. A start of it takes long: each test shows several things."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integrations.test_real_handover import SegueCli
from tests.support import integration_claims, opencode_claims

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.integration_machine import Machine
    from tests.support.loopback.model import Model

pytestmark = pytest.mark.real_tools


def test_a_hand_over_starts_kilo_twice_and_long_answers_come_back(machine: Machine) -> None:
    opencode_claims.starts_twice_and_brings_everything_back(machine, SegueCli(machine).run)


def test_kilo_shows_the_earlier_turns_at_a_terminal(machine: Machine, tmp_path: Path) -> None:
    opencode_claims.shows_earlier_turns_at_a_terminal(machine, tmp_path)


def test_the_model_of_kilo_gets_images_and_failures(machine: Machine, model: Model) -> None:
    opencode_claims.carries_images_and_failures(machine, model)


def test_a_session_of_kilo_can_be_read_and_resumed_after_a_kill(machine: Machine, model: Model) -> None:
    integration_claims.is_readable_after_a_kill(machine, model)


def test_a_turn_of_ours_that_was_undone_in_kilo_stays_and_the_rest_is_a_branch(
    machine: Machine, tmp_path: Path
) -> None:
    opencode_claims.brings_back_what_was_said_instead_of_ours(machine, tmp_path)

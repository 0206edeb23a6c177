"""Qwen Code itself, against a model on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support import integration_claims

if TYPE_CHECKING:
    from tests.support.integration_machine import Machine
    from tests.support.loopback.model import Model

pytestmark = pytest.mark.real_tools


def test_a_conversation_goes_on_in_qwen_and_comes_back_once(machine: Machine, model: Model) -> None:
    integration_claims.goes_on_and_comes_back_once(machine, model)


def test_a_conversation_begins_in_qwen_and_comes_back(machine: Machine) -> None:
    integration_claims.begins_empty_and_comes_back(machine)


def test_qwen_can_be_told_a_conversation_in_words(machine: Machine, model: Model) -> None:
    integration_claims.can_be_told_in_words(machine, model)


def test_a_session_of_qwen_can_be_read_and_resumed_after_a_kill(machine: Machine, model: Model) -> None:
    integration_claims.is_readable_after_a_kill(machine, model)

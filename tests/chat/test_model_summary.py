"""Where a conversation stopped, as the agent tells it, and what is told where it cannot."""

from __future__ import annotations

import signal
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from segue.chat.agent import AgentError
from segue.chat.agents.command import CommandAgent
from segue.chat.agents.offline import OfflineAgent
from segue.chat.summary import LENGTH, SUMMARIZED_TURNS, is_model, summarize_with
from segue.model import Turn
from tests.support.scripted_agent import ScriptedAgent

if TYPE_CHECKING:
    from segue.chat.agent import Agent

OWN = "You asked: REST or GraphQL? Answer: REST is simpler."


def turn(role: str, content: str) -> Turn:
    when = datetime(2026, 1, 5, tzinfo=UTC)
    return Turn(role=role, content=content, timestamp=when, tokens=None, id=content[:10])


TURNS = (turn("user", "REST or GraphQL?"), turn("assistant", "REST is simpler."))


def test_a_model_is_asked_once_and_its_words_are_put_on_one_line() -> None:
    partner = ScriptedAgent(("We were exploring REST\n", "and GraphQL. "))
    assert summarize_with(partner, TURNS, model="small") == "We were exploring REST and GraphQL."
    (request,) = partner.requests
    assert request.model == "small"
    assert "[user]\nREST or GraphQL?\n\n[assistant]\nREST is simpler." in request.messages[0].content


def test_an_answer_without_end_is_stopped_and_cut_between_words() -> None:
    partner = ScriptedAgent(tuple("and so on " for _ in range(10_000)))
    told = summarize_with(partner, TURNS)
    assert len(told) <= LENGTH
    assert told.endswith("on…")
    assert partner.closed == 1


@pytest.mark.parametrize(
    "script",
    [(AgentError("no credit"),), ("Half of", AgentError("cut")), (" \n",), (KeyboardInterrupt(),), (ValueError(),)],
)
def test_whatever_goes_wrong_the_words_of_the_turns_are_told(script: tuple[str | BaseException, ...]) -> None:
    assert summarize_with(ScriptedAgent(script), TURNS) == OWN


def test_ctrl_c_is_enough_to_go_without() -> None:
    partner = ScriptedAgent(("Never said.",), when_asked=lambda: signal.raise_signal(signal.SIGINT))
    assert summarize_with(partner, TURNS) == OWN


def test_nothing_said_is_nothing_to_ask_about() -> None:
    partner = ScriptedAgent()
    assert summarize_with(partner, ()) == ""
    assert partner.requests == []


def test_only_the_last_turns_are_told_and_of_a_long_one_the_beginning_and_the_end() -> None:
    partner = ScriptedAgent(("Fine.",))
    many = [turn("user", f"question {number}") for number in range(100)]
    summarize_with(partner, [*many, turn("assistant", "begin" + "x" * 100_000 + "end")])
    content = partner.requests[0].messages[0].content
    assert "question 88\n" not in content
    assert content.count("[user]") == SUMMARIZED_TURNS - 1
    assert "begin" in content
    assert content.endswith("end")
    assert len(content) < 10_000


@pytest.mark.parametrize(
    ("agent", "answer"),
    [
        (OfflineAgent(), False),
        (CommandAgent(["cat"], environ={}), False),
        (CommandAgent(["claude", "-p"], environ={}), True),
        (ScriptedAgent(), True),
    ],
)
def test_rules_and_unknown_commands_are_no_models(agent: Agent, answer: object) -> None:
    assert is_model(agent) is answer

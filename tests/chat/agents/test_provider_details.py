"""What is particular to one provider: its keys, its errors, and the servers that only speak as it does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import TYPE_CHECKING

import pytest

from segue.chat.agent import AgentError, Message, Request, Usage
from segue.chat.agents.anthropic import AnthropicAgent
from segue.chat.agents.google import GoogleAgent
from segue.chat.agents.openai import OpenAIAgent
from segue.chat.agents.retry import RetryPolicy
from segue.errors import UsageError
from tests.support.providers import wires
from tests.support.providers.houses import HOUSES, QUESTION, text_of
from tests.support.providers.server import Reply, Server

if TYPE_CHECKING:
    from segue.model import JsonObject
    from tests.support.providers.houses import ProviderFixture

ANTHROPIC, OPENAI, GOOGLE = HOUSES
AT_ONCE = RetryPolicy(sleep=lambda _: None)


# ── Servers that speak like OpenAI ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("message", ["Unrecognized request argument supplied: stream_options", "bad request"])
def test_a_server_that_does_not_know_stream_options_answers_all_the_same(message: str) -> None:
    good = Reply(body=(wires.openai_begin(), wires.openai_text("Fine."), wires.openai_end(counted=False)))
    with Server([OPENAI.refuses("422 Unprocessable Entity", message), good]) as server:
        pieces = list(OPENAI.agent(server.url).answer(QUESTION))
        first, second = (asked.body for asked in server.asked)
    assert text_of(pieces) == "Fine."
    assert not any(isinstance(piece, Usage) for piece in pieces)
    assert "stream_options" in first
    assert "stream_options" not in second


def test_a_server_that_counts_in_every_chunk_is_believed_at_the_end() -> None:
    early = wires.openai_chunk([], usage={"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2})
    body = (wires.openai_begin(), early, wires.openai_text("Fine."), wires.openai_end())
    with Server([Reply(body=body)]) as server:
        assert list(OPENAI.agent(server.url).answer(QUESTION))[-1] == Usage(
            input_tokens=15, output_tokens=7, model="gpt-real-1"
        )


def test_a_server_named_in_the_spec_never_gets_the_key() -> None:
    with Server([OPENAI.answers("Fine.")]) as server:
        agent = OpenAIAgent("m", base_url=f"{server.url}/v1", environ={"OPENAI_API_KEY": "secret"}, patience=AT_ONCE)
        list(agent.answer(QUESTION))
        assert "secret" not in str(server.asked[0].headers)
        assert agent.name == f"openai/m@{server.url}/v1"


def test_a_server_that_wants_a_key_says_where_to_put_it() -> None:
    with Server([OPENAI.refuses("401 Unauthorized", "who are you?")]) as server:
        agent = OpenAIAgent("m", base_url=f"{server.url}/v1", environ={}, patience=AT_ONCE)
        with pytest.raises(AgentError) as caught:
            list(agent.answer(QUESTION))
    assert caught.value.hint == f"set OPENAI_BASE_URL={server_url(agent)} and OPENAI_API_KEY"


def server_url(agent: OpenAIAgent) -> str:
    return agent.name.partition("@")[2]


def test_ollama_needs_no_key_and_says_how_to_list_its_models() -> None:
    with Server([OPENAI.refuses("404 Not Found", 'model "qwen" not found, try pulling it first')]) as server:
        agent = OpenAIAgent("qwen", base_url=f"{server.url}/v1", kind="ollama", environ={}, patience=AT_ONCE)
        with pytest.raises(AgentError, match="has no model 'qwen'") as caught:
            list(agent.answer(QUESTION))
    assert "ollama list" in caught.value.hint
    assert OpenAIAgent("qwen", kind="ollama", environ={}).name == "ollama/qwen"


def test_a_server_of_ones_own_wants_to_be_told_which_model() -> None:
    with pytest.raises(UsageError, match="which model"):
        OpenAIAgent(base_url="http://localhost:8080/v1", environ={})


def test_an_account_without_credit_is_not_asked_again() -> None:
    body = {
        "error": {"message": "You have no credit left.", "type": "insufficient_quota", "code": "insufficient_quota"}
    }
    with Server([wires.refusal("429 Too Many Requests", body)]) as server:
        with pytest.raises(AgentError, match="no credit") as caught:
            list(OPENAI.agent(server.url).answer(QUESTION))
        assert len(server.asked) == 1
    assert not caught.value.can_retry


def test_an_error_within_the_stream_of_openai_is_told() -> None:
    error = wires.event({"error": {"message": "the engine stalled", "type": "server_error"}})
    with (
        Server([Reply(body=(wires.openai_begin(), wires.openai_text("Half"), error))]) as server,
        pytest.raises(AgentError, match="broke off half-way: the engine stalled"),
    ):
        list(OPENAI.agent(server.url).answer(QUESTION))


# ── Anthropic ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_overload_within_the_stream_is_waited_out_before_the_first_word() -> None:
    error = wires.anthropic_event(type="error", error={"type": "overloaded_error", "message": "Overloaded"})
    with Server([Reply(body=(error,)), ANTHROPIC.answers("Now.")]) as server:
        assert text_of(list(ANTHROPIC.agent(server.url).answer(QUESTION))) == "Now."


def test_an_overload_within_the_stream_is_told_after_it() -> None:
    error = wires.anthropic_event(type="error", error={"type": "overloaded_error", "message": "Overloaded"})
    body = (wires.anthropic_begin(), wires.anthropic_text("Half"), error)
    with Server([Reply(body=body)]) as server, pytest.raises(AgentError, match="broke off half-way: Overloaded"):
        list(ANTHROPIC.agent(server.url).answer(QUESTION))


def test_thinking_is_not_shown() -> None:
    thought = wires.anthropic_event(
        type="content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": "Hm."}
    )
    body = (wires.anthropic_begin(), thought, wires.anthropic_text("Fine."), wires.anthropic_end())
    with Server([Reply(body=body)]) as server:
        assert text_of(list(ANTHROPIC.agent(server.url).answer(QUESTION))) == "Fine."


def test_a_token_takes_the_place_of_a_key() -> None:
    with Server([ANTHROPIC.answers("Fine.")]) as server:
        environ = {"ANTHROPIC_AUTH_TOKEN": "t", "ANTHROPIC_BASE_URL": server.url}
        list(AnthropicAgent(environ=environ, patience=AT_ONCE).answer(QUESTION))
        assert server.asked[0].headers["authorization"] == "Bearer t"


def test_a_balance_that_is_used_up_is_no_credit() -> None:
    message = "Your credit balance is too low to access the Anthropic API."
    with (
        Server([ANTHROPIC.refuses("400 Bad Request", message)]) as server,
        pytest.raises(AgentError, match="no credit"),
    ):
        list(ANTHROPIC.agent(server.url).answer(QUESTION))


# ── Google ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_delay_that_google_puts_in_the_body_is_kept() -> None:
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "12s"}]
    body = {"error": {"code": 429, "message": "quota", "status": "RESOURCE_EXHAUSTED", "details": details}}
    paused: list[float] = []
    with Server([wires.refusal("429 Too Many Requests", body), GOOGLE.answers("Now.")]) as server:
        list(GOOGLE.new(server.url, RetryPolicy(sleep=paused.append)).answer(QUESTION))
    assert paused == [12.0]


def test_a_question_that_google_blocks_is_no_answer() -> None:
    blocked = wires.event({"promptFeedback": {"blockReason": "SAFETY"}})
    with Server([Reply(body=(blocked,))]) as server, pytest.raises(AgentError, match=r"gave no answer \(SAFETY\)"):
        list(GOOGLE.agent(server.url).answer(QUESTION))


def test_the_other_variable_holds_the_key_as_well() -> None:
    with Server([GOOGLE.answers("Fine.")]) as server:
        environ = {"GOOGLE_API_KEY": "g", "GOOGLE_GEMINI_BASE_URL": server.url}
        list(GoogleAgent(environ=environ, patience=AT_ONCE).answer(QUESTION))
        assert server.asked[0].headers["x-goog-api-key"] == "g"


# ── All ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_pause_until_a_moment_is_understood() -> None:
    moment = format_datetime(datetime.now(UTC) + timedelta(hours=2), usegmt=True)
    with (
        Server([OPENAI.refuses("503 Service Unavailable", "maintenance", ("Retry-After", moment))]) as server,
        pytest.raises(AgentError) as caught,
    ):
        list(OPENAI.agent(server.url).answer(QUESTION))
    assert caught.value.hint.startswith("try again in 1")


def test_the_sdk_can_be_loaded_ahead() -> None:
    agent = AnthropicAgent(environ={"ANTHROPIC_API_KEY": "k"})
    agent.prepare()
    agent.prepare()
    assert agent.name == "anthropic/claude-sonnet-5-5"


@pytest.mark.parametrize("house", HOUSES, ids=lambda house: house.name)
def test_text_that_no_encoding_takes_is_sent_with_a_mark_in_its_place(house: ProviderFixture) -> None:
    call: JsonObject = {"type": "tool_call", "id": "1", "name": "read", "arguments": {"path": "p\ud800"}}
    result: JsonObject = {"type": "tool_result", "id": "1", "content": "r\udfff"}
    request = Request(
        system="s\ud800",
        messages=(
            Message(role="assistant", content="", parts=(call,)),
            Message(role="tool", content="", parts=(result,)),
            Message(role="user", content="u\ud800\0"),
        ),
    )
    with Server([house.answers("Fine.")]) as server:
        assert text_of(list(house.agent(server.url).answer(request))) == "Fine."
        sent = str(server.asked[0].body)
    assert all(f"{letter}\ufffd" in sent for letter in "spru")

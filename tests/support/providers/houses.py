"""The three providers side by side: how each is asked here, and how each answers and refuses on the wire."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from segue.chat.agent import Message, Request, TextDelta
from segue.chat.agents.anthropic import AnthropicAgent
from segue.chat.agents.google import GoogleAgent
from segue.chat.agents.openai import OpenAIAgent
from segue.chat.agents.retry import RetryPolicy
from tests.support.providers import wires
from tests.support.providers.server import Reply

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from segue.chat.agent import Agent, Piece


class ProviderFixture(NamedTuple):
    name: str
    new: Callable[[str, RetryPolicy], Agent]
    begin: Callable[[], bytes]
    text: Callable[[str], bytes]
    end: Callable[[str], bytes]
    call: Callable[[int, str, str], bytes]
    """A call with this number, of this tool, with these arguments."""
    good: str
    """The word for an answer that is whole."""
    wants: str
    """The word for an answer that wants something done."""
    full: str
    """The word for an answer that reached its limit."""
    refusal: Callable[[int, str], object]
    """The body of a refusal with this status and message."""
    model: str
    """Which model answers in the end."""
    no_model: tuple[str, str]
    """Status and message when there is no such model."""
    bad_key: tuple[str, str]
    too_long: str

    def agent(self, url: str, **patience: float) -> Agent:
        """One that does not wait between attempts."""
        return self.new(url, RetryPolicy(**{"timeout_seconds": 20.0, "sleep": lambda _: None, **patience}))  # type: ignore[arg-type]

    def answers(self, *words: str, reason: str = "") -> Reply:
        return wires.stream(self.begin, self.text, self.end(reason or self.good), words)

    def calls(self, *made: tuple[str, Mapping[str, object]], words: str = "", reason: str = "") -> Reply:
        """An answer that wants these things done."""
        calls = [self.call(number, name, json.dumps(given)) for number, (name, given) in enumerate(made, start=1)]
        said = [self.text(words)] if words else []
        return Reply(body=(self.begin(), *said, *calls, self.end(reason or self.wants)))

    def refuses(self, status: str, message: str, *headers: tuple[str, str]) -> Reply:
        return wires.refusal(status, self.refusal(int(status[:3]), message), *headers)


def _anthropic(url: str, patience: RetryPolicy) -> Agent:
    return AnthropicAgent("claude-x", environ={"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": url}, patience=patience)


def _openai(url: str, patience: RetryPolicy) -> Agent:
    environ = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": f"{url}/v1"}
    return OpenAIAgent("gpt-x", environ=environ, patience=patience)


def _google(url: str, patience: RetryPolicy) -> Agent:
    return GoogleAgent("gemini-x", environ={"GEMINI_API_KEY": "k", "GOOGLE_GEMINI_BASE_URL": url}, patience=patience)


HOUSES = (
    ProviderFixture(
        name="anthropic",
        new=_anthropic,
        begin=wires.anthropic_begin,
        text=wires.anthropic_text,
        end=wires.anthropic_end,
        call=wires.anthropic_call,
        good="end_turn",
        wants="tool_use",
        full="max_tokens",
        refusal=lambda _, message: {"type": "error", "error": {"type": "some_error", "message": message}},
        model="claude-real-1",
        no_model=("404 Not Found", "model: claude-x"),
        bad_key=("401 Unauthorized", "invalid x-api-key"),
        too_long="prompt is too long: 210000 tokens > 200000 maximum",
    ),
    ProviderFixture(
        name="openai",
        new=_openai,
        begin=wires.openai_begin,
        text=wires.openai_text,
        end=wires.openai_end,
        call=wires.openai_call,
        good="stop",
        wants="tool_calls",
        full="length",
        refusal=lambda _, message: {"error": {"message": message, "type": "some_error", "param": None, "code": None}},
        model="gpt-real-1",
        no_model=("404 Not Found", "The model `gpt-x` does not exist or you do not have access to it."),
        bad_key=("401 Unauthorized", "Incorrect API key provided: k."),
        too_long="This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.",
    ),
    ProviderFixture(
        name="google",
        new=_google,
        begin=wires.google_begin,
        text=wires.google_text,
        end=wires.google_end,
        call=wires.google_call,
        good="STOP",
        wants="STOP",
        full="MAX_TOKENS",
        refusal=lambda status, message: {"error": {"code": status, "message": message, "status": "SOME_STATUS"}},
        model="gemini-real-1",
        no_model=("404 Not Found", "models/gemini-x is not found for API version v1beta"),
        bad_key=("400 Bad Request", "API key not valid. Please pass a valid API key."),
        too_long="The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    ),
)

QUESTION = Request(system="Be brief.", messages=(Message(role="user", content="Why does login fail?"),))


def text_of(pieces: list[Piece]) -> str:
    return "".join(piece.text for piece in pieces if isinstance(piece, TextDelta))

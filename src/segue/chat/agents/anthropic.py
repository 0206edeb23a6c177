"""Claude, through Anthropic's SDK (`segue[anthropic]`)."""

from __future__ import annotations

from contextlib import closing
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, cast

from segue.chat.agent import AgentError, TextDelta, Usage
from segue.chat.agents.messages import Calls, ProviderTurn, Result, called_names, sendable_text, take_turns
from segue.chat.agents.provider_errors import CutOffError, Provider
from segue.chat.agents.retry import RetryPolicy, with_retries
from segue.errors import MissingExtraError, UsageError
from segue.tools import ToolCall

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping

    from anthropic import Anthropic
    from anthropic.types import MessageParam

    from segue.chat.agent import Piece, Request
    from segue.model import JsonObject

KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
ADDRESS = "https://api.anthropic.com"
MODEL = "claude-sonnet-5-5"
SHORT_NAMES = {
    "sonnet": MODEL,
    "opus": "claude-opus-5-5",
    "haiku": "claude-haiku-5-5",
    "fable": "claude-fable-5-2",
}
"""As presets name them."""
ANSWER_TOKENS = 32_000
"""The limit of an answer, thinking included; this API requires one, and all current models allow it."""

_STOPS = {
    "max_tokens": f"[The answer ends here: it reached {ANSWER_TOKENS} tokens.]",
    "model_context_window_exceeded": "[The answer ends here: the context of the model is full.]",
    "refusal": "[The answer ends here: the model declined to continue.]",
}


class AnthropicAgent:
    """One model of Anthropic's."""

    def __init__(self, model: str = "", *, environ: Mapping[str, str], patience: RetryPolicy | None = None) -> None:
        if not is_installed():
            raise MissingExtraError("the SDK of Anthropic", extra="anthropic")
        if not any(environ.get(name) for name in KEYS):
            raise UsageError("there is no key for Anthropic", hint=f"set {KEYS[0]}, or choose another agent")
        self._model = _full_name(model) or MODEL
        self._environ = environ
        self._patience = patience or RetryPolicy()
        self._address = environ.get("ANTHROPIC_BASE_URL") or ADDRESS

    @property
    def name(self) -> str:
        return f"anthropic/{self._model}"

    def prepare(self) -> None:
        """Load the SDK, which takes a second, before the first question does."""
        _ = self._client

    def answer(self, request: Request) -> Iterator[Piece]:
        model = _full_name(request.model) or self._model
        provider = Provider(
            title="Anthropic",
            address=self._address,
            key_advice=f"check {KEYS[0]}",
            models_advice=f"{self._address}/v1/models lists them; {MODEL} is the default here",
        )
        return with_retries(
            lambda optional: self._stream(request, model, optional),
            provider=provider,
            model=model,
            patience=self._patience,
            optional={} if request.temperature is None else {"temperature": request.temperature},
        )

    @cached_property
    def _client(self) -> Anthropic:
        from anthropic import Anthropic, Timeout

        key = self._environ.get(KEYS[0])
        return Anthropic(
            api_key=key,
            auth_token=None if key else self._environ.get(KEYS[1]),
            base_url=self._address,
            max_retries=0,
            timeout=Timeout(self._patience.timeout_seconds, connect=self._patience.connect_seconds),
            # Users think longer than a connection stays open, so none is kept open.
            default_headers={"Connection": "close"},
        )

    def _stream(self, request: Request, model: str, optional: Mapping[str, object]) -> Generator[Piece, None, None]:
        turns = take_turns(request.messages)
        events = self._client.messages.create(
            model=model,
            max_tokens=ANSWER_TOKENS,
            messages=cast("Iterable[MessageParam]", [_message(turn) for turn in turns]),
            extra_body=_body(request, turns, optional),
            stream=True,
        )
        input_tokens = output_tokens = 0
        stop: str | None = None
        shown = False
        calls = Calls()
        with closing(events):
            for event in events:
                match event.type:
                    case "message_start":
                        model = event.message.model
                        used = event.message.usage
                        input_tokens = (
                            used.input_tokens
                            + (used.cache_read_input_tokens or 0)
                            + (used.cache_creation_input_tokens or 0)
                        )
                    case "content_block_delta" if event.delta.type == "text_delta" and event.delta.text:
                        shown = True
                        yield TextDelta(event.delta.text)
                    case "content_block_start" if event.content_block.type == "tool_use":
                        calls.add(event.index, id=event.content_block.id, name=event.content_block.name)
                    case "content_block_delta" if event.delta.type == "input_json_delta":
                        calls.add(event.index, arguments=event.delta.partial_json)
                    case "message_delta":
                        stop = event.delta.stop_reason or stop
                        output_tokens = event.usage.output_tokens
        if stop is None:
            raise CutOffError("the stream ended too early")
        if stop in _STOPS:
            if not shown:
                raise AgentError(f"{model} gave no answer ({stop})", hint="rephrase the message, or use another model")
            yield TextDelta(f"\n\n{_STOPS[stop]}")
        else:
            yield from calls
        yield Usage(input_tokens=input_tokens, output_tokens=output_tokens, model=model)


def is_installed() -> bool:
    return find_spec("anthropic") is not None


def _full_name(model: str) -> str:
    name = model.removeprefix("anthropic/")
    return SHORT_NAMES.get(name, name)


def _body(request: Request, turns: Iterable[ProviderTurn], optional: Mapping[str, object]) -> JsonObject:
    body: JsonObject = dict(optional)
    if request.system:
        body["system"] = sendable_text(request.system)
    tools: dict[str, JsonObject] = {
        offer.name: {"name": offer.name, "description": offer.description, "input_schema": offer.parameters}
        for offer in request.tools
    }
    # Calls in the history are accepted only together with the tools they call.
    for name in called_names(turns):
        tools.setdefault(name, {"name": name, "input_schema": {"type": "object"}})
    if tools:
        body["tools"] = list(tools.values())
    if tools and not request.tools:
        body["tool_choice"] = {"type": "none"}
    return body


def _message(turn: ProviderTurn) -> JsonObject:
    content: list[JsonObject] = []
    for block in turn.blocks:
        match block:
            case TextDelta():
                content.append({"type": "text", "text": block.text})
            case ToolCall():
                content.append({"type": "tool_use", "id": block.id, "name": block.name, "input": block.arguments})
            case Result():
                result: JsonObject = {"type": "tool_result", "tool_use_id": block.id, "content": block.content}
                content.append(result | ({"is_error": True} if block.is_error else {}))
    return {"role": turn.role, "content": content}

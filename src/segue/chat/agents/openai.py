"""The models of OpenAI, and every server that speaks as it does: Ollama, llama.cpp, vLLM (`segue[openai]`).

The chat completions are used, and not the newer interface of OpenAI alone, because all of them have these.
"""

from __future__ import annotations

from contextlib import closing
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, cast

import msgspec
from msgspec import to_builtins

from segue.chat.agent import AgentError, TextDelta, Usage
from segue.chat.agents.messages import Calls, ProviderTurn, Result, sendable_text, take_turns
from segue.chat.agents.provider_errors import CutOffError, Provider
from segue.chat.agents.retry import RetryPolicy, with_retries
from segue.errors import MissingExtraError, UsageError
from segue.tools import ToolCall

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping

    from openai import OpenAI
    from openai.types import CompletionUsage
    from openai.types.chat import ChatCompletionMessageParam

    from segue.chat.agent import Piece, Request
    from segue.model import JsonObject

KEYS = ("OPENAI_API_KEY",)
ADDRESS = "https://api.openai.com/v1"
MODEL = "gpt-6.1-sol"
OLLAMA_ADDRESS = "http://localhost:11434/v1"

_STOPS = {
    "length": "[The answer ends here: it reached the limit of tokens.]",
    "content_filter": "[The answer ends here: a content filter stopped it.]",
}


class OpenAIAgent:
    """One model, at OpenAI or at the `base_url` of another server.

    The key goes to OpenAI, and to the server that `OPENAI_BASE_URL` names; a `base_url` from elsewhere never
    gets it.
    """

    def __init__(
        self,
        model: str = "",
        *,
        base_url: str = "",
        kind: str = "openai",
        environ: Mapping[str, str],
        patience: RetryPolicy | None = None,
    ) -> None:
        if not is_installed():
            raise MissingExtraError("the SDK of OpenAI", extra="openai")
        chosen = environ.get("OPENAI_BASE_URL") or ADDRESS
        if kind == "ollama":
            base_url = base_url or OLLAMA_ADDRESS
        self._address = (base_url or chosen).rstrip("/")
        self._is_own = self._address == ADDRESS
        self._key = environ.get(KEYS[0], "") if self._address == chosen.rstrip("/") else ""
        if self._is_own and not self._key:
            raise UsageError("there is no key for OpenAI", hint=f"set {KEYS[0]}, or choose another agent")
        if not self._is_own and not model:
            raise UsageError(
                f"which model of {self._address}?", hint=f"name it as {kind}/MODEL; {self._models_advice(kind)}"
            )
        self._model = model or MODEL
        self._kind = kind
        self._patience = patience or RetryPolicy()

    @property
    def name(self) -> str:
        is_known = self._is_own or self._address == OLLAMA_ADDRESS
        return f"{self._kind}/{self._model}" + ("" if is_known else f"@{self._address}")

    def prepare(self) -> None:
        """Load the SDK before the first question does."""
        _ = self._client

    def answer(self, request: Request) -> Iterator[Piece]:
        model = request.model.removeprefix(f"{self._kind}/") or self._model
        key_advice = f"check {KEYS[0]}" if self._is_own else f"set OPENAI_BASE_URL={self._address} and {KEYS[0]}"
        provider = Provider(
            title="OpenAI" if self._is_own else self._address,
            address=self._address,
            key_advice=key_advice,
            models_advice=self._models_advice(self._kind),
        )
        optional: dict[str, object] = {"stream_options": {"include_usage": True}}
        if request.temperature is not None:
            optional["temperature"] = request.temperature
        return with_retries(
            lambda fields: self._stream(request, model, fields),
            provider=provider,
            model=model,
            patience=self._patience,
            optional=optional,
        )

    def _models_advice(self, kind: str) -> str:
        if kind == "ollama":
            return "ollama list shows what is there, ollama pull MODEL fetches another"
        return f"{self._address}/models lists them"

    @cached_property
    def _client(self) -> OpenAI:
        from openai import OpenAI, Timeout

        return OpenAI(
            api_key=self._key or "none",  # the SDK wants one; servers without keys ignore it
            base_url=self._address,
            max_retries=0,
            timeout=Timeout(self._patience.timeout_seconds, connect=self._patience.connect_seconds),
            # Users think longer than a connection stays open, so none is kept open.
            default_headers={"Connection": "close"},
        )

    def _stream(self, request: Request, model: str, optional: Mapping[str, object]) -> Generator[Piece, None, None]:
        messages = [message for turn in take_turns(request.messages) for message in _messages(turn)]
        if request.system:
            messages.insert(0, {"role": "system", "content": sendable_text(request.system)})
        fields = dict(optional)
        if request.tools:
            fields["tools"] = [{"type": "function", "function": to_builtins(offer)} for offer in request.tools]
        chunks = self._client.chat.completions.create(
            model=model,
            messages=cast("Iterable[ChatCompletionMessageParam]", messages),
            extra_body=fields,
            stream=True,
        )
        usage: CompletionUsage | None = None
        stop: str | None = None
        shown = False
        calls = Calls()
        with closing(chunks):
            for chunk in chunks:
                model = chunk.model or model
                usage = chunk.usage or usage
                for choice in chunk.choices or ():
                    stop = choice.finish_reason or stop
                    if text := choice.delta.content or choice.delta.refusal:
                        shown = True
                        yield TextDelta(text)
                    for made in choice.delta.tool_calls or ():
                        function = made.function
                        name, given = (function.name, function.arguments) if function is not None else (None, None)
                        calls.add(made.index, id=made.id, name=name, arguments=given)
        if stop is None:
            raise CutOffError("the stream ended too early")
        if stop in _STOPS:
            if not shown:
                raise AgentError(f"{model} gave no answer ({stop})", hint="rephrase the message, or use another model")
            yield TextDelta(f"\n\n{_STOPS[stop]}")
        else:
            yield from calls
        if usage is not None:
            yield Usage(input_tokens=usage.prompt_tokens, output_tokens=usage.completion_tokens, model=model)


def is_installed() -> bool:
    return find_spec("openai") is not None


def _messages(turn: ProviderTurn) -> Iterator[JsonObject]:
    """Each result is a message of its own here, and calls hang on the message of the assistant."""
    for block in turn.blocks:
        if isinstance(block, Result):
            yield {"role": "tool", "tool_call_id": block.id, "content": block.content}
    text = "\n\n".join(block.text for block in turn.blocks if isinstance(block, TextDelta))
    calls: list[JsonObject] = [
        {
            "id": block.id,
            "type": "function",
            "function": {"name": block.name, "arguments": msgspec.json.encode(block.arguments).decode()},
        }
        for block in turn.blocks
        if isinstance(block, ToolCall)
    ]
    if calls:
        yield {"role": turn.role, "content": text or None, "tool_calls": calls}
    elif text:
        yield {"role": turn.role, "content": text}

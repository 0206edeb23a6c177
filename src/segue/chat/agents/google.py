"""Gemini, through Google's SDK (`segue[google]`)."""

from __future__ import annotations

from base64 import b64decode, b64encode
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, cast

from segue.chat.agent import AgentError, TextDelta, Usage
from segue.chat.agents.messages import ProviderTurn, Result, arguments_of, sendable_text, take_turns
from segue.chat.agents.provider_errors import CutOffError, Provider
from segue.chat.agents.retry import RetryPolicy, with_retries
from segue.errors import MissingExtraError, UsageError
from segue.tools import ToolCall

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

    from google.genai import Client
    from google.genai.types import (
        ContentListUnionDict,
        FunctionCall,
        GenerateContentConfigDict,
        GenerateContentResponse,
    )

    from segue.chat.agent import Piece, Request
    from segue.model import JsonObject

KEYS = ("GOOGLE_API_KEY", "GEMINI_API_KEY")
ADDRESS = "https://generativelanguage.googleapis.com"
MODEL = "gemini-3.8-flash"


class GoogleAgent:
    """One model of Google's."""

    def __init__(self, model: str = "", *, environ: Mapping[str, str], patience: RetryPolicy | None = None) -> None:
        if not is_installed():
            raise MissingExtraError("the SDK of Google", extra="google")
        self._key = next((environ[name] for name in KEYS if environ.get(name)), "")
        if not self._key:
            raise UsageError("there is no key for Google", hint=f"set {KEYS[1]}, or choose another agent")
        self._model = model.removeprefix("google/") or MODEL
        self._address = (environ.get("GOOGLE_GEMINI_BASE_URL") or ADDRESS).rstrip("/")
        self._patience = patience or RetryPolicy()
        self._client: Client | None = None

    @property
    def name(self) -> str:
        return f"google/{self._model}"

    def prepare(self) -> None:
        """Load the SDK before the first question does."""
        self._client = self._client or self._new_client()

    def answer(self, request: Request) -> Iterator[Piece]:
        model = request.model.removeprefix("google/") or self._model
        provider = Provider(
            title="Google",
            address=self._address,
            key_advice=f"check {' and '.join(KEYS)}",
            models_advice=f"{self._address}/v1/models lists them; {MODEL} is the default here",
        )
        return with_retries(
            lambda optional: self._stream(request, model, optional),
            provider=provider,
            model=model,
            patience=self._patience,
            optional={} if request.temperature is None else {"temperature": request.temperature},
        )

    def _new_client(self) -> Client:
        from google.genai import Client

        return Client(
            vertexai=False,
            api_key=self._key,
            http_options={
                "base_url": self._address,
                "timeout": round(self._patience.timeout_seconds * 1000),
                # Users think longer than a connection stays open, so none is kept open.
                "headers": {"Connection": "close"},
            },
        )

    def _stream(self, request: Request, model: str, optional: Mapping[str, object]) -> Generator[Piece, None, None]:
        self.prepare()
        client, self._client = cast("Client", self._client), None
        config: dict[str, object] = {"automatic_function_calling": {"disable": True}, **optional}
        if request.system:
            config["system_instruction"] = sendable_text(request.system)
        if request.tools:
            declared = [
                {"name": offer.name, "description": offer.description, "parameters_json_schema": offer.parameters}
                for offer in request.tools
            ]
            config["tools"] = [{"function_declarations": declared}]
        chunks = client.models.generate_content_stream(
            model=model,
            contents=cast("ContentListUnionDict", [_content(turn) for turn in take_turns(request.messages)]),
            config=cast("GenerateContentConfigDict", config),
        )
        try:
            yield from _pieces(chunks, model)
        except BaseException:
            # Only closing the client ends a stream of this SDK before it is read to its end.
            with suppress(Exception):
                client.close()
            raise
        self._client = client


def is_installed() -> bool:
    """Whether the SDK is there; `google` alone may be a part of something else."""
    try:
        return find_spec("google.genai") is not None
    except ModuleNotFoundError:
        return False


def _pieces(chunks: Iterator[GenerateContentResponse], model: str) -> Iterator[Piece]:
    usage: Usage | None = None
    stop = ""
    shown = False
    calls: list[ToolCall] = []
    for chunk in chunks:
        model = chunk.model_version or model
        if (counted := chunk.usage_metadata) is not None:
            usage = Usage(
                input_tokens=counted.prompt_token_count or 0,
                output_tokens=(counted.candidates_token_count or 0) + (counted.thoughts_token_count or 0),
                model=model,
            )
        if chunk.prompt_feedback is not None and chunk.prompt_feedback.block_reason is not None:
            raise _declined(model, chunk.prompt_feedback.block_reason.name)
        for candidate in (chunk.candidates or ())[:1]:
            stop = candidate.finish_reason.name if candidate.finish_reason else stop
            for part in (candidate.content.parts if candidate.content else None) or ():
                if part.text and not part.thought:
                    shown = True
                    yield TextDelta(part.text)
                if part.function_call is not None:
                    calls.append(_call(part.function_call, part.thought_signature))
    if not stop:
        raise CutOffError("the stream ended too early")
    if stop != "STOP":
        if not shown:
            raise _declined(model, stop)
        yield TextDelta(f"\n\n[The answer ends here: {stop.lower().replace('_', ' ')}.]")
    else:
        yield from calls
    if usage is not None:
        yield usage


def _call(made: FunctionCall, signature: bytes | None) -> ToolCall:
    kept = b64encode(signature).decode() if signature else ""
    return ToolCall(id=made.id or "", name=made.name or "", arguments=arguments_of(made.args), signature=kept)


def _signed(call: ToolCall) -> JsonObject:
    """What it wants to see again with a call of its own; of anybody else's it is left out."""
    try:
        signature = b64decode(call.signature, validate=True)
    except ValueError:
        return {}
    return {"thought_signature": signature} if signature else {}


def _declined(model: str, reason: str) -> AgentError:
    return AgentError(f"{model} gave no answer ({reason})", hint="rephrase the message, or use another model")


def _content(turn: ProviderTurn) -> JsonObject:
    parts: list[JsonObject] = []
    for block in turn.blocks:
        match block:
            case TextDelta():
                parts.append({"text": block.text})
            case ToolCall():
                called = {"id": block.id, "name": block.name, "args": block.arguments}
                parts.append({"function_call": called, **_signed(block)})
            case Result():
                said = {"error" if block.is_error else "result": block.content}
                parts.append({"function_response": {"id": block.id, "name": block.name, "response": said}})
    return {"role": "user" if turn.role == "user" else "model", "parts": parts}

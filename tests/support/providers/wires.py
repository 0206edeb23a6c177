"""What the three providers send, on the wire: good answers in pieces, and refusals as each of them words these."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.support.providers.server import Reply

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

JSON_TYPE = ("Content-Type", "application/json")


def refusal(status: str, body: object, *headers: tuple[str, str]) -> Reply:
    return Reply(body=(json.dumps(body).encode(),), status=status, headers=(JSON_TYPE, *headers))


def event(data: object, name: str = "") -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {data if isinstance(data, str) else json.dumps(data)}\n\n".encode()


# ── Anthropic ────────────────────────────────────────────────────────────────────────────────────────────────────────


def anthropic_event(**data: object) -> bytes:
    return event(data, str(data["type"]))


def anthropic_begin() -> bytes:
    message: dict[str, object] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-real-1",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 11, "cache_read_input_tokens": 4, "output_tokens": 1},
    }
    block = anthropic_event(type="content_block_start", index=0, content_block={"type": "text", "text": ""})
    return anthropic_event(type="message_start", message=message) + anthropic_event(type="ping") + block


def anthropic_text(text: str) -> bytes:
    return anthropic_event(type="content_block_delta", index=0, delta={"type": "text_delta", "text": text})


def anthropic_call(number: int, name: str, arguments: str) -> bytes:
    block = {"type": "tool_use", "id": f"call_{number}", "name": name, "input": {}}
    half = len(arguments) // 2
    deltas = [{"type": "input_json_delta", "partial_json": part} for part in (arguments[:half], arguments[half:])]
    return (
        anthropic_event(type="content_block_start", index=number, content_block=block)
        + b"".join(anthropic_event(type="content_block_delta", index=number, delta=delta) for delta in deltas)
        + anthropic_event(type="content_block_stop", index=number)
    )


def anthropic_end(reason: str = "end_turn") -> bytes:
    delta = {"stop_reason": reason, "stop_sequence": None}
    return (
        anthropic_event(type="content_block_stop", index=0)
        + anthropic_event(type="message_delta", delta=delta, usage={"output_tokens": 7})
        + anthropic_event(type="message_stop")
    )


# ── OpenAI ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def openai_chunk(choices: Sequence[object], **more: object) -> bytes:
    return event(
        {
            "id": "c-1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "gpt-real-1",
            "choices": choices,
            **more,
        }
    )


def openai_begin() -> bytes:
    return openai_chunk([{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}])


def openai_text(text: str) -> bytes:
    return openai_chunk([{"index": 0, "delta": {"content": text}, "finish_reason": None}])


def openai_call(number: int, name: str, arguments: str) -> bytes:
    half = len(arguments) // 2
    first = {
        "index": number - 1,
        "id": f"call_{number}",
        "type": "function",
        "function": {"name": name, "arguments": arguments[:half]},
    }
    rest = {"index": number - 1, "function": {"arguments": arguments[half:]}}
    return b"".join(
        openai_chunk([{"index": 0, "delta": {"tool_calls": [made]}, "finish_reason": None}]) for made in (first, rest)
    )


def openai_end(reason: str = "stop", *, counted: bool = True) -> bytes:
    usage = {"prompt_tokens": 15, "completion_tokens": 7, "total_tokens": 22}
    last = openai_chunk([], usage=usage) if counted else b""
    return openai_chunk([{"index": 0, "delta": {}, "finish_reason": reason}]) + last + event("[DONE]")


# ── Google ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def google_text(text: str) -> bytes:
    content = {"role": "model", "parts": [{"text": text}]}
    return event({"candidates": [{"content": content, "index": 0}], "modelVersion": "gemini-real-1"})


def google_call(number: int, name: str, arguments: str) -> bytes:
    made = {"id": f"call_{number}", "name": name, "args": json.loads(arguments)}
    part = {"functionCall": made, "thoughtSignature": "c2lnbmVk"}
    content = {"role": "model", "parts": [part]}
    return event({"candidates": [{"content": content, "index": 0}], "modelVersion": "gemini-real-1"})


def google_begin() -> bytes:
    content = {"role": "model", "parts": [{"text": "Let me think.", "thought": True}]}
    return event({"candidates": [{"content": content, "index": 0}], "modelVersion": "gemini-real-1"})


def google_end(reason: str = "STOP") -> bytes:
    usage = {"promptTokenCount": 15, "candidatesTokenCount": 4, "thoughtsTokenCount": 3, "totalTokenCount": 22}
    return event(
        {
            "candidates": [{"content": {"role": "model", "parts": [{"text": ""}]}, "finishReason": reason, "index": 0}],
            "usageMetadata": usage,
            "modelVersion": "gemini-real-1",
        }
    )


def stream(begin: Callable[[], bytes], text: Callable[[str], bytes], end: bytes, words: Sequence[str]) -> Reply:
    return Reply(body=(begin(), *(text(word) for word in words), end))

"""Anthropic's messages, streaming."""

from __future__ import annotations

import json
from itertools import count

from tests.support.loopback.talk import Said, named, texts
from tests.support.providers.wires import anthropic_event as event

Body = dict[str, object]
MODEL = "loopback-anthropic"
_NUMBERS = count(1)


def wants_stream(_: str, body: Body) -> bool:
    return body.get("stream") is True


def said(body: Body) -> list[Said]:
    found: list[Said] = []
    messages = body.get("messages")
    for message in messages if isinstance(messages, list) else []:
        content = message["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            match block["type"]:
                case "text":
                    found.append(Said(message["role"], block["text"]))
                case "tool_use":
                    found.append(Said("call", f"{block['name']} {json.dumps(block['input'])}"))
                case "tool_result":
                    found.append(Said("result", texts(block.get("content"), "text")))
    return found


def shell(body: Body) -> str:
    return named(body.get("tools"), "Bash")


def whole(_: Body, text: str) -> bytes:
    usage = {"input_tokens": 11, "output_tokens": 7}
    message = {**_message(), "content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "usage": usage}
    return json.dumps(message).encode()


def beginning(text: str) -> bytes:
    return (
        event(type="message_start", message=_message())
        + event(type="content_block_start", index=0, content_block={"type": "text", "text": ""})
        + event(type="content_block_delta", index=0, delta={"type": "text_delta", "text": text})
    )


def answer(text: str) -> bytes:
    return beginning(text) + _end("end_turn")


def call(body: Body, command: str) -> bytes:
    return use(shell(body), {"command": command, "description": "Say where it comes from"})


def use(name: str, given: Body) -> bytes:
    """A call of any tool; ids are never used twice, since Claude Code drops a call whose id it knows."""
    block = {"type": "tool_use", "id": f"toolu_loopback_{next(_NUMBERS)}", "name": name, "input": {}}
    arguments = json.dumps(given)
    return (
        event(type="message_start", message=_message("msg_loopback_call"))
        + event(type="content_block_start", index=0, content_block=block)
        + event(type="content_block_delta", index=0, delta={"type": "input_json_delta", "partial_json": arguments})
        + _end("tool_use")
    )


def _message(name: str = "msg_loopback_text") -> Body:
    return {
        "id": f"{name}_{next(_NUMBERS)}",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 11, "output_tokens": 1},
    }


def _end(reason: str) -> bytes:
    return (
        event(type="content_block_stop", index=0)
        + event(type="message_delta", delta={"stop_reason": reason}, usage={"output_tokens": 7})
        + event(type="message_stop")
    )

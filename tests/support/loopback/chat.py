"""OpenAI's chat completions, streaming."""

from __future__ import annotations

import json
import re

from tests.support.loopback.talk import Said, event, named, texts

Body = dict[str, object]
MODEL = "loopback-chat"
_REMINDER = re.compile(r"\n*<(system-reminder|environment_details)>.*?</\1>\n*", re.DOTALL)
"""What Qwen Code and Kilo add to messages of the user; and empty lines to those from its input."""
_TIME = re.compile(r"^<current_datetime>[^<]*</current_datetime>\n\n")
"""What GitHub Copilot CLI writes before what the user said."""


def wants_stream(_: str, body: Body) -> bool:
    return body.get("stream") is True


def said(body: Body) -> list[Said]:
    found: list[Said] = []
    messages = body.get("messages")
    for message in messages if isinstance(messages, list) else []:
        text = _TIME.sub("", texts(message.get("content"), "text"))
        match message["role"]:
            case "tool":
                found.append(Said("result", text))
            case "user" | "assistant" as role:
                if text := _REMINDER.sub("", text).removesuffix("\n\n"):
                    found.append(Said(role, text))
                calls = [made["function"] for made in message.get("tool_calls") or []]
                found += [Said("call", f"{made['name']} {made['arguments']}") for made in calls]
    return found


def shell(body: Body) -> str:
    tools = body.get("tools")
    return named(
        [tool["function"] for tool in tools] if isinstance(tools, list) else [], "bash", "run_shell_command", "Bash"
    )


def whole(_: Body, text: str) -> bytes:
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return json.dumps({"id": "c-1", "object": "chat.completion", "model": MODEL, "choices": [choice]}).encode()


def beginning(text: str) -> bytes:
    return _chunk({"role": "assistant", "content": text})


def answer(text: str) -> bytes:
    return beginning(text) + _end("stop")


def call(body: Body, command: str) -> bytes:
    given = json.dumps({"command": command, "description": "Say where it comes from"})
    made = {
        "index": 0,
        "id": "call_loopback_1",
        "type": "function",
        "function": {"name": shell(body), "arguments": given},
    }
    return _chunk({"role": "assistant", "tool_calls": [made]}) + _end("tool_calls")


def _chunk(delta: Body, reason: str | None = None, **more: object) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    head = {"id": "c-1", "object": "chat.completion.chunk", "created": 1, "model": MODEL}
    return event({**head, "choices": [choice], **more})


def _end(reason: str) -> bytes:
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    return _chunk({}, reason, usage=usage) + event("[DONE]")

"""OpenAI's responses, streaming."""

from __future__ import annotations

import json

from tests.support.loopback.talk import Said, event, named, texts

Body = dict[str, object]
MODEL = "loopback-responses"


def wants_stream(_: str, body: Body) -> bool:
    return body.get("stream") is True


def said(body: Body) -> list[Said]:
    found: list[Said] = []
    items = body.get("input")
    for item in items if isinstance(items, list) else []:
        match item.get("type", "message"):
            case "message" if item["role"] in {"user", "assistant"}:
                found.append(Said(item["role"], texts(item["content"], "input_text", "output_text")))
            case "function_call":
                found.append(Said("call", f"{item['name']} {item['arguments']}"))
            case "function_call_output":
                found.append(Said("result", texts(item["output"], "input_text")))
    return found


def shell(body: Body) -> str:
    return named(body.get("tools"), "exec_command", "shell_command", "shell")


def whole(_: Body, text: str) -> bytes:
    return json.dumps(_response([_text_item(text)])).encode()


def beginning(text: str) -> bytes:
    return (
        _event("response.created", response={"id": "resp_loopback"})
        + _event("response.output_item.added", item={**_text_item(""), "content": []}, output_index=0)
        + _event("response.output_text.delta", delta=text, item_id="msg_loopback", output_index=0, content_index=0)
    )


def answer(text: str) -> bytes:
    return beginning(text) + _end(_text_item(text))


def call(body: Body, command: str) -> bytes:
    name = shell(body)
    given = {"command": ["sh", "-c", command]} if name == "shell" else {"cmd": command, "command": command}
    item: Body = {
        "type": "function_call",
        "id": "fc_loopback",
        "call_id": "call_loopback_1",
        "name": name,
        "arguments": json.dumps(given),
    }
    return _event("response.created", response={"id": "resp_loopback"}) + _end(item)


def _event(kind: str, **more: object) -> bytes:
    return event({"type": kind, **more}, kind)


def _text_item(text: str) -> Body:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": "msg_loopback", "role": "assistant", "status": "completed", "content": content}


def _response(output: list[Body]) -> Body:
    usage = {
        "input_tokens": 11,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 7,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 18,
    }
    return {"id": "resp_loopback", "object": "response", "model": MODEL, "output": output, "usage": usage}


def _end(item: Body) -> bytes:
    return _event("response.output_item.done", item=item, output_index=0) + _event(
        "response.completed", response=_response([item])
    )

"""Google's generateContent, streaming or not."""

from __future__ import annotations

import json

from tests.support.loopback.talk import Said, event, named

Body = dict[str, object]
MODEL = "loopback-gemini"


def wants_stream(path: str, _: Body) -> bool:
    return path.endswith(":streamGenerateContent")


def said(body: Body) -> list[Said]:
    found: list[Said] = []
    contents = body.get("contents")
    for content in contents if isinstance(contents, list) else []:
        for part in content["parts"]:
            match part:
                case {"functionCall": made}:
                    found.append(Said("call", f"{made['name']} {json.dumps(made['args'])}"))
                case {"functionResponse": result}:
                    found.append(Said("result", json.dumps(result["response"])))
                case {"text": text}:
                    found.append(Said("user" if content.get("role") == "user" else "assistant", text))
    return found


def shell(body: Body) -> str:
    tools = body.get("tools")
    groups = tools if isinstance(tools, list) else []
    return named([tool for group in groups for tool in group.get("functionDeclarations", [])], "run_shell_command")


def whole(body: Body, text: str) -> bytes:
    """Some questions of the tool about itself want JSON: whatever they ask for gets a word or a number."""
    settings = body.get("generationConfig")
    schema = (
        settings.get("responseJsonSchema") or settings.get("responseSchema") if isinstance(settings, dict) else None
    )
    if schema:
        kinds = {"number": 1, "integer": 1, "boolean": False, "array": [], "object": {}}
        wanted = {
            name: kinds.get(str(what.get("type")).lower(), "flash") for name, what in schema["properties"].items()
        }
        text = json.dumps(wanted)
    return json.dumps(_chunk([{"text": text}], "STOP")).encode()


def beginning(text: str) -> bytes:
    return event(_chunk([{"text": text}]))


def answer(text: str) -> bytes:
    return beginning(text) + event(_chunk([], "STOP"))


def call(body: Body, command: str) -> bytes:
    given = {"command": command, "description": "Say where it comes from"}
    return event(_chunk([{"functionCall": {"name": shell(body), "args": given}}], "STOP"))


def _chunk(parts: list[Body], reason: str | None = None) -> Body:
    candidate: Body = {"content": {"role": "model", "parts": parts}, "index": 0}
    if reason:
        candidate["finishReason"] = reason
    usage = {"promptTokenCount": 11, "candidatesTokenCount": 7, "totalTokenCount": 18}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": MODEL}

"""The messages of the Agent Framework as turns, and turns that other programs added as messages."""

from __future__ import annotations

import json
from base64 import b64decode
from typing import TYPE_CHECKING, Any, NamedTuple

from agent_framework import Content, Message

from segue.errors import UsageError
from segue.integrations.format.parts import call_part, file_part, reasoning_part, result_part, usage_of
from segue.integrations.format.values import as_count, as_text
from segue.model import ROLES, check_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agent_framework import AgentResponse

    from segue.model import JsonObject, Turn

    PutBlob = Callable[[bytes], str]


class Shown(NamedTuple):
    """What a turn shows of a message."""

    role: str
    content: str
    parts: tuple[JsonObject, ...]


class Measured(NamedTuple):
    """What an answer used."""

    tokens: int | None
    model: str
    usage: JsonObject


NOT_MEASURED = Measured(None, "", {})


def shown(message: Message, put_blob: PutBlob) -> Shown:
    texts: list[str] = []
    parts: list[JsonObject] = []
    for content in message.contents:
        text, part = _show(content, put_blob)
        if text:
            texts.append(text)
        if part is not None:
            parts.append(part)
    role = str(message.role)
    return Shown(
        role if role in ROLES else "system" if role == "developer" else "user", "\n\n".join(texts), tuple(parts)
    )


def measured(response: AgentResponse[Any] | None) -> Measured:
    """What the answer reports about itself."""
    details = getattr(response, "usage_details", None) or {}
    output = as_count(details.get("output_token_count"))
    usage = usage_of(
        input=details.get("input_token_count"),
        cached=details.get("cache_read_input_token_count"),
        cache_written=details.get("cache_creation_input_token_count"),
        output=output,
        reasoning=details.get("reasoning_output_token_count"),
    )
    model = getattr(getattr(response, "raw_representation", None), "model", None)  # of the client's own answer
    return Measured(output, model if isinstance(model, str) else "", usage)


def message_of_turn(turn: Turn) -> Message:
    """A turn that another program added, as a message."""
    contents = [Content.from_text(turn.content)] if turn.content and turn.role != "tool" else []
    for part in turn.parts:
        match part.get("type"):
            case "tool_call":
                given = part.get("arguments")
                arguments = given if isinstance(given, dict) else as_text(given)
                contents.append(
                    Content.from_function_call(as_text(part.get("id")), as_text(part.get("name")), arguments=arguments)
                )
            case "tool_result":
                result = as_text(part.get("content"))
                contents.append(Content.from_function_result(as_text(part.get("id")), result=result))
    return Message(turn.role, contents or [turn.content])


def _show(content: Content, put_blob: PutBlob) -> tuple[str, JsonObject | None]:
    """The text and the part of a piece of a message."""
    kind = content.type
    if kind == "text":
        return content.text or "", None
    if kind == "text_reasoning":
        return "", reasoning_part(content.text) if content.text else None
    if kind == "error":
        return content.message or content.error_code or "", None
    if kind in {"data", "uri", "hosted_file"}:
        return "", _file(content, put_blob)
    if kind == "function_result" or kind.endswith("_tool_result"):
        text = _result_text(content)
        return text, result_part(content.call_id, text, failed=content.exception is not None)
    if kind == "function_call" or kind.endswith("_tool_call"):
        arguments = content.arguments if content.arguments is not None else content.commands
        return "", call_part(content.call_id, content.name or content.tool_name or kind, _plain(arguments))
    return "", None  # such as a request for approval: it is in the message itself


def _result_text(content: Content) -> str:
    items = content.items if content.items is not None else content.outputs
    if isinstance(items, list | tuple):
        texts = list(_texts(items))
        if texts:
            return "\n".join(texts)
    value = content.result if content.result is not None else content.output
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, default=str)


def _texts(items: Iterable[object]) -> Iterable[str]:
    for item in items:
        if isinstance(item, Content):
            text = item.text or item.stdout or item.message
            if text:
                yield text


def _file(content: Content, put_blob: PutBlob) -> JsonObject:
    uri, media_type = content.uri or "", content.media_type or ""
    if not media_type.startswith("image/"):
        return file_part(content.file_id or (media_type if uri.startswith("data:") else uri))
    part: JsonObject = {"type": "image", "media_type": media_type}
    _, is_base64, data = uri.partition(";base64,")
    if not (uri.startswith("data:") and is_base64):
        return part
    try:
        return {**part, "hash": put_blob(b64decode(data, validate=True))}
    except ValueError:
        return part


def _plain(value: object) -> object:
    """The arguments of a call, which models give as JSON in a text."""
    try:
        found = json.loads(value) if isinstance(value, str) else value
        check_json(found, "arguments")
    except (ValueError, RecursionError):
        return value
    except UsageError:
        return json.dumps(value, default=str)
    return found

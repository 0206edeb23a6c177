"""The messages of Strands as turns, and turns that other programs added as messages.

A message is a list of blocks in the form of Bedrock. It becomes one turn, with the message unchanged in `native`.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple, TypedDict

from strands.types.session import SessionMessage

from segue.bridges.packing import LARGE
from segue.clock import utc_now
from segue.errors import UsageError
from segue.integrations.format.parts import call_part, file_part, reasoning_part, result_part, usage_of
from segue.integrations.format.values import as_count, as_text, child, objects
from segue.model import check_json, is_moment

if TYPE_CHECKING:
    from collections.abc import Callable

    from segue.model import JsonObject, Turn

    PutBlob = Callable[[bytes], str]

_TEXT_FORMATS = ("csv", "html", "md", "txt")


class Shown(NamedTuple):
    """What a turn shows of a message."""

    role: str
    content: str
    parts: tuple[JsonObject, ...]


class Measured(TypedDict):
    """What the model reported with its answer, as fields of a turn."""

    tokens: int | None
    tokens_by: str
    extra: JsonObject


def shown(message: JsonObject, put_blob: PutBlob) -> Shown:
    """The role, text and parts of a message."""
    texts: list[str] = []
    parts: list[JsonObject] = []
    is_result = False
    for block in objects(message.get("content")):
        for kind, value in block.items():
            if kind == "toolResult" and isinstance(value, dict):
                part = _result(value, put_blob)
                texts.append(as_text(part["content"]))
                parts.append(part)
                is_result = True
            else:
                text, part_of_block = _block(kind, value, put_blob)
                texts.append(text)
                parts += part_of_block
    role = "assistant" if message.get("role") == "assistant" else "tool" if is_result else "user"
    return Shown(role, "\n\n".join(filter(None, texts)), tuple(parts))


def measured(message: JsonObject) -> Measured:
    usage = child(message, "metadata", "usage")
    cached, written = as_count(usage.get("cacheReadInputTokens")), as_count(usage.get("cacheWriteInputTokens"))
    tokens, given, total = (as_count(usage.get(f"{name}Tokens")) for name in ("output", "input", "total"))
    if given is not None and tokens is not None and total is not None:
        given = max(given, total - tokens)  # Bedrock counts what was cached in the total alone
    found = usage_of(input=given, cached=cached, cache_written=written, output=tokens)
    return {
        "tokens": tokens,
        "tokens_by": "" if tokens is None else "provider",
        "extra": {"usage": found} if found else {},
    }


def moment_of(text: object) -> datetime:
    """The time that a message carries; the current time if it carries none."""
    try:
        moment = datetime.fromisoformat(text if isinstance(text, str) else "")
    except ValueError:
        return utc_now()
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return moment.astimezone(UTC) if is_moment(moment) else utc_now()


def message_of_turn(turn: Turn, number: int) -> SessionMessage:
    """A turn that another program added, as a message with this number."""
    blocks: list[JsonObject] = [{"text": turn.content}] if turn.content and turn.role != "tool" else []
    for part in turn.parts:
        match part.get("type"):
            case "tool_call":
                arguments = part.get("arguments")
                use = {"toolUseId": as_text(part.get("id")), "name": as_text(part.get("name")), "input": arguments}
                blocks.append({"toolUse": use})
            case "tool_result":
                status = "error" if part.get("is_error") is True else "success"
                content = [{"text": as_text(part.get("content"))}]
                result = {"toolUseId": as_text(part.get("id")), "status": status, "content": content}
                blocks.append({"toolResult": result})
    role = "assistant" if turn.role == "assistant" else "user"
    moment = turn.timestamp.isoformat()
    return SessionMessage(
        message={"role": role, "content": blocks or [{"text": turn.content}]},  # type: ignore[typeddict-item]
        message_id=number,
        created_at=moment,
        updated_at=moment,
    )


def _block(kind: str, value: object, put_blob: PutBlob) -> tuple[str, list[JsonObject]]:
    """The text and the parts of a block that is not a result."""
    fields = value if isinstance(value, dict) else {}
    match kind:
        case "text":
            return as_text(value), []
        case "toolUse":
            return "", [call_part(fields.get("toolUseId"), fields.get("name"), _plain(fields.get("input")))]
        case "reasoningContent":
            text = child(fields, "reasoningText").get("text")
            return "", [reasoning_part(text)] if text else []
        case "guardContent":
            return as_text(child(fields, "text").get("text")), []
        case "citationsContent":
            return "".join(as_text(item.get("text")) for item in objects(fields.get("content"))), []
        case "image":
            return "", [_image(fields, put_blob)]
        case "document" | "video" | "audio":
            return "", [_file(kind, fields)]
    return "", []  # such as a cache point, which is for the provider alone


def _result(value: JsonObject, put_blob: PutBlob) -> JsonObject:
    texts: list[str] = []
    images: list[JsonObject] = []
    for item in objects(value.get("content")):
        if "image" in item:
            images.append(_image(child(item, "image"), put_blob))
        elif "json" in item:
            texts.append(json.dumps(item["json"], ensure_ascii=False, default=str))
        elif "text" in item:
            texts.append(as_text(item["text"]))
        else:
            texts += (f"[{kind} {as_text(child(item, kind).get('name'))}]".replace(" ]", "]") for kind in item)
    return result_part(value.get("toolUseId"), "\n".join(texts), failed=value.get("status") == "error", images=images)


def _image(fields: JsonObject, put_blob: PutBlob) -> JsonObject:
    part: JsonObject = {"type": "image", "media_type": f"image/{as_text(fields.get('format')) or 'png'}"}
    data = child(fields, "source").get("bytes")
    return {**part, "hash": put_blob(data)} if isinstance(data, bytes) else part


def _file(kind: str, fields: JsonObject) -> JsonObject:
    form = as_text(fields.get("format"))
    name = as_text(fields.get("name")) or kind
    data = child(fields, "source").get("bytes")
    is_text = isinstance(data, bytes) and form in _TEXT_FORMATS and len(data) < LARGE
    return file_part(f"{name}.{form}" if form else name, as_text(data) if is_text else None)


def _plain(value: object) -> object:
    """The arguments of a call, as a text if no store takes them as they are."""
    try:
        check_json(value, "arguments")
    except UsageError:
        return json.dumps(value, default=str)
    return value

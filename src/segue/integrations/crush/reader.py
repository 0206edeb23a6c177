"""Turns from messages of crush: rows with a list of parts, each with its type and its data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.integrations.format.parts import (
    call_part,
    file_part,
    image_part,
    notice_part,
    reasoning_part,
    result_part,
    summary_part,
)
from segue.integrations.format.transcript import TranscriptTurn
from segue.integrations.format.values import as_seconds, as_text, child, objects

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from segue.integrations.format.transcript import TranscriptBuilder
    from segue.model import JsonObject, Turn

_SILENT = {"text", "finish", "tool_result", "shell_command"}
_CUT_OFF = {"canceled", "error", "max_tokens"}


def parse_turns(
    messages: Iterable[JsonObject], builder: TranscriptBuilder, *, side: str = ""
) -> Iterator[TranscriptTurn]:
    """The turns, oldest first; those of a subagent are on a branch of their own."""
    for message in messages:
        for turn in _turns(message, builder):
            yield TranscriptTurn(turn, builder.tip, side if not builder.tip else "")
            builder.tip = turn.id


def _turns(message: JsonObject, builder: TranscriptBuilder) -> Iterator[Turn]:
    key, parts = as_text(message.get("id")), objects(message.get("parts"))
    at = builder.moment(as_seconds(message.get("created_at")))
    data = {kind: [child(part, "data") for part in parts if part.get("type") == kind] for kind in ("text", *_SILENT)}
    text = "\n\n".join(piece for part in data["text"] if (piece := as_text(part.get("text"))))
    converted = list(_parts(parts, builder))
    if message.get("is_summary_message"):
        yield builder.turn(key, "system", text, at, records=[message], parts=[*converted, summary_part()])
    elif message.get("role") == "assistant":
        partial = any(as_text(part.get("reason")) in _CUT_OFF for part in data["finish"])
        if text or converted:
            model = as_text(message.get("model"))
            yield builder.turn(
                key, "assistant", text, at, records=[message], parts=converted, model=model, partial=partial
            )
    elif message.get("role") == "tool":
        results = [_result(part) for part in data["tool_result"]]
        content = "\n\n".join(as_text(part["content"]) for part in results)
        yield builder.turn(key, "tool", content, at, records=[message], parts=results)
    elif message.get("role") != "user":
        builder.damage(f"nobody knows who has the role {as_text(message.get('role')):.40}")
        yield builder.turn(key, "system", text, at, records=[message], parts=[*converted, notice_part()])
    else:
        if text or converted:
            yield builder.turn(key, "user", text, at, records=[message], parts=converted)
        for number, command in enumerate(data["shell_command"]):
            name, line, output = f"{key}:{number}", as_text(command.get("command")), as_text(command.get("output"))
            call = call_part(name, "shell", {"command": line})
            yield builder.turn(name, "user", f"!{line}", at, records=[message], parts=[call])
            result = result_part(name, output, failed=command.get("exit_code") not in (0, None))
            yield builder.turn(f"{name}:output", "tool", output, at, records=[], parts=[result])


def _parts(parts: list[JsonObject], builder: TranscriptBuilder) -> Iterator[JsonObject]:
    for part in parts:
        data = child(part, "data")
        match part.get("type"):
            case "tool_call":
                yield call_part(data.get("id"), data.get("name"), data.get("input"))
            case "reasoning" if data.get("thinking"):
                yield reasoning_part(data["thinking"])
            case "reasoning":
                pass
            case "image_url":
                yield _image_at(as_text(data.get("url")))
            case "binary" if as_text(data.get("MIMEType")).startswith("image/"):
                yield image_part(data.get("MIMEType"), data.get("Data"))
            case "binary":
                yield file_part(data.get("Path"))
            case kind if as_text(kind) not in _SILENT:
                builder.damage(f"a part of the unknown type {as_text(kind):.40} is not read")


def _image_at(url: str) -> JsonObject:
    """An image that is part of its address, or one without its data."""
    head, found, data = url.partition(";base64,")
    return image_part(head.removeprefix("data:"), data) if found and head.startswith("data:") else image_part()


def _result(data: JsonObject) -> JsonObject:
    media_type = as_text(data.get("mime_type"))
    images = [image_part(media_type, data.get("data"))] if media_type.startswith("image/") else []
    failed = data.get("is_error") is True
    return result_part(data.get("tool_call_id"), as_text(data.get("content")), failed=failed, images=images)

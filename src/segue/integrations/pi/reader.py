"""Turns from a session of pi: a tree, in which every entry names the one before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.integrations.format.parts import call_part, reasoning_part, result_part
from segue.integrations.format.transcript import MARK, TranscriptTurn
from segue.integrations.format.values import as_text, child, objects, texts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.integrations.format.lines import LinePlace, Lines
    from segue.integrations.format.transcript import TranscriptBuilder
    from segue.model import JsonObject, Turn


def parse_turns(lines: Lines, builder: TranscriptBuilder) -> Iterator[TranscriptTurn]:
    """The turns in the order of the file. Other entries belong to the message before them; old files have no tree."""
    turns: dict[str, str] = {}
    for at, record in builder.records(lines):
        if record.get("type") == "session":
            builder.native_id = as_text(record.get("id")) or builder.native_id
            builder.cwd = as_text(record.get("cwd"))
            continue
        if record.get("type") == "session_info":
            builder.title = as_text(record.get("name"))
        key, parent = as_text(record.get("id")), record.get("parentId", builder.tip)
        # An entry whose parent cannot be read follows the one before it in the file.
        after = turns.get(as_text(parent), builder.tip) if parent else ""
        turn = _turn(builder, key or str(at.number), record, at) if record.get("type") == "message" else None
        if turn is not None:
            yield TranscriptTurn(turn, after, is_ours=MARK in record)
        builder.tip = turns[key] = after if turn is None else turn.id


def _turn(builder: TranscriptBuilder, key: str, record: JsonObject, at: LinePlace) -> Turn | None:
    message = child(record, "message")
    content = message.get("content")
    key = f"{builder.native_id}:{key}"
    moment = builder.moment(record.get("timestamp"), at=at)
    blocks = objects(content)
    images: list[JsonObject] = [{"type": "image"} for block in blocks if block.get("type") == "image"]
    match message.get("role"):
        case "user":
            return builder.turn(key, "user", texts(content), moment, records=[record], parts=images)
        case "toolResult":
            text = texts(content)
            part = result_part(message.get("toolCallId"), text, failed=message.get("isError") is True)
            return builder.turn(key, "tool", text, moment, records=[record], parts=[part, *images])
        case "bashExecution":
            text = f"$ {as_text(message.get('command'))}\n{as_text(message.get('output'))}"
            return builder.turn(key, "user", text, moment, records=[record])
        case "assistant":
            return builder.turn(
                key,
                "assistant",
                texts(content),
                moment,
                records=[record],
                parts=list(_parts(blocks)),
                tokens=child(message, "usage").get("output"),
                model=as_text(message.get("model")),
            )
    return None


def _parts(blocks: list[JsonObject]) -> Iterator[JsonObject]:
    for block in blocks:
        match block.get("type"):
            case "toolCall":
                yield call_part(block.get("id"), block.get("name"), block.get("arguments"))
            case "thinking" if block.get("thinking"):
                yield reasoning_part(block["thinking"])

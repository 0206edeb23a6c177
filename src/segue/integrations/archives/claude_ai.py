"""Turns from a conversation in an export of Claude.ai: messages that may name the one before them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.integrations.format.anthropic_messages import MessageTurn, turns_of_answer
from segue.integrations.format.parts import file_part
from segue.integrations.format.transcript import TranscriptTurn
from segue.integrations.format.unknown_kinds import UnknownKinds
from segue.integrations.format.values import as_text, objects, texts

if TYPE_CHECKING:
    from collections.abc import Generator

    from segue.integrations.format.transcript import TranscriptBuilder
    from segue.model import JsonObject

_IGNORED = {"token_budget", "flag", "voice_note"}
"""Blocks without words of the conversation."""


def parse_turns(document: JsonObject, builder: TranscriptBuilder) -> Generator[TranscriptTurn]:
    """The turns in the order of the messages; a message that was edited or asked for again is a branch."""
    builder.title = as_text(document.get("name"))
    unknown = UnknownKinds(builder)
    ends: dict[str, str] = {}
    for number, message in enumerate(objects(document.get("chat_messages"))):
        key = as_text(message.get("uuid")) or str(number)
        parent = as_text(message.get("parent_message_uuid"))
        moment = builder.moment(message.get("created_at") or document.get("created_at"))
        builder.tip = ends.get(parent, builder.tip)
        for place, (role, content, parts) in enumerate(_turns(message, key, unknown)):
            turn = builder.turn(
                f"{builder.native_id}:{key}{f':{place}' if place else ''}",
                role,
                content,
                moment,
                records=[message] if not place else [],
                parts=parts,
            )
            yield TranscriptTurn(turn, builder.tip)
            builder.tip = turn.id
        ends[key] = builder.tip


def _turns(message: JsonObject, key: str, unknown: UnknownKinds) -> list[MessageTurn]:
    blocks = [block for block in objects(message.get("content")) if as_text(block.get("type")) not in _IGNORED]
    text = as_text(message.get("text"))
    match message.get("sender"):
        case "human":
            for block in blocks:
                if as_text(block.get("type")) not in {"text", "image"}:
                    unknown.report("block", block.get("type"))
            files = [*objects(message.get("attachments")), *objects(message.get("files"))]
            parts = [_file(file) for file in files]
            words = texts(blocks) or text
            return [MessageTurn("user", words, parts)] if words or parts else []
        case "assistant":
            return turns_of_answer(_with_ids(blocks or [{"type": "text", "text": text}], key), unknown)
    unknown.report("message", message.get("sender") or message.get("type"))
    return []


def _with_ids(blocks: list[JsonObject], key: str) -> list[JsonObject]:
    """The blocks, with ids where older exports have none: then a result belongs to the last call."""
    found, last = [], ""
    for number, block in enumerate(blocks):
        if block.get("type") == "tool_use":
            last = as_text(block.get("id")) or f"{key}:{number}"
            found.append({**block, "id": last})
        elif block.get("type") == "tool_result":
            found.append({**block, "tool_use_id": as_text(block.get("tool_use_id")) or last})
        else:
            found.append(block)
    return found


def _file(file: JsonObject) -> JsonObject:
    name = file.get("file_name") or file.get("file_uuid")
    return file_part(name, file.get("extracted_content") or None)

"""Turns from messages of goose: lists of pieces, of which calls and results are pairs with an id."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from segue.integrations.format.parts import (
    call_part,
    image_part,
    notice_part,
    reasoning_part,
    result_part,
    summary_part,
)
from segue.integrations.format.transcript import TranscriptTurn
from segue.integrations.format.values import as_seconds, as_text, child, objects, texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from segue.integrations.format.transcript import TranscriptBuilder
    from segue.model import JsonObject, Turn

_SILENT = {"text", "toolResponse", "redactedThinking", "toolConfirmationRequest", "actionRequired"}
"""Pieces without a part of their own: text, results, and questions to the user that were answered by what follows."""


class GooseMessage(NamedTuple):
    """A row of `messages`."""

    key: str
    role: str
    content: object
    created: object
    tokens: object
    metadata: JsonObject


def parse_turns(
    messages: Iterable[GooseMessage], builder: TranscriptBuilder, *, model: str
) -> Iterator[TranscriptTurn]:
    """The turns, oldest first. A compaction hides the messages before it from the model, and deletes none."""
    is_compacted = False
    for message in messages:
        is_hidden = message.metadata.get("userVisible") is False
        for turn in _turns(message, builder, model=model, is_summary=is_hidden and is_compacted, is_notice=is_hidden):
            yield TranscriptTurn(turn, builder.tip)
            builder.tip = turn.id
        is_compacted = message.metadata.get("agentVisible") is False


def _turns(
    message: GooseMessage, builder: TranscriptBuilder, *, model: str, is_summary: bool, is_notice: bool
) -> Iterator[Turn]:
    pieces = objects(message.content)
    record: JsonObject = {"message_id": message.key, "role": message.role, "content": message.content}
    at = builder.moment(as_seconds(message.created))
    results = [_result(piece) for piece in pieces if piece.get("type") == "toolResponse"]
    if results:
        text = "\n\n".join(as_text(part["content"]) for part in results)
        yield builder.turn(f"{message.key}:results", "tool", text, at, records=[record], parts=results)
    text, parts = texts(pieces), list(_parts(pieces, builder))
    if not text and not parts:
        return
    if is_notice:
        kind = summary_part() if is_summary else notice_part()
        yield builder.turn(message.key, "system", text, at, records=[record], parts=[*parts, kind])
    elif message.role == "assistant":
        yield builder.turn(
            message.key, "assistant", text, at, records=[record], parts=parts, tokens=message.tokens, model=model
        )
    elif message.role != "user":
        builder.damage(f"nobody knows who has the role {message.role:.40}")
        yield builder.turn(message.key, "system", text, at, records=[record], parts=[*parts, notice_part()])
    else:
        yield builder.turn(message.key, "user", text, at, records=[record], parts=parts)


def _parts(pieces: list[JsonObject], builder: TranscriptBuilder) -> Iterator[JsonObject]:
    for piece in pieces:
        match piece.get("type"):
            case "toolRequest" | "frontendToolRequest":
                call = child(piece, "toolCall")
                value = child(call, "value")
                yield call_part(
                    piece.get("id"), value.get("name") or "tool", value.get("arguments") or call.get("error")
                )
            case "thinking":
                yield reasoning_part(piece.get("thinking"))
            case "image":
                yield image_part(piece.get("mimeType"), piece.get("data"))
            case "systemNotification":
                pass  # progress on the screen, such as that a compaction has begun
            case kind if as_text(kind) not in _SILENT:
                builder.damage(f"a piece of the unknown type {as_text(kind):.40} is not read")


def _result(piece: JsonObject) -> JsonObject:
    result = child(piece, "toolResult")
    value = result.get("value")
    content = value.get("content") if isinstance(value, dict) else value
    failed = result.get("status") == "error" or (isinstance(value, dict) and value.get("isError") is True)
    images = [
        image_part(block.get("mimeType"), block.get("data"))
        for block in objects(content)
        if block.get("type") == "image"
    ]
    return result_part(piece.get("id"), texts(content) or as_text(result.get("error")), failed=failed, images=images)

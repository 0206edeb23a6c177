"""Turns from messages of llm: a tree, in which the hash of a message covers all messages up to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.formats.records import BadRecordError, parse_json
from segue.integrations.format.parts import call_part, reasoning_part, result_part
from segue.integrations.format.transcript import TranscriptTurn
from segue.integrations.format.values import as_text, objects

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from segue.integrations.format.transcript import TranscriptBuilder
    from segue.model import JsonObject, Turn

_ROLES = ("user", "assistant", "system", "tool")


def parse_turns(
    exchanges: Iterable[JsonObject], message: Callable[[str], JsonObject | None], builder: TranscriptBuilder
) -> Iterator[TranscriptTurn]:
    """The messages up to the answer of each exchange (a row of `turns`); those that exchanges share occur once."""
    seen: set[str] = set()
    for exchange in exchanges:
        name: object = exchange.get("tip_message_hash")
        path: list[JsonObject] = []
        while isinstance(name, str) and name not in seen:
            seen.add(name)
            found = message(name)
            if found is None:
                builder.damage(f"message {name:.60} is missing")
                break
            path.append(found)
            name = found.get("parent_hash")
        for found in reversed(path):
            parent = found.get("parent_hash")
            after = turn_id(builder, parent) if isinstance(parent, str) else ""
            yield TranscriptTurn(_turn(builder, exchange, found), after)


def turn_id(builder: TranscriptBuilder, hash: object) -> str:
    return builder.id_of(f"{builder.native_id}:{as_text(hash)}")


def _turn(builder: TranscriptBuilder, exchange: JsonObject, message: JsonObject) -> Turn:
    parts = objects(message.get("parts"))
    role = as_text(message.get("role"))
    is_answer = message.get("hash") == exchange.get("tip_message_hash")
    converted = [part for piece in parts if (part := _part(piece)) is not None]
    content = [as_text(piece.get("text")) for piece in parts if piece.get("type") == "text"]
    content += [as_text(part["content"]) for part in converted if part["type"] == "tool_result"]
    return builder.turn(
        f"{builder.native_id}:{as_text(message.get('hash'))}",
        role if role in _ROLES else "user",
        "\n\n".join(text for text in content if text),
        builder.moment(exchange.get("datetime_utc")),
        records=[message, exchange] if is_answer else [message],
        parts=converted,
        tokens=exchange.get("output_tokens") if is_answer else None,
        model=as_text(exchange.get("resolved_model") or exchange.get("model")) if is_answer else "",
    )


def _part(piece: JsonObject) -> JsonObject | None:
    payload = parse_object(piece.get("payload"))
    match piece.get("type"):
        case "tool_call":
            return call_part(payload.get("tool_call_id"), piece.get("tool_name"), payload.get("arguments"))
        case "tool_result":
            failed = bool(payload.get("exception"))
            return result_part(payload.get("tool_call_id"), as_text(payload.get("output")), failed=failed)
        case "reasoning":
            return reasoning_part(piece.get("text"))
        case "attachment":
            return {"type": "image"}
    return None


def parse_object(text: object) -> JsonObject:
    """The object in a JSON text; empty if there is none."""
    try:
        found = parse_json(text.encode("utf-8", "surrogatepass")) if isinstance(text, str) else None
    except BadRecordError:
        return {}
    return found if isinstance(found, dict) else {}

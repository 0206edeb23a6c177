"""Messages of llm as turns: a tree of messages, each known by the hash of all that was said up to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.formats.records import BadRecordError, parse_json
from segue.integrations.format.transcript import (
    TranscriptTurn,
    as_text,
    call_part,
    objects,
    reasoning_part,
    result_part,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from segue.integrations.format.transcript import TranscriptBuilder
    from segue.model import JsonObject, Turn

_ROLES = ("user", "assistant", "system", "tool")


def steps(
    exchanges: Iterable[JsonObject], message: Callable[[str], JsonObject | None], gathering: TranscriptBuilder
) -> Iterator[TranscriptTurn]:
    """Each exchange (a row of `turns`) with the messages up to its answer; those it shares with others come once."""
    seen: set[str] = set()
    for exchange in exchanges:
        name: object = exchange.get("tip_message_hash")
        way: list[JsonObject] = []
        while isinstance(name, str) and name not in seen:
            seen.add(name)
            found = message(name)
            if found is None:
                gathering.damage(f"message {name:.60} is not there")
                break
            way.append(found)
            name = found.get("parent_hash")
        for found in reversed(way):
            parent = found.get("parent_hash")
            after = _id(gathering, parent) if isinstance(parent, str) else ""
            yield TranscriptTurn(_turn(gathering, exchange, found), after)


def tip(gathering: TranscriptBuilder, hash: object) -> None:
    gathering.tip = _id(gathering, hash)


def _id(gathering: TranscriptBuilder, hash: object) -> str:
    return gathering.id_of(f"{gathering.native_id}:{as_text(hash)}")


def _turn(gathering: TranscriptBuilder, exchange: JsonObject, message: JsonObject) -> Turn:
    parts = objects(message.get("parts"))
    role = as_text(message.get("role"))
    is_answer = message.get("hash") == exchange.get("tip_message_hash")
    made = [part for piece in parts if (part := _part(piece)) is not None]
    said = [as_text(piece.get("text")) for piece in parts if piece.get("type") == "text"]
    said += [as_text(part["content"]) for part in made if part["type"] == "tool_result"]
    return gathering.turn(
        f"{gathering.native_id}:{as_text(message.get('hash'))}",
        role if role in _ROLES else "user",
        "\n\n".join(text for text in said if text),
        gathering.moment(exchange.get("datetime_utc")),
        records=[message, exchange] if is_answer else [message],
        parts=made,
        tokens=exchange.get("output_tokens") if is_answer else None,
        model=as_text(exchange.get("resolved_model") or exchange.get("model")) if is_answer else "",
    )


def _part(piece: JsonObject) -> JsonObject | None:
    payload = loaded(piece.get("payload"))
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


def loaded(text: object) -> JsonObject:
    """The object that a text of JSON holds; empty where there is none."""
    try:
        found = parse_json(text.encode("utf-8", "surrogatepass")) if isinstance(text, str) else None
    except BadRecordError:
        return {}
    return found if isinstance(found, dict) else {}

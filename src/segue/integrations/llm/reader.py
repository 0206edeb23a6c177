"""Turns from messages of llm: a tree, in which the hash of a message covers all messages up to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.formats.records import BadRecordError
from segue.integrations.format.parts import call_part, file_part, reasoning_part, result_part, usage_of
from segue.integrations.format.transcript import TranscriptTurn, parse_record
from segue.integrations.format.values import as_text, child, objects

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from segue.integrations.format.transcript import TranscriptBuilder
    from segue.model import JsonObject, Turn

ATTACHED, FRAGMENTS = "$attached", "$fragments"
"""What other tables have for a row, added by `history`: parts; texts that a prompt includes, by their ids."""
_ROLES = ("user", "assistant", "system", "tool")


def parse_turns(
    exchanges: Iterable[JsonObject], message: Callable[[str], JsonObject | None], builder: TranscriptBuilder
) -> Iterator[TranscriptTurn]:
    """The messages up to the answer of each exchange (a row of `turns`); those that exchanges share occur once."""
    seen: set[str] = set()
    unknown: set[str] = set()
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
            _name_unknown(builder, found, unknown)
            yield TranscriptTurn(_turn(builder, exchange, found), after)


def turn_id(builder: TranscriptBuilder, hash: object) -> str:
    return builder.id_of(f"{builder.native_id}:{as_text(hash)}")


def _turn(builder: TranscriptBuilder, exchange: JsonObject, message: JsonObject) -> Turn:
    parts = objects(message.get("parts"))
    role = as_text(message.get("role"))
    if role not in _ROLES:
        builder.damage(f"nobody knows who has the role {role:.40}")
        role = "system"
    is_answer = message.get("hash") == exchange.get("tip_message_hash")
    converted = [part for piece in parts for part in _parts(piece, role)]
    content = [_text(piece, role) for piece in parts if piece.get("type") == "text"]
    content += [as_text(part["content"]) for part in converted if part["type"] == "tool_result"]
    native = {**message, "parts": list(map(without_added, parts))}
    return builder.turn(
        f"{builder.native_id}:{as_text(message.get('hash'))}",
        role,
        "\n\n".join(text for text in content if text),
        builder.moment(exchange.get("datetime_utc")),
        records=[native, exchange] if is_answer else [native],
        parts=converted,
        tokens=exchange.get("output_tokens") if is_answer else None,
        model=as_text(exchange.get("resolved_model") or exchange.get("model")) if is_answer else "",
        usage=usage(exchange) if is_answer else None,
    )


def _text(piece: JsonObject, role: str) -> str:
    """The text of a part: what the user typed, without the files that are included in it."""
    if text := as_text(piece.get("text")):
        return text
    pieces = objects(parse_object(piece.get("payload")).get("text_ref"))
    fragments = child(piece, FRAGMENTS)
    if role == "user":
        return "".join(as_text(one.get("literal")) for one in pieces).removeprefix("\n")
    return "".join(
        as_text(one.get("literal")) or as_text(child(fragments, as_text(one.get("fragment"))).get("content"))
        for one in pieces
    )


def _parts(piece: JsonObject, role: str) -> Iterator[JsonObject]:
    payload = parse_object(piece.get("payload"))
    attached = objects(piece.get(ATTACHED))
    match piece.get("type"):
        case "text" if role == "user":
            fragments = objects(list(child(piece, FRAGMENTS).values()))
            yield from (file_part(one.get("source") or one.get("hash"), one.get("content")) for one in fragments)
        case "tool_call":
            yield call_part(payload.get("tool_call_id"), piece.get("tool_name"), payload.get("arguments"))
        case "tool_result":
            failed, output = bool(payload.get("exception")), as_text(payload.get("output"))
            images = [part for part in attached if part["type"] == "image"]
            yield result_part(payload.get("tool_call_id"), output, failed=failed, images=images)
        case "reasoning":
            yield reasoning_part(piece.get("text"))
        case "attachment":
            yield from attached or [file_part(as_text(child(payload, "attachment").get("id")))]


def _name_unknown(builder: TranscriptBuilder, message: JsonObject, named: set[str]) -> None:
    kinds = {as_text(piece.get("type")) for piece in objects(message.get("parts"))}
    for kind in sorted(kinds - {"text", "tool_call", "tool_result", "reasoning", "attachment"} - named):
        named.add(kind)
        builder.damage(f"parts of type {kind[:40]!r} are not known, and are not read")


def without_added(record: JsonObject) -> JsonObject:
    """The row as it is in its table."""
    return {name: value for name, value in record.items() if name not in (ATTACHED, FRAGMENTS)}


def usage(row: JsonObject) -> JsonObject:
    """What an answer used; the details are those of OpenAI, in which the input includes what was cached."""
    details = parse_object(row.get("token_details"))
    return usage_of(
        input=row.get("input_tokens"),
        cached=child(details, "prompt_tokens_details").get("cached_tokens"),
        output=row.get("output_tokens"),
        reasoning=child(details, "completion_tokens_details").get("reasoning_tokens"),
    )


def parse_object(text: object) -> JsonObject:
    """The object in a JSON text; empty if there is none."""
    try:
        found = parse_record(text.encode("utf-8", "surrogatepass")) if isinstance(text, str) else None
    except BadRecordError:
        return {}
    return found if isinstance(found, dict) else {}

"""A conversation as a session for `pi --session`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.integrations.format.outgoing import iso_ms, json_lines, rising
from segue.integrations.format.transcript import MARK

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from segue.integrations.format.outgoing import OutgoingImage, OutgoingMessage
    from segue.model import JsonObject

_COSTS = ("input", "output", "cacheRead", "cacheWrite")
_NO_USAGE = {**dict.fromkeys((*_COSTS, "totalTokens"), 0), "cost": dict.fromkeys((*_COSTS, "total"), 0)}


def write(outgoing: Sequence[OutgoingMessage], *, session_id: str, cwd: str, title: str, now: datetime) -> bytes:
    """A header, then entries that each name the one before it; the field `segue` says of which turn they are."""
    messages = [
        (message.at, content, "" if number else message.turn)
        for message in outgoing
        for number, content in enumerate(_messages_of(message))
    ]
    moments = rising([at for at, _, _ in messages], now)
    header: JsonObject = {"type": "session", "version": 3, "id": session_id, "cwd": cwd}
    records: list[JsonObject] = [{**header, "timestamp": iso_ms(moments[0] if moments else now)}]
    parent: str | None = None
    for number, (moment, (_, content, turn)) in enumerate(zip(moments, messages, strict=True), start=1):
        timed = {**content, "timestamp": int(moment.timestamp() * 1000)}
        records.append({**_entry(number, parent, moment, turn), "type": "message", "message": timed})
        parent = f"{number:08x}"
    if title:
        records.append({**_entry(len(records), parent, now), "type": "session_info", "name": title})
    return json_lines(records)


def _entry(number: int, parent: str | None, moment: datetime, turn: str = "") -> JsonObject:
    return {"id": f"{number:08x}", "parentId": parent, "timestamp": iso_ms(moment), MARK: turn or True}


def _messages_of(message: OutgoingMessage) -> Iterator[JsonObject]:
    texts: list[JsonObject] = [{"type": "text", "text": message.text}] if message.text else []
    if message.role == "user":
        yield {"role": "user", "content": [*texts, *_images(message.images)]}
        return
    calls: list[JsonObject] = [
        {"type": "toolCall", "id": call.id, "name": call.name, "arguments": call.arguments} for call in message.calls
    ]
    yield {
        "role": "assistant",
        "content": [*texts, *calls],
        "api": MARK,
        "provider": MARK,
        "model": MARK,
        "usage": _NO_USAGE,
        "stopReason": "toolUse" if calls else "stop",
    }
    for call in message.calls:
        content = [{"type": "text", "text": call.result}, *_images(call.images)]
        result: JsonObject = {"role": "toolResult", "toolCallId": call.id, "toolName": call.name, "content": content}
        yield {**result, "isError": call.failed}


def _images(images: Sequence[OutgoingImage]) -> list[JsonObject]:
    return [{"type": "image", "mimeType": image.media_type, "data": image.data} for image in images]

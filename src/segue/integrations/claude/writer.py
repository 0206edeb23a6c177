"""A conversation as a session for `claude --resume`."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from segue.integrations.format.outgoing import iso_ms, json_lines, rising
from segue.integrations.format.transcript import MARK

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from segue.integrations.format.outgoing import OutgoingCall, OutgoingImage, OutgoingMessage
    from segue.model import JsonObject


def write(outgoing: Sequence[OutgoingMessage], *, session_id: str, cwd: str, title: str, now: datetime) -> bytes:
    """Each record names the one before it; the field `segue` is the turn that Segue wrote it from, if there is one."""
    messages: list[tuple[datetime, JsonObject, str]] = []
    for number, message in enumerate(outgoing):
        blocks: list[JsonObject] = [{"type": "text", "text": message.text}] if message.text else []
        if message.role == "user":
            said = [*map(_image, message.images), *blocks] if message.images else message.text
            messages.append((message.at, {"role": "user", "content": said}, message.turn))
            continue
        calls: list[JsonObject] = [
            {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments} for call in message.calls
        ]
        answer: JsonObject = {"id": f"msg_{MARK}_{number}", "type": "message", "role": "assistant"}
        messages.append((message.at, {**answer, "content": [*blocks, *calls], "stop_reason": "end_turn"}, message.turn))
        if message.calls:
            messages.append((message.at, {"role": "user", "content": [*map(_result, message.calls)]}, ""))
    records: list[JsonObject] = []
    parent: str | None = None
    for moment, (_, content, turn) in zip(rising([at for at, _, _ in messages], now), messages, strict=True):
        own = str(uuid.uuid5(uuid.UUID(session_id), str(len(records))))
        records.append(
            {
                "type": content["role"],
                "uuid": own,
                "parentUuid": parent,
                "sessionId": session_id,
                "timestamp": iso_ms(moment),
                "cwd": cwd,
                "isSidechain": False,
                "userType": "external",
                "message": content,
                MARK: turn or True,
            }
        )
        parent = own
    if title:
        records.append({"type": "custom-title", "customTitle": title, "sessionId": session_id, MARK: True})
    return json_lines(records)


def _result(call: OutgoingCall) -> JsonObject:
    text: list[JsonObject] = [{"type": "text", "text": call.result}] if call.result else []
    content = [*text, *map(_image, call.images)] if call.images else call.result
    result: JsonObject = {"type": "tool_result", "tool_use_id": call.id, "content": content}
    return {**result, "is_error": True} if call.failed else result


def _image(image: OutgoingImage) -> JsonObject:
    return {"type": "image", "source": {"type": "base64", "media_type": image.media_type, "data": image.data}}

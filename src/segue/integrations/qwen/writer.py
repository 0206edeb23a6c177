"""A conversation as a session for `qwen --resume`."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from segue.integrations.format.google import inline_images, response_piece
from segue.integrations.format.outgoing import iso_ms, json_lines, rising
from segue.integrations.format.transcript import MARK

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from segue.integrations.format.outgoing import OutgoingMessage
    from segue.model import JsonObject

_PROVENANCE = {"user": "real_user", "assistant": "assistant_output", "tool_result": "tool_result", "system": "system"}


def write(outgoing: Sequence[OutgoingMessage], *, session_id: str, cwd: str, title: str, now: datetime) -> bytes:
    """Each record names the one before it; the field `segue` is the turn that Segue wrote it from, if there is one."""
    found = [(message.at, kind, more) for message in outgoing for kind, more in _records(message)]
    if title:
        payload = {"customTitle": title, "titleSource": "manual"}
        found.append((now, "system", {"subtype": "custom_title", "systemPayload": payload}))
    records: list[JsonObject] = []
    for moment, (_, kind, more) in zip(rising([at for at, *_ in found], now), found, strict=True):
        records.append(
            {
                "uuid": str(uuid.uuid5(uuid.UUID(session_id), str(len(records)))),
                "parentUuid": records[-1]["uuid"] if records else None,
                "sessionId": session_id,
                "timestamp": iso_ms(moment),
                "type": kind,
                "provenance": _PROVENANCE[kind],
                "cwd": cwd,
                "version": MARK,
                MARK: True,
                **more,
            }
        )
    return json_lines(records)


def _records(message: OutgoingMessage) -> Iterator[tuple[str, JsonObject]]:
    texts: list[JsonObject] = [{"text": message.text}] if message.text else []
    mark: JsonObject = {MARK: message.turn or True}
    if message.role == "user":
        yield "user", {"message": {"role": "user", "parts": [*texts, *inline_images(message.images)]}, **mark}
        return
    calls: list[JsonObject] = [
        {"functionCall": {"id": call.id, "name": call.name, "args": call.arguments}} for call in message.calls
    ]
    yield "assistant", {"model": MARK, "message": {"role": "model", "parts": [*texts, *calls]}, **mark}
    for call in message.calls:
        status = {"callId": call.id, "status": "error" if call.failed else "success", "resultDisplay": call.result}
        answer = response_piece(call, *inline_images(call.images))
        yield "tool_result", {"message": {"role": "user", "parts": [answer]}, "toolCallResult": status}

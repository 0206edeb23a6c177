"""A conversation as a session for `copilot --resume`."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING

from segue.integrations.format.copies import list_turns
from segue.integrations.format.outgoing import iso_ms, json_lines, rising
from segue.integrations.format.transcript import MARK
from segue.integrations.format.values import sendable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from segue.integrations.format.outgoing import OutgoingMessage
    from segue.model import JsonObject


def write_events(outgoing: Sequence[OutgoingMessage], *, session_id: str, cwd: str, now: datetime) -> bytes:
    """Each event names the one before it; the field `segue` marks it as written by Segue, and names the turn."""
    events = [
        (message.at, {**event, MARK: sendable(message.turn) or True})
        for message in outgoing
        for event in _events_of(message)
    ]
    moments = rising([at for at, _ in events], now)
    started = iso_ms(moments[0] if moments else now)
    start: JsonObject = {
        "type": "session.start",
        "data": {
            "sessionId": session_id,
            "version": 1,
            "producer": MARK,
            "copilotVersion": MARK,
            "startTime": started,
            "context": {"cwd": cwd},
        },
        MARK: list_turns(outgoing),
    }
    records: list[JsonObject] = []
    parent: str | None = None
    timed = [(iso_ms(at), event) for at, (_, event) in zip(moments, events, strict=True)]
    for time, event in ((started, start), *timed):
        own = str(uuid.uuid5(uuid.UUID(session_id), str(len(records))))
        records.append({**event, "id": own, "timestamp": time, "parentId": parent})
        parent = own
    return json_lines(records)


def write_description(*, session_id: str, cwd: str, title: str, now: datetime) -> bytes:
    """In YAML, in which a text of JSON means the same."""
    fields = {"id": session_id, "cwd": cwd, "name": sendable(title), "user_named": True}
    if not title:
        del fields["name"], fields["user_named"]
    fields |= {"created_at": iso_ms(now), "updated_at": iso_ms(now)}
    return "".join(f"{name}: {json.dumps(value)}\n" for name, value in fields.items()).encode("ascii")


def _events_of(message: OutgoingMessage) -> Iterator[JsonObject]:
    if message.role == "user":
        attachments = [
            {"type": "blob", "displayName": "image", "mimeType": image.media_type, "data": image.data}
            for image in message.images
        ]
        data: JsonObject = {"content": message.text, "transformedContent": message.text}
        yield {"type": "user.message", "data": {**data, **({"attachments": attachments} if attachments else {})}}
        return
    calls: list[JsonObject] = [
        {"toolCallId": call.id, "name": call.name, "arguments": call.arguments, "type": "function"}
        for call in message.calls
    ]
    answer: JsonObject = {"messageId": str(uuid.uuid4()), "content": message.text, "toolRequests": calls}
    yield {"type": "assistant.message", "data": answer}
    for call in message.calls:
        start: JsonObject = {"toolCallId": call.id, "toolName": call.name, "arguments": call.arguments}
        yield {"type": "tool.execution_start", "data": start}
    for call in message.calls:
        ended: JsonObject = {"error": {"message": call.result, "code": "failure"}}
        if not call.failed:
            ended = {"result": {"content": call.result}}
        yield {
            "type": "tool.execution_complete",
            "data": {"toolCallId": call.id, "success": not call.failed, **ended},
        }

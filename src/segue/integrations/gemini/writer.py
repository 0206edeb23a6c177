"""A conversation as a file that `gemini --session-file` takes over."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from segue.integrations.format.outgoing import iso_ms, json_lines, rising
from segue.integrations.format.transcript import MARK

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from segue.integrations.format.outgoing import OutgoingCall, OutgoingMessage
    from segue.model import JsonObject


def mark_of(session_id: str) -> str:
    """How the ids of the messages begin: Gemini gives the session a new id, and leaves theirs as they are."""
    return f"{MARK}-{session_id}-"


def write(said: Sequence[OutgoingMessage], *, session_id: str, cwd: str, now: datetime) -> bytes:
    project = sha256(cwd.encode("utf-8", "surrogateescape")).hexdigest()
    moments = rising([piece.at for piece in said], now)
    begun, ended = iso_ms(moments[0] if moments else now), iso_ms(now)
    header: JsonObject = {"sessionId": session_id, "projectHash": project, "startTime": begun, "lastUpdated": ended}
    records: list[JsonObject] = [{**header, "kind": "main"}]
    for number, (moment, piece) in enumerate(zip(moments, said, strict=True)):
        at = iso_ms(moment)
        record: JsonObject = {"id": f"{mark_of(session_id)}{number}", "timestamp": at}
        if piece.role == "user":
            records.append({**record, "type": "user", "content": [{"text": piece.text}]})
        else:
            calls: JsonObject = {"toolCalls": [_call(call, at) for call in piece.calls]} if piece.calls else {}
            records.append({**record, "type": "gemini", "content": piece.text, "model": MARK, **calls})
    return json_lines(records)


def _call(call: OutgoingCall, at: str) -> JsonObject:
    response = {"id": call.id, "name": call.name, "response": {"output": call.result}}
    made: JsonObject = {"id": call.id, "name": call.name, "args": call.arguments, "status": "success", "timestamp": at}
    return {**made, "result": [{"functionResponse": response}], "resultDisplay": call.result}

"""A conversation as a file for `gemini --session-file`."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from segue.integrations.format.google import inline_images, response_piece
from segue.integrations.format.outgoing import iso_ms, json_lines, rising
from segue.integrations.format.transcript import MARK
from segue.integrations.gemini.reader import INVISIBLE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from segue.integrations.format.outgoing import OutgoingCall, OutgoingMessage
    from segue.model import JsonObject

_IGNORED = ("/", "?", "<session_context>", "<hook_context>")
"""Gemini CLI leaves out messages of the user that start with these."""


def message_prefix(session_id: str) -> str:
    """The start of all message ids: Gemini gives the session a new id, but leaves the ids of messages unchanged."""
    return f"{MARK}-{session_id}-"


def write(outgoing: Sequence[OutgoingMessage], *, session_id: str, cwd: str, now: datetime) -> bytes:
    """The field `segue` is the turn that a message was written from; Gemini leaves it unchanged."""
    project = sha256(cwd.encode("utf-8", "surrogateescape")).hexdigest()
    moments = rising([message.at for message in outgoing], now)
    started, ended = iso_ms(moments[0] if moments else now), iso_ms(now)
    header: JsonObject = {"sessionId": session_id, "projectHash": project, "startTime": started, "lastUpdated": ended}
    records: list[JsonObject] = [{**header, "kind": "main"}]
    for number, (moment, message) in enumerate(zip(moments, outgoing, strict=True)):
        at = iso_ms(moment)
        record: JsonObject = {"id": f"{message_prefix(session_id)}{number}", "timestamp": at, MARK: message.turn}
        if message.role == "user":
            texts: list[JsonObject] = [{"text": _heard(message.text)}] if message.text else []
            records.append({**record, "type": "user", "content": [*texts, *inline_images(message.images)]})
        else:
            calls: JsonObject = {"toolCalls": [_call(call, at) for call in message.calls]} if message.calls else {}
            records.append({**record, "type": "gemini", "content": message.text, "model": MARK, **calls})
    return json_lines(records)


def _heard(text: str) -> str:
    return f"{INVISIBLE}{text}" if text.lstrip().startswith(_IGNORED) else text


def _call(call: OutgoingCall, at: str) -> JsonObject:
    return {
        "id": call.id,
        "name": call.name,
        "args": call.arguments,
        "status": "error" if call.failed else "success",
        "timestamp": at,
        "result": [response_piece(call), *inline_images(call.images)],
        "resultDisplay": call.result,
    }

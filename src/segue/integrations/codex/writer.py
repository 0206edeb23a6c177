"""A conversation as a rollout for `codex resume`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from segue.integrations.format.outgoing import iso_ms, json_lines, rising
from segue.integrations.format.transcript import MARK

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from segue.integrations.format.outgoing import OutgoingMessage
    from segue.model import JsonObject


def write(outgoing: Sequence[OutgoingMessage], *, session_id: str, cwd: str, now: datetime) -> bytes:
    """A header, then the items of the model; the field `segue` marks a line as written by Segue, for which session."""
    items: list[tuple[datetime, JsonObject]] = []
    for message in outgoing:
        if message.text:
            kind = "input_text" if message.role == "user" else "output_text"
            content = [{"type": kind, "text": message.text}]
            items.append((message.at, {"type": "message", "role": message.role, "content": content}))
        for call in message.calls:
            call_item: JsonObject = {
                "type": "function_call",
                "name": call.name,
                "arguments": json.dumps(call.arguments),
            }
            items.append((message.at, {**call_item, "call_id": call.id}))
            items.append((message.at, {"type": "function_call_output", "call_id": call.id, "output": call.result}))
    first, *rest = rising([items[0][0] if items else now, *(at for at, _ in items)], now)
    header: JsonObject = {
        "id": session_id,
        "timestamp": iso_ms(first),
        "cwd": cwd,
        "originator": MARK,
        "cli_version": "0.0.0",
        "source": "cli",
    }
    lines: list[JsonObject] = [{"timestamp": iso_ms(first), "type": "session_meta", "payload": header, MARK: True}]
    for moment, (_, item) in zip(rest, items, strict=True):
        lines.append({"timestamp": iso_ms(moment), "type": "response_item", "payload": item, MARK: True})
    return json_lines(lines)

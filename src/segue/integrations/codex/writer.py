"""A conversation as a rollout that `codex resume` takes up."""

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


def write(said: Sequence[OutgoingMessage], *, session_id: str, cwd: str, now: datetime, origin: str = "") -> bytes:
    """A header, then what the model is told; `segue` in a line says that it is not Codex's own, and whose it is."""
    items: list[tuple[datetime, JsonObject]] = []
    for piece in said:
        if piece.text:
            kind = "input_text" if piece.role == "user" else "output_text"
            content = [{"type": kind, "text": piece.text}]
            items.append((piece.at, {"type": "message", "role": piece.role, "content": content}))
        for call in piece.calls:
            made: JsonObject = {"type": "function_call", "name": call.name, "arguments": json.dumps(call.arguments)}
            items.append((piece.at, {**made, "call_id": call.id}))
            items.append((piece.at, {"type": "function_call_output", "call_id": call.id, "output": call.result}))
    first, *rest = rising([items[0][0] if items else now, *(at for at, _ in items)], now)
    header: JsonObject = {
        "id": session_id,
        "timestamp": iso_ms(first),
        "cwd": cwd,
        "originator": MARK,
        "cli_version": "0.0.0",
        "source": "cli",
    }
    lines: list[JsonObject] = [
        {"timestamp": iso_ms(first), "type": "session_meta", "payload": header, MARK: origin or True}
    ]
    for moment, (_, item) in zip(rest, items, strict=True):
        lines.append({"timestamp": iso_ms(moment), "type": "response_item", "payload": item, MARK: origin or True})
    return json_lines(lines)

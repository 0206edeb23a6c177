"""A conversation as the document that `opencode import` takes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from segue.integrations.format.outgoing import rising
from segue.integrations.format.transcript import MARK

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from segue.integrations.format.outgoing import OutgoingCall, OutgoingMessage
    from segue.model import JsonObject

_BITS = 48
_NO_TOKENS = {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}


def session_id_of(now: datetime, letters: str) -> str:
    """Sorts backwards by time, as opencode's own do."""
    return f"ses_{~_clock(now, 0) & (1 << _BITS) - 1:012x}{MARK}{letters[:9]}"


def is_ours(message_id: str) -> bool:
    return message_id[16 : 16 + len(MARK)] == MARK


def write(
    said: Sequence[OutgoingMessage], *, session_id: str, cwd: str, title: str, model: str, now: datetime
) -> bytes:
    """Ids sort by time, in front of everything that opencode adds; `model` is `provider/model`, as opencode says it."""
    letters = session_id[-9:]
    moments = rising([piece.at for piece in said], now)
    provider, _, name = model.partition("/")
    messages: list[JsonObject] = []
    asked = ""
    for number, (moment, piece) in enumerate(zip(moments, said, strict=True)):
        own = f"msg_{_clock(now, number - len(said)):012x}{MARK}{letters}"
        at = _ms(moment)
        info: JsonObject = {"id": own, "sessionID": session_id, "role": piece.role, "agent": "build"}
        if piece.role == "user":
            asked = own
            info |= {"time": {"created": at}, "model": {"providerID": provider, "modelID": name}}
        else:
            info |= {"time": {"created": at, "completed": at}, "providerID": provider, "modelID": name, "mode": "build"}
            info |= {"parentID": asked, "path": {"cwd": cwd, "root": "/"}, "cost": 0, "tokens": _NO_TOKENS}
            info |= {"finish": "tool-calls" if piece.calls else "stop"}
        parts: list[JsonObject] = [{"type": "text", "text": piece.text}] if piece.text else []
        parts += [_call(call, at) for call in piece.calls]
        for place, part in enumerate(parts):
            part |= {"id": f"prt_{own[4:]}{place:04d}", "sessionID": session_id, "messageID": own}
        messages.append({"info": info, "parts": parts})
    head: JsonObject = {"id": session_id, "slug": f"{MARK}-{letters.lower()}", "projectID": "global", "directory": cwd}
    head |= {"title": title or "A conversation of Segue", "version": "0.0.0"}
    head |= {"time": {"created": _ms(moments[0] if moments else now), "updated": _ms(now)}}
    return json.dumps({"info": head, "messages": messages}).encode("ascii")


def _call(call: OutgoingCall, at: int) -> JsonObject:
    state = {"status": "completed", "input": call.arguments, "output": call.result, "title": call.name}
    state |= {"metadata": {}, "time": {"start": at, "end": at}}
    return {"type": "tool", "callID": call.id, "tool": call.name, "state": state}


def _ms(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


def _clock(now: datetime, offset: int) -> int:
    """Milliseconds and a counter, in the bits that opencode keeps."""
    return ((_ms(now) << 12) + offset) & (1 << _BITS) - 1

"""A conversation as a document for `opencode import`."""

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
    """An id that sorts backwards by time, like those of opencode."""
    return f"ses_{~_clock(now, 0) & (1 << _BITS) - 1:012x}{MARK}{letters[:9]}"


def write(
    outgoing: Sequence[OutgoingMessage], *, session_id: str, cwd: str, title: str, model: str, now: datetime
) -> bytes:
    """Ids sort by time, before everything that opencode adds; `model` is `provider/model`."""
    letters = session_id[-9:]
    moments = rising([message.at for message in outgoing], now)
    provider, _, name = model.partition("/")
    messages: list[JsonObject] = []
    prompt_id = ""
    for number, (moment, message) in enumerate(zip(moments, outgoing, strict=True)):
        id = f"msg_{_clock(now, number - len(outgoing)):012x}{MARK}{letters}"
        at = _ms(moment)
        info: JsonObject = {"id": id, "sessionID": session_id, "role": message.role, "agent": "build"}
        if message.role == "user":
            prompt_id = id
            info |= {"time": {"created": at}, "model": {"providerID": provider, "modelID": name}}
        else:
            info |= {"time": {"created": at, "completed": at}, "providerID": provider, "modelID": name, "mode": "build"}
            info |= {"parentID": prompt_id, "path": {"cwd": cwd, "root": "/"}, "cost": 0, "tokens": _NO_TOKENS}
            info |= {"finish": "tool-calls" if message.calls else "stop"}
        parts: list[JsonObject] = [{"type": "text", "text": message.text}] if message.text else []
        parts += [_call(call, at) for call in message.calls]
        for place, part in enumerate(parts):
            part |= {"id": f"prt_{id[4:]}{place:04d}", "sessionID": session_id, "messageID": id}
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
    """Milliseconds and a counter, in as many bits as opencode uses."""
    return ((_ms(now) << 12) + offset) & (1 << _BITS) - 1

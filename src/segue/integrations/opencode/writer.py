"""A conversation as a document for `opencode import`."""

from __future__ import annotations

import json
from itertools import count
from typing import TYPE_CHECKING

from segue.integrations.format.copies import list_turns
from segue.integrations.format.outgoing import IMAGE_LEFT_OUT, rising
from segue.integrations.format.transcript import MARK
from segue.integrations.opencode.ids import message_id_of, milliseconds

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from segue.integrations.format.outgoing import OutgoingCall, OutgoingImage, OutgoingMessage
    from segue.model import JsonObject

_NO_TOKENS = {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}


def write(
    outgoing: Sequence[OutgoingMessage],
    *,
    session_id: str,
    cwd: str,
    title: str,
    model: str,
    now: datetime,
    agent: str = "build",
) -> bytes:
    """Ids sort by time, before everything that opencode adds; `model` is `provider/model`."""
    letters = session_id[-9:]
    moments = rising([message.at for message in outgoing], now)
    provider, _, name = model.partition("/")
    messages: list[JsonObject] = []
    prompt_id = ""
    for number, (moment, message) in enumerate(zip(moments, outgoing, strict=True)):
        id = message_id_of(now, number - len(outgoing), letters)
        at = milliseconds(moment)
        info: JsonObject = {"id": id, "sessionID": session_id, "role": message.role, "agent": agent}
        if message.role == "user":
            prompt_id = id
            info |= {"time": {"created": at}, "model": {"providerID": provider, "modelID": name}}
        else:
            info |= {"time": {"created": at, "completed": at}, "providerID": provider, "modelID": name, "mode": agent}
            info |= {"parentID": prompt_id, "path": {"cwd": cwd, "root": "/"}, "cost": 0, "tokens": _NO_TOKENS}
            info |= {"finish": "tool-calls" if message.calls else "stop"}
        messages.append({"info": info, "parts": _parts(message, at, session_id, id)})
    head: JsonObject = {"id": session_id, "slug": f"{MARK}-{letters.lower()}", "projectID": "global", "directory": cwd}
    head |= {"title": title or "A conversation of Segue", "version": "0.0.0"}
    head |= {"metadata": {MARK: list_turns(outgoing)}}
    head |= {"time": {"created": milliseconds(moments[0] if moments else now), "updated": milliseconds(now)}}
    return json.dumps({"info": head, "messages": messages}).encode("ascii")


def _parts(message: OutgoingMessage, at: int, session_id: str, message_id: str) -> list[JsonObject]:
    numbers = count()

    def part(kind: str, content: JsonObject) -> JsonObject:
        place = {"id": f"prt_{message_id[4:]}{next(numbers):04d}", "sessionID": session_id, "messageID": message_id}
        return {"type": kind, **place, **content}

    def image(one: OutgoingImage) -> JsonObject:
        kind = one.media_type
        name = f"image.{kind.partition('/')[2].partition('+')[0]}"
        return part("file", {"mime": kind, "filename": name, "url": f"data:{kind};base64,{one.data}"})

    found = [part("text", {"text": message.text})] if message.text else []
    found += [image(one) for one in message.images]
    for call in message.calls:
        tool = part("tool", {"callID": call.id, "tool": call.name})
        found.append({**tool, "state": _state(call, [image(one) for one in call.images], at)})
    return found


def _state(call: OutgoingCall, images: list[JsonObject], at: int) -> JsonObject:
    state: JsonObject = {"input": call.arguments, "metadata": {}, "time": {"start": at, "end": at}}
    if call.failed:
        lost = [IMAGE_LEFT_OUT for _ in images]  # a failed call has no place for them
        return {**state, "status": "error", "error": "\n".join([call.result, *lost])}
    done = {**state, "status": "completed", "output": call.result, "title": call.name}
    return {**done, "attachments": images} if images else done

"""A conversation as a rollout for `codex resume`: what its model gets, and what its screen shows and can rewind."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, NamedTuple

from segue.integrations.format.outgoing import iso_ms, json_lines, rising
from segue.integrations.format.transcript import MARK
from segue.integrations.format.values import sendable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from segue.integrations.format.outgoing import OutgoingCall, OutgoingImage, OutgoingMessage
    from segue.model import JsonObject

FAILED = "[this call failed]"
"""How the model learns it: a result of Codex has no field for it. Its screen gets the status."""
_SHOWN_AS = "handed over"
"""The name before that of a tool on its screen."""


class Line(NamedTuple):
    at: datetime
    type: str
    payload: JsonObject
    turn: str = ""
    """The id of the turn that it is from."""


def write(
    outgoing: Sequence[OutgoingMessage], *, session_id: str, cwd: str, now: datetime, provider: str = "openai"
) -> bytes:
    """A header, then the turns: every item once for the model, and once as an event for the screen.

    `provider` is the model provider that Codex is configured for: it refuses a session without one. The field `segue`
    marks a line as written by Segue, with the id of the turn that it is from.
    """
    lines: list[Line] = []
    for number, messages in enumerate(_split_at_users(outgoing)):
        lines += _Task(session_id, number).lines(messages)
    first, *rest = rising([lines[0].at if lines else now, *(line.at for line in lines)], now)
    header: JsonObject = {
        "session_id": session_id,
        "id": session_id,
        "timestamp": iso_ms(first),
        "cwd": cwd,
        "originator": MARK,
        "cli_version": "0.0.0",
        "source": "cli",
        "thread_source": "user",
        "model_provider": provider,
        "history_mode": "paginated",
    }
    return json_lines(
        [
            {
                "timestamp": iso_ms(moment),
                "ordinal": number,
                "type": line.type,
                "payload": line.payload,
                MARK: line.turn or True,
            }
            for number, (moment, line) in enumerate(
                zip([first, *rest], [Line(first, "session_meta", header), *lines], strict=True)
            )
        ]
    )


def _split_at_users(outgoing: Sequence[OutgoingMessage]) -> Iterator[list[OutgoingMessage]]:
    """The messages in groups that start with the user: Codex rewinds to the start of one."""
    group: list[OutgoingMessage] = []
    for message in outgoing:
        if message.role == "user" and group:
            yield group
            group = []
        group.append(message)
    if group:
        yield group


class _Task:
    """A message of the user, and everything up to the next one."""

    def __init__(self, session_id: str, number: int) -> None:
        self._session_id = session_id
        self._id = str(uuid.uuid5(uuid.UUID(session_id), str(number)))
        self._items = 0

    def lines(self, messages: Sequence[OutgoingMessage]) -> Iterator[Line]:
        started, ended = messages[0].at, messages[-1].at
        moment = int(started.timestamp())
        yield Line(started, "event_msg", {"type": "task_started", "turn_id": self._id, "started_at": moment})
        for message in messages:
            yield from self._message(message)
        last = next((message.text for message in reversed(messages) if message.role == "assistant"), None)
        end: JsonObject = {"type": "task_complete", "turn_id": self._id, "last_agent_message": last or None}
        yield Line(ended, "event_msg", end)

    def _message(self, message: OutgoingMessage) -> Iterator[Line]:
        if message.text or message.images:
            is_user = message.role == "user"
            content = _content(message.text, message.images, "input_text" if is_user else "output_text")
            yield _item(message, {"type": "message", "role": message.role, "content": content})
            yield self._shown(message.at, _user_item(message) if is_user else _agent_item(message))
        for call in message.calls:
            given = {"type": "function_call", "name": call.name, "arguments": json.dumps(call.arguments)}
            yield _item(message, {**given, "call_id": call.id})
        for call in message.calls:
            yield self._shown(message.at, _call_item(call), call.id)
            yield _item(message, {"type": "function_call_output", "call_id": call.id, "output": _output(call)})

    def _shown(self, at: datetime, item: JsonObject, id: str = "") -> Line:
        self._items += 1
        shown: JsonObject = {**item, "id": id or f"{self._id}-{self._items}"}
        event: JsonObject = {"type": "item_completed", "thread_id": self._session_id, "turn_id": self._id}
        return Line(at, "event_msg", {**event, "item": shown})


def _item(message: OutgoingMessage, item: JsonObject) -> Line:
    return Line(message.at, "response_item", item, sendable(message.turn))


def _content(text: str, images: Sequence[OutgoingImage], kind: str) -> list[JsonObject]:
    blocks: list[JsonObject] = [{"type": kind, "text": text}] if text else []
    blocks += [{"type": "input_image", "image_url": _url(image)} for image in images]
    return blocks


def _url(image: OutgoingImage) -> str:
    return f"data:{image.media_type};base64,{image.data}"


def _output(call: OutgoingCall) -> object:
    text = f"{FAILED}\n{call.result}" if call.failed else call.result
    return _content(text, call.images, "input_text") if call.images else text


def _user_item(message: OutgoingMessage) -> JsonObject:
    texts: list[JsonObject] = [{"type": "text", "text": message.text}] if message.text else []
    images: list[JsonObject] = [{"type": "image", "image_url": _url(image)} for image in message.images]
    return {"type": "UserMessage", "content": [*texts, *images]}


def _agent_item(message: OutgoingMessage) -> JsonObject:
    return {"type": "AgentMessage", "content": [{"type": "Text", "text": message.text}]}


def _call_item(call: OutgoingCall) -> JsonObject:
    """A call of a tool that Codex does not have, in the form in which its screen shows such."""
    shown: JsonObject = {"type": "McpToolCall", "server": _SHOWN_AS, "tool": call.name, "arguments": call.arguments}
    if call.failed:
        return {**shown, "status": "failed", "error": {"message": call.result}}
    return {**shown, "status": "completed", "result": {"content": [{"type": "text", "text": call.result}]}}

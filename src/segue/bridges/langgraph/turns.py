"""Messages of LangChain as turns, and the branch that they belong to."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING

from langchain_core.messages import AIMessage, BaseMessage, ChatMessage, FunctionMessage, SystemMessage, ToolMessage

from segue.bridges.langgraph.records import Position
from segue.bridges.sessions import new_id
from segue.clock import utc_now
from segue.integrations.format.openai_messages import parse_image
from segue.integrations.format.parts import call_part, image_part, reasoning_part, result_part, usage_of
from segue.integrations.format.values import as_count, as_text, child
from segue.model import ROLES, BranchCreated, BranchSwitched, Turn, is_moment
from segue.session import free_branch_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segue.model import Event, JsonObject, Overview

_ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "tool"}
_IMAGES = {"image", "image_url", "input_image"}
_THOUGHTS = {"reasoning", "thinking"}


def is_message_list(value: object) -> bool:
    return type(value) is list and bool(value) and all(isinstance(item, BaseMessage) for item in value)


def turn_of(message: BaseMessage, *, branch: str, moment: datetime) -> Turn:
    """The message as a turn; the message itself is in the record of its checkpoint."""
    text, parts = _content(message.content)
    if isinstance(message, ToolMessage):
        images = [part for part in parts if part.get("type") == "image"]
        parts = [result_part(message.tool_call_id, text, failed=message.status == "error", images=images)]
    elif isinstance(message, AIMessage):
        parts += [call_part(call.get("id"), call.get("name"), _plain(call.get("args"))) for call in message.tool_calls]
        parts += [call_part(call.get("id"), call.get("name"), call.get("args")) for call in message.invalid_tool_calls]
    elif isinstance(message, FunctionMessage):
        parts = [result_part(message.name, text)]
    usage = _usage(message)
    extra: JsonObject = {"usage": usage} if usage else {}
    if message.id:
        extra["message_id"] = message.id
    if message.name:
        extra["name"] = message.name
    tokens = as_count(usage.get("output_tokens"))
    return Turn(
        role=_role(message),
        content=text,
        timestamp=moment,
        tokens=tokens,
        tokens_by="" if tokens is None else "provider",
        model=_model(message),
        branch=branch,
        parts=tuple(parts),
        id=new_id(),
        extra=extra,
    )


def moment_of(timestamp: object) -> datetime:
    """The time of a checkpoint; the current time if it has none that can be recorded."""
    try:
        found = datetime.fromisoformat(str(timestamp))
    except ValueError:
        return utc_now()
    return found if is_moment(found) and found.utcoffset() == utc_now().utcoffset() else utc_now()


class Conversation:
    """The messages of a new checkpoint, compared with those of the one that it follows.

    Both begin with `common` messages; the next `trimmed` of the old ones were left out, and then follow all others.
    """

    def __init__(self, common: int, trimmed: int, messages: Sequence[BaseMessage], channel: str) -> None:
        self._common = common
        self._trimmed = trimmed
        self._messages = messages
        self._channel = channel

    def events(
        self, overview: Overview, before: Position, *, is_tip: bool, moment: datetime
    ) -> tuple[list[Event], Position]:
        """The turns to record, after the position of the checkpoint before. If they do not fit there, on a branch."""
        if self._trimmed:  # the state has become shorter, the conversation has not
            at, first, lead = before.count, before.length - self._trimmed, self._common
        else:
            at, first, lead = before.turn_of(self._common), self._common, min(before.lead, self._common)
        events, branch = continue_at(overview, before.branch, at, is_tip=is_tip, moment=moment)
        events += [turn_of(message, branch=branch, moment=moment) for message in self._messages[first:]]
        count, length = at + len(self._messages) - first, len(self._messages)
        return events, Position(branch, count, 0 if count == length else lead, length, self._channel)


def continue_at(overview: Overview, branch: str, at: int, *, is_tip: bool, moment: datetime) -> tuple[list[Event], str]:
    """What makes the branch active on which the turn after the first `at` can be recorded, and its name."""
    count = overview.get_branch(branch).turn_count
    at = min(at, count)  # a file may claim more turns than there are
    if is_tip and at == count:
        switch = BranchSwitched(branch=branch, timestamp=moment, id=new_id())
        return [] if branch == overview.branch else [switch], branch
    name = free_branch_name(overview)
    return [BranchCreated(name=name, parent=branch, at=at, timestamp=moment, id=new_id())], name


def may_be_trimmed(before: Position, old: Sequence[BaseMessage], common: int) -> bool:
    """Whether messages after the first `common` can be left out of the state and stay in the conversation.

    The first ones may stay if they are system messages, and if nothing else was left out after others before.
    """
    if common == 0:
        return not before.lead
    is_lead = all(isinstance(message, SystemMessage) for message in old[:common])
    return is_lead and (before.lead == common or (not before.lead and before.count == before.length))


def _role(message: BaseMessage) -> str:
    if isinstance(message, ChatMessage):
        return message.role if message.role in ROLES else "user"
    kind = message.type.removesuffix("MessageChunk").lower()
    return _ROLES.get(kind, "user")


def _content(content: object) -> tuple[str, list[JsonObject]]:
    """The text of a message, and what it has in addition. Calls are elsewhere."""
    if isinstance(content, str):
        return content, []
    texts: list[str] = []
    parts: list[JsonObject] = []
    for block in content if isinstance(content, list) else []:
        if isinstance(block, str):
            texts.append(block)
            continue
        if not isinstance(block, dict):
            continue
        kind = str(block.get("type"))
        if kind in _THOUGHTS:
            parts.append(reasoning_part(_plain(block.get("reasoning") or block.get("thinking"))))
        elif kind in _IMAGES:
            parts.append(_image(block))
        elif isinstance(text := block.get("text"), str):
            texts.append(text)
    return "\n\n".join(filter(None, texts)), parts


def _image(block: JsonObject) -> JsonObject:
    """An image in one of the forms that providers use; nothing is fetched."""
    source = child(block, "source") or block
    data = source.get("base64") or source.get("data")
    if isinstance(data, str):
        return image_part(source.get("mime_type") or source.get("media_type"), data)
    return parse_image(block)


def _usage(message: BaseMessage) -> JsonObject:
    used = message.usage_metadata if isinstance(message, AIMessage) else None
    if not used:
        return {}
    counts: JsonObject = {**used}
    inputs, outputs = child(counts, "input_token_details"), child(counts, "output_token_details")
    return usage_of(
        input=counts.get("input_tokens"),
        cached=inputs.get("cache_read"),
        cache_written=inputs.get("cache_creation"),
        output=counts.get("output_tokens"),
        reasoning=outputs.get("reasoning"),
    )


def _model(message: BaseMessage) -> str:
    found = message.response_metadata.get("model_name") or message.response_metadata.get("model")
    return found if isinstance(found, str) else ""


def _plain(value: object) -> object:
    """The value as JSON that can be recorded; what is not JSON becomes text."""
    try:
        return json.loads(json.dumps(value, default=str, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        return as_text(str(value))

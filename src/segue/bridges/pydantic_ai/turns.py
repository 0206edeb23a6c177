"""The messages of Pydantic AI, in their JSON form, as turns that people read and search."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from segue.bridges.sessions import new_id
from segue.clock import utc_now
from segue.errors import UsageError
from segue.integrations.format.parts import (
    call_part,
    file_part,
    image_part,
    notice_part,
    reasoning_part,
    result_part,
    summary_part,
    usage_of,
)
from segue.integrations.format.values import as_count, as_text, child, objects
from segue.model import JsonObject, Turn, check_json, is_moment
from segue.transfer.stored_turn import stored_turn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

_STANDARD_ALPHABET = str.maketrans("-_", "+/")  # the one of Pydantic is for URLs


class _Said(NamedTuple):
    """A part of a message: who said it, what a person reads of it, and what it has in addition."""

    role: str
    text: str = ""
    parts: Sequence[JsonObject] = ()


def turns_of(message: JsonObject, native: JsonObject, *, branch: str, put_blob: Callable[[bytes], str]) -> list[Turn]:
    """The turns of a message: one for each change of the speaker. The last one has the message itself, in `native`."""
    found = _turns(message, branch)
    found[-1] = replace(found[-1], native=native)
    return [stored_turn(turn, put_blob) for turn in found]


def title_of(messages: Iterable[JsonObject]) -> str:
    """What the user asked first; empty if that is nothing."""
    texts = (said.text for message in messages for said in _said_in(message) if said.role == "user")
    return next((text for text in texts if text.strip()), "")


def _turns(message: JsonObject, branch: str) -> list[Turn]:
    is_answer = message.get("kind") == "response"
    time = _time_of(message)
    model = as_text(message.get("model_name") or message.get("model_id")) if is_answer else ""
    groups: list[list[_Said]] = []
    for said in _said_in(message):
        # A notice or a summary is a turn of its own: nobody said what is in it.
        if groups and groups[-1][0].role == said.role and said.role != "system":
            groups[-1].append(said)
        else:
            groups.append([said])
    if not groups:
        groups = [[_Said("assistant")] if is_answer else [_Said("system", "", [notice_part()])]]
    turns = [
        Turn(
            role=group[0].role,
            content="\n\n".join(said.text for said in group if said.text),
            timestamp=time,
            tokens=None,
            model=model if group[0].role == "assistant" else "",
            partial=is_answer and message.get("state", "complete") != "complete",
            branch=branch,
            parts=tuple(part for said in group for part in said.parts),
            id=new_id(),
        )
        for group in groups
    ]
    if is_answer:
        turns[-1] = _with_usage(turns[-1], child(message, "usage"))
    return turns


def _with_usage(turn: Turn, usage: JsonObject) -> Turn:
    counted = usage_of(
        input=usage.get("input_tokens"),
        cached=usage.get("cache_read_tokens"),
        cache_written=usage.get("cache_write_tokens"),
        output=usage.get("output_tokens"),
        reasoning=usage.get("output_reasoning_tokens"),
        cost_usd=_cost(usage.get("cost")),
    )
    counted = {name: value for name, value in counted.items() if value}
    if not counted:
        return turn
    return replace(turn, tokens=as_count(usage.get("output_tokens")), tokens_by="provider", extra={"usage": counted})


def _cost(value: object) -> object:
    """A decimal number, which is a text in JSON."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return None


def _said_in(message: JsonObject) -> Iterator[_Said]:
    for part in objects(message.get("parts")):
        yield from _said(part)


def _said(part: JsonObject) -> Iterator[_Said]:
    content = part.get("content")
    match part.get("part_kind"):
        case "system-prompt":
            yield _Said("system", as_text(content))
        case "user-prompt":
            yield _Said("user", *_mixed(content))
        case "text":
            yield _Said("assistant", as_text(content))
        case "thinking":
            yield _Said("assistant", "", [reasoning_part(content)] if content else [])
        case "tool-call" | "builtin-tool-call":
            yield _Said("assistant", "", [_call(part)])
        case "tool-return" | "builtin-tool-return":
            yield _result(part, failed=part.get("outcome", "success") != "success")
        case "retry-prompt" if part.get("tool_name"):
            yield _result(part, failed=True)
        case "retry-prompt" | "retry-feedback":
            yield _Said("system", as_text(content), [notice_part()])
        case "compaction" if content:
            yield _Said("system", as_text(content), [summary_part()])
        case "file":
            yield _Said("assistant", "", [_file(content)] if isinstance(content, dict) else [])
        case "speech":
            yield _Said("user" if part.get("speaker") == "user" else "assistant", as_text(part.get("transcript")))
        case _:
            return  # what changed about instructions, tools and settings; it is in the message


def _call(part: JsonObject) -> JsonObject:
    arguments = part.get("args")
    try:
        arguments = json.loads(arguments) if isinstance(arguments, str) and arguments else arguments or {}
        check_json(arguments, "arguments")
    except (ValueError, RecursionError, UsageError):
        arguments = as_text(part.get("args"))  # as the model wrote them
    return call_part(part.get("tool_call_id"), part.get("tool_name"), arguments)


def _result(part: JsonObject, *, failed: bool) -> _Said:
    text, more = _mixed(part.get("content"))
    images = [one for one in more if one["type"] == "image"]
    files = [one for one in more if one["type"] != "image"]
    found = result_part(part.get("tool_call_id"), text, failed=failed, images=images)
    return _Said("tool", text, [found, *files])


def _mixed(content: object) -> tuple[str, list[JsonObject]]:
    """What a prompt or a result contains: its text, and its images and files."""
    items = content if isinstance(content, list) else [content]
    texts: list[str] = []
    parts: list[JsonObject] = []
    for item in items:
        if not isinstance(item, dict):
            texts.append(as_text(item))
        elif item.get("kind") in ("text-content", "structured-content"):
            texts.append(as_text(item.get("content")))
        elif item.get("kind") in ("binary", "image-url", "audio-url", "video-url", "document-url", "uploaded-file"):
            parts.append(_file(item))
        elif item.get("kind") != "cache-point":
            texts.append(as_text(item))
    if (
        isinstance(content, list)
        and not parts
        and not all(isinstance(item, str) or _is_content(item) for item in items)
    ):
        return as_text(content), []  # a list of values, which reads better as it is
    return "\n\n".join(text for text in texts if text), parts


def _is_content(item: object) -> bool:
    return isinstance(item, dict) and item.get("kind") in ("text-content", "structured-content", "cache-point")


def _file(item: JsonObject) -> JsonObject:
    media, data = as_text(item.get("media_type")), item.get("data")
    if media.startswith("image/") and isinstance(data, str):
        return image_part(media, data.translate(_STANDARD_ALPHABET))
    return file_part(item.get("url") or item.get("file_id") or item.get("identifier") or media)


def _time_of(message: JsonObject) -> datetime:
    for holder in (message, *objects(message.get("parts"))):
        if (found := _time(holder.get("timestamp"))) is not None:
            return found
    return utc_now()


def _time(value: object) -> datetime | None:
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else None
        if found is None:
            return None
        found = found.replace(tzinfo=UTC) if found.tzinfo is None else found
        return found.astimezone(UTC) if is_moment(found) else None
    except (ValueError, OverflowError):
        return None

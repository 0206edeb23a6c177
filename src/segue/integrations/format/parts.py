"""The parts of a turn: what it has in addition to its text, in the same form for every tool.

| type | on a turn of | what it is |
|---|---|---|
| `tool_call` | assistant | a call: `id`, `name`, `arguments` |
| `tool_call` | user | a command that the user ran in the tool, such as `!ls`; its result follows in a turn of a tool |
| `tool_result` | tool | the result of a call: `id`, `content`, `is_error` if it failed, `images` if it has some |
| `reasoning` | assistant | what the model thought: `text` |
| `image` | user | `media_type`, and `data` in base64 or, in a store, `hash`; neither if the tool does not have it |
| `file` | user | a file that the user attached: `path`, and `content` if the tool recorded it |
| `summary` | system | the text of the turn is the tool's own summary of the turns before it |
| `notice` | system | the text of the turn is what the tool told the model by itself: nobody said it |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from segue.integrations.format.values import as_amount, as_count, as_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segue.model import JsonObject


def call_part(id: object, name: object, arguments: object) -> JsonObject:
    return {"type": "tool_call", "id": as_text(id), "name": as_text(name), "arguments": arguments}


def result_part(id: object, content: str, *, failed: bool = False, images: Sequence[JsonObject] = ()) -> JsonObject:
    part: JsonObject = {"type": "tool_result", "id": as_text(id), "content": content}
    if failed:
        part["is_error"] = True
    if images:
        part["images"] = list(images)
    return part


def reasoning_part(text: object) -> JsonObject:
    return {"type": "reasoning", "text": as_text(text)}


def image_part(media_type: object = "", data: object = "") -> JsonObject:
    """An image, with its data in base64 if the tool recorded it."""
    part: JsonObject = {"type": "image"}
    if media_type:
        part["media_type"] = as_text(media_type)
    if isinstance(data, str) and data:
        part["data"] = data
    return part


def has_image_data(part: JsonObject) -> bool:
    """Whether the part has what a tool needs to show the image to a model."""
    return all(isinstance(value := part.get(name), str) and value for name in ("media_type", "data"))


def file_part(path: object, content: object = None) -> JsonObject:
    """A file that the user attached, with its text if the tool recorded it."""
    part: JsonObject = {"type": "file", "path": as_text(path)}
    return {**part, "content": content} if isinstance(content, str) else part


def summary_part() -> JsonObject:
    return {"type": "summary"}


def notice_part() -> JsonObject:
    return {"type": "notice"}


class _HasParts(Protocol):
    @property
    def parts(self) -> Sequence[JsonObject]: ...


def has_part(turn: _HasParts, kind: str) -> bool:
    return any(part.get("type") == kind for part in turn.parts)


def usage_of(
    *,
    input: object = None,
    cached: object = None,
    cache_written: object = None,
    output: object = None,
    reasoning: object = None,
    cost_usd: object = None,
) -> JsonObject:
    """What an answer used, as far as the tool recorded it. `input` includes what was cached."""
    counts = {
        "input_tokens": input,
        "cached_tokens": cached,
        "cache_written_tokens": cache_written,
        "output_tokens": output,
        "reasoning_tokens": reasoning,
    }
    usage: JsonObject = {name: count for name, value in counts.items() if (count := as_count(value)) is not None}
    if (cost := as_amount(cost_usd)) and cost > 0:
        usage["cost_usd"] = cost
    return usage

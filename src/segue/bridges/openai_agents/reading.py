"""What an item of the SDK says: who, which text, which calls and results."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from segue.integrations.format.openai_messages import parse_arguments, parse_image
from segue.integrations.format.parts import (
    call_part,
    file_part,
    image_part,
    notice_part,
    reasoning_part,
    result_part,
)
from segue.integrations.format.values import as_text, objects, texts

if TYPE_CHECKING:
    from segue.model import JsonObject

_ROLES = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system", "tool": "tool"}
_TEXTS = ("input_text", "output_text", "text", "refusal")
_ARGUMENTS = ("arguments", "input", "action", "operation", "queries", "code", "actions")
_RESULTS = ("output", "results", "outputs", "tools")
_NOTICES = {
    "compaction": "earlier turns were compacted",
    "item_reference": "a reference to an item on the server",
    "mcp_list_tools": "the tools of an MCP server",
}


class ReadItem(NamedTuple):
    role: str
    text: str
    parts: list[JsonObject]


def read_item(item: JsonObject) -> ReadItem:
    kind = as_text(item.get("type"))
    if kind == "reasoning":
        found = [texts(item.get("summary"), ("summary_text",)), texts(item.get("content"), ("reasoning_text", "text"))]
        text = "\n\n".join(filter(None, found))
        return ReadItem("assistant", "", [reasoning_part(text)] if text else [])
    if kind in _NOTICES or "__enc__" in item:
        return ReadItem("system", f"[{_NOTICES.get(kind, 'an encrypted item')}]", [notice_part()])
    if kind.endswith(("_output", "_response")):
        return _result(item, kind)
    if kind.endswith(("_call", "_request")) or kind == "program":
        return _call(item, kind)
    if "role" in item or "content" in item:
        return _message(item)
    return ReadItem("system", f"[{kind or 'an item'}]", [notice_part()])


def tool_name(item: JsonObject) -> str:
    """The name of the tool that an item calls."""
    kind = as_text(item.get("type"))
    name = as_text(item.get("name"))
    if server := as_text(item.get("server_label")):
        return f"{server}.{name}" if name else server
    return name or kind.removesuffix("_call")


def _message(item: JsonObject) -> ReadItem:
    role = _ROLES.get(as_text(item.get("role")), "user")
    text, parts = _content(item.get("content"))
    return ReadItem(role, text, parts)


def _call(item: JsonObject, kind: str) -> ReadItem:
    """A call. Tools that the provider runs have their result in the same item."""
    id = as_text(item.get("call_id") or item.get("id"))
    given = next((item[name] for name in _ARGUMENTS if item.get(name) is not None), None)
    parts = [call_part(id, tool_name(item), parse_arguments(given))]
    if isinstance(item.get("result"), str):
        parts.append(result_part(id, as_text(item.get("status")), images=[image_part("image/png", item["result"])]))
    elif found := [item[name] for name in _RESULTS if item.get(name) is not None]:
        parts.append(result_part(id, _content(found[0])[0], failed=_is_failed(item)))
    elif item.get("error") is not None:
        parts.append(result_part(id, as_text(item["error"]), failed=True))
    elif kind in {"web_search_call", "image_generation_call"} and item.get("status") in {"completed", "failed"}:
        parts.append(result_part(id, as_text(item["status"]), failed=_is_failed(item)))
    return ReadItem("assistant", "", parts)


def _result(item: JsonObject, kind: str) -> ReadItem:
    id = as_text(item.get("call_id") or item.get("approval_request_id") or item.get("id"))
    if kind == "mcp_approval_response":
        text: str = "approved" if item.get("approve") else "not approved"
        images: list[JsonObject] = []
    else:
        found = next((item[name] for name in _RESULTS if item.get(name) is not None), "")
        text, parts = _content(found)
        images = [part for part in parts if part.get("type") == "image"]
    return ReadItem("tool", text, [result_part(id, text, failed=_is_failed(item), images=images)])


def _is_failed(item: JsonObject) -> bool:
    return item.get("status") in {"failed", "incomplete"} or item.get("error") is not None


def _content(value: object) -> tuple[str, list[JsonObject]]:
    """The text of a content and its images and files. What is not a text or a known part is shown as JSON."""
    if isinstance(value, dict) and value.get("type") in {"computer_screenshot", "input_image"}:
        return "", [parse_image(value)]
    blocks = objects(value)
    if not isinstance(value, list) or len(blocks) != len(value) or not all("type" in block for block in blocks):
        return as_text(value), []
    found: list[str] = []
    parts: list[JsonObject] = []
    for block in blocks:
        kind = block.get("type")
        if kind in _TEXTS:
            found.append(as_text(block.get("refusal") if kind == "refusal" else block.get("text")))
        elif kind == "input_image":
            parts.append(parse_image(block))
        elif kind == "input_file":
            parts.append(file_part(block.get("filename") or block.get("file_id") or block.get("file_url")))
        else:
            found.append(as_text(block))
    return "\n\n".join(filter(None, found)), parts

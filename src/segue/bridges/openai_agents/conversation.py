"""A history turn by turn: what the user asked, which tools each turn used, how much it has used."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct, ValidationError, convert

from segue.bridges.openai_agents.items import is_user_message, items_of, number_of
from segue.integrations.format.values import as_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import datetime

    from segue.model import JsonObject, Turn

_PREVIEW = 100
_CALLS = {
    "tool_call",
    "function_call",
    "computer_call",
    "file_search_call",
    "web_search_call",
    "code_interpreter_call",
    "tool_search_call",
    "custom_tool_call",
    "mcp_call",
    "mcp_approval_request",
    "shell_call",
    "apply_patch_call",
}
_NAMED = {"tool_call", "function_call", "custom_tool_call", "mcp_call", "mcp_approval_request"}
"""Calls with the name of the tool; the others are called like their type."""


class Entry(NamedTuple):
    """An item in its history."""

    number: int
    """How many messages of the user there are up to it."""
    place: int
    """The number of turns before its turn."""
    item: JsonObject
    turn: Turn


class RunUsage(Struct, frozen=True, kw_only=True):
    """What a run has used, as it is stored."""

    branch: str
    turn: int
    first: str
    """The id of the turn that it began with: if that is gone, so is the usage."""
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    input_tokens_details: dict[str, Any] | None = None
    output_tokens_details: dict[str, Any] | None = None

    def as_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__struct_fields__[3:]}


def parse_usage(data: JsonObject) -> RunUsage | None:
    try:
        return convert(data, RunUsage)
    except ValidationError:
        return None


def sum_usage(found: Sequence[RunUsage]) -> dict[str, int] | None:
    if not found:
        return None
    names = ("requests", "input_tokens", "output_tokens", "total_tokens")
    return {**{name: sum(getattr(usage, name) for usage in found) for name in names}, "total_turns": len(found)}


def as_timestamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M:%S")


def entries_of(turns: Iterable[Turn], get_blob: Callable[[str], bytes]) -> Iterator[Entry]:
    """The items of a branch from its first turn on."""
    number = 0
    for place, turn in enumerate(turns):
        for item in items_of(turn, get_blob):
            own = number_of(turn)
            number = own if own is not None else number + is_user_message(item)
            yield Entry(number, place, item, turn)


def user_turns(entries: Iterable[Entry], *, preview: int | None = _PREVIEW) -> list[dict[str, Any]]:
    return [
        {
            "turn": entry.number,
            "content": _preview(entry.item.get("content", ""), preview),
            "full_content": entry.item.get("content", ""),
            "timestamp": as_timestamp(entry.turn.timestamp),
            "can_branch": True,
        }
        for entry in entries
        if is_user_message(entry.item)
    ]


def find_user_turns(entries: Iterable[Entry], text: str) -> list[dict[str, Any]]:
    """The messages of the user with this text; upper and lower case are the same for ASCII letters."""
    pattern = re.compile(re.escape(text), re.IGNORECASE | re.ASCII)
    found = user_turns(entries, preview=None)
    return [turn for turn in found if any(pattern.search(one) for one in _texts(turn["full_content"]))]


def by_turns(entries: Iterable[Entry]) -> dict[int, list[dict[str, str | None]]]:
    turns: dict[int, list[dict[str, str | None]]] = {}
    for entry in entries:
        kind, name = _type_of(entry.item), _tool_name(entry.item)
        turns.setdefault(entry.number, []).append({"type": kind, "tool_name": name})
    return turns


def tool_usage(entries: Sequence[Entry]) -> list[tuple[str, int, int]]:
    """How often each turn called each tool. A result of a search without its call counts as one."""
    used: Counter[tuple[str, int]] = Counter()
    searched = {entry.number for entry in entries if _type_of(entry.item) == "tool_search_call"}
    for entry in entries:
        kind = _type_of(entry.item)
        if kind in _CALLS or (kind == "tool_search_output" and entry.number not in searched):
            used[as_text(_tool_name(entry.item)), entry.number] += 1
    ordered = sorted(used.items(), key=lambda one: (one[0][1], one[0][0]))
    return [(name, count, number) for (name, number), count in ordered]


def _preview(content: object, limit: int | None) -> str:
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    return f"{text[:limit]}..." if limit is not None and len(text) > limit else text


def _texts(content: object) -> list[str]:
    if isinstance(content, list):
        return [as_text(part.get("text")) for part in content if isinstance(part, dict)]
    return [as_text(content)]


def _type_of(item: JsonObject) -> str:
    role = as_text(item.get("role"))
    return role if role in {"user", "assistant"} else as_text(item.get("type")) or "other"


def _tool_name(item: JsonObject) -> str | None:
    kind, name = as_text(item.get("type")), item.get("name")
    if kind in {"mcp_call", "mcp_approval_request"} and "server_label" in item:
        return ".".join(filter(None, [as_text(item.get("server_label")), as_text(name)])) or None
    if kind.startswith("tool_search_"):
        return "tool_search"
    if kind in _CALLS - _NAMED:
        return kind
    if name is None:
        return None
    space = as_text(item.get("namespace"))
    return f"{space}.{name}" if space and space != name else str(name)

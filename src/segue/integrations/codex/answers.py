"""An answer of the model in a rollout: reasoning, text and calls are separate items there."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from segue.integrations.codex.messages import TEXTS
from segue.integrations.format.parts import call_part, reasoning_part
from segue.integrations.format.values import as_text, child, texts

if TYPE_CHECKING:
    from segue.integrations.format.lines import LinePlace
    from segue.model import JsonObject

CALLS = {
    "function_call": "arguments",
    "custom_tool_call": "input",
    "local_shell_call": "action",
    "tool_search_call": "arguments",
}
HOSTED = {"web_search_call": "web_search", "image_generation_call": "image_generation"}
"""Calls that the provider runs: they have no record for the result."""


class Answer:
    """Consecutive items of the model as one turn: reasoning, text and calls are separate items."""

    def __init__(self) -> None:
        self.size_bytes = 0
        self.records: list[tuple[LinePlace, JsonObject]] = []

    def content(self) -> str:
        found = [texts(item.get("content"), TEXTS) for item in self._items() if item.get("type") == "message"]
        return "\n\n".join(text for text in found if text)

    def parts(self, rollout_id: str) -> list[JsonObject]:
        found: list[JsonObject] = []
        for (at, _), item in zip(self.records, self._items(), strict=True):
            match item.get("type"):
                case "reasoning":
                    thoughts = [texts(item.get("summary"), ("summary_text",))]
                    thoughts.append(texts(item.get("content"), ("reasoning_text", "text")))
                    text = "\n\n".join(filter(None, thoughts))
                    found += [reasoning_part(text)] if text else []
                case str(kind) if kind in CALLS:
                    given = _arguments(item.get(CALLS[kind]))
                    found.append(call_part(item.get("call_id"), item.get("name") or kind, given))
                case str(kind) if kind in HOSTED:
                    action = item.get("action") or {"prompt": item.get("revised_prompt")}
                    found.append(call_part(call_id(item, f"{rollout_id}:{at.number}"), HOSTED[kind], action))
        return found

    def _items(self) -> list[JsonObject]:
        return [child(record, "payload") for _, record in self.records]


def call_id(item: JsonObject, key: str) -> str:
    return as_text(item.get("id")) or key


def _arguments(given: object) -> object:
    """The arguments as an object if they are one: Codex stores them as text."""
    if not isinstance(given, str):
        return given
    try:
        found: object = json.loads(given)
    except (ValueError, RecursionError):
        return given
    return found if isinstance(found, dict) else given

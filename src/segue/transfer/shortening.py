"""Turns with long texts, shortened: the beginning and the end of each text stay, and so do roles, parts and ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from segue.integrations.format.pairs import is_spoken, result_text
from segue.integrations.format.values import as_text, objects
from segue.model import Turn

if TYPE_CHECKING:
    from segue.model import JsonObject

_END_SHARE = 4
"""The part of a shortened text that is its end is one in this many."""
_TURN_CHARACTERS = 40
_IMAGE_CHARACTERS = 2_000
"""What a turn and an image cost in addition to texts."""
_SHORTENED = {"tool_result": ("content",), "file": ("content",), "tool_call": ("arguments",)}


class Shortened(Struct, frozen=True, kw_only=True):
    """A turn, and how many texts in it are shorter than they were."""

    turn: Turn
    size: int
    """How many characters a model gets of it."""
    results: int = 0
    """Results and attached files."""
    texts: int = 0
    calls: int = 0
    """Calls with shorter arguments."""

    def shorten(self, limit: int) -> Shortened:
        """The same with even shorter texts."""
        found = shorten_turn(self.turn, limit)
        return replace(
            found,
            results=max(self.results, found.results),
            texts=max(self.texts, found.texts),
            calls=max(self.calls, found.calls),
        )


def shorten_turn(turn: Turn, limit: int, *, of_words: int = 0) -> Shortened:
    """The turn, with no text longer than about the limit; what a person or a model said may have its own limit."""
    content = shorten(turn.content, of_words or limit if is_spoken(turn) else limit)
    parts = tuple(_shorten_part(part, limit) for part in turn.parts)
    results = [part for part in parts if part.get("type") == "tool_result"]
    if not is_spoken(turn) and any(part.get("content") for part in results):  # it repeats them for readers
        content = content if content == turn.content else "\n\n".join(as_text(part.get("content")) for part in results)
    found = replace(turn, content=content, parts=parts)
    is_result = bool(results) and not is_spoken(turn)
    is_cut = content != turn.content
    changed = [old.get("type") for old, new in zip(turn.parts, parts, strict=True) if old != new]
    calls = changed.count("tool_call")
    return Shortened(
        turn=found,
        size=_size(found),
        results=max(len(changed) - calls, is_result and is_cut),
        texts=int(is_cut and not is_result),
        calls=calls,
    )


def shorten(text: str, limit: int) -> str:
    """The beginning and the end of a text that is longer than the limit, and how much is missing between them."""
    if len(text) <= limit:
        return text
    end = limit // _END_SHARE
    left_out = len(text) - limit
    return f"{text[: limit - end]}\n[{left_out:,} characters are left out here]\n{text[len(text) - end :]}"


def _shorten_part(part: JsonObject, limit: int) -> JsonObject:
    names = _SHORTENED.get(as_text(part.get("type")), ())
    changed = {name: _shorten_value(part[name], limit) for name in names if name in part}
    return part if all(part[name] == value for name, value in changed.items()) else {**part, **changed}


def _shorten_value(value: object, limit: int) -> object:
    """The value with shorter texts, or as a text if it is still too long."""
    if isinstance(value, str):
        return shorten(value, limit)
    if isinstance(value, dict):
        each = {name: shorten(item, limit) if isinstance(item, str) else item for name, item in value.items()}
        if sum(len(as_text(item)) for item in each.values()) <= 2 * limit:
            return each
    text = as_text(value)
    return value if len(text) <= limit else {"input": shorten(text, limit)}


def _size(turn: Turn) -> int:
    results = [result_text(turn, part) for part in turn.parts if part.get("type") == "tool_result"]
    size = _TURN_CHARACTERS + sum(map(len, results)) + (0 if results and not is_spoken(turn) else len(turn.content))
    for part in turn.parts:
        size += len(as_text(part.get("arguments"))) if part.get("type") == "tool_call" else 0
        size += len(as_text(part.get("content"))) if part.get("type") == "file" else 0
        size += _IMAGE_CHARACTERS * (len(objects(part.get("images"))) + (part.get("type") == "image"))
    return size

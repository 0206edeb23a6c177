"""Values in the records of other tools, whichever type they have."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container

    from segue.model import JsonObject

_MILLISECONDS_FROM = 100_000_000_000
"""As seconds, it is the year 5138; as milliseconds, 1973."""
_LARGEST_AMOUNT = 2**63
_UNSENDABLE = re.compile("[\x00\ud800-\udfff]")


def as_text(value: object) -> str:
    """Any value as text: a text unchanged, None as an empty text, bytes decoded, everything else as JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "[nested too deeply]"


def as_count(value: object) -> int | None:
    """A number of things; None if the value is not one."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63 else None


def as_amount(value: object) -> float | None:
    """A number that can be calculated with; None if the value is not one."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) < _LARGEST_AMOUNT:
        return None
    return value


def as_seconds(value: object) -> object:
    """A time in seconds or milliseconds as seconds, by its magnitude; every other value unchanged."""
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value[:20])
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) > _MILLISECONDS_FROM:
        return value / 1000 if abs(value) < 2**63 else value
    return value


def objects(value: object) -> list[JsonObject]:
    """The objects in a list; empty if the value is not a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def child(record: JsonObject, *names: str) -> JsonObject:
    """The object under these names, one inside the other; empty if there is none."""
    for name in names:
        found = record.get(name)
        record = found if isinstance(found, dict) else {}
    return record


def texts(content: object, kinds: Container[str] = ("text",)) -> str:
    """The readable text of a message: the text itself, or those among its blocks."""
    if isinstance(content, str):
        return content
    return "\n\n".join(as_text(block.get("text")) for block in objects(content) if block.get("type") in kinds)


def sendable(text: str) -> str:
    """The text without what no tool accepts: lone surrogates and NUL."""
    return _UNSENDABLE.sub("\ufffd", text)

"""A preset, and the parser of its fields."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from msgspec import Struct

from segue.model import JsonObject
from segue.presets.drift import hash_prompt

if TYPE_CHECKING:
    from collections.abc import Callable

NAME_LENGTH = 100
MAX_TEMPERATURE = 2.0
"""No provider accepts a higher temperature."""

_OUTER_COMMA = re.compile(r",(?![^(]*\))")  # `Bash(git log, git diff)` is one tool


class Preset(Struct, frozen=True, kw_only=True):
    """A named system prompt with settings."""

    name: str
    description: str = ""
    model: str = ""
    backend: str = ""
    temperature: float | None = None
    max_tokens: int | None = None
    """The maximum length of an answer."""
    num_messages: int | None = None
    """The maximum number of messages that are sent."""
    tools: tuple[str, ...] = ()
    """Empty if the file does not limit them."""
    parents: tuple[str, ...] = ()
    """The names of the presets that this one inherits from."""
    scope_profile: str = ""
    confirm_tool_calls: bool | str | None = None
    """True, False or `auto`; None if it is not set."""
    system_prompt: str = ""
    extra: JsonObject = {}
    """Unknown fields of the file."""
    path: str = ""

    @property
    def hash(self) -> str:
        """`sha256:…` of the prompt; the date and the current folder in it do not count."""
        return hash_prompt(self.system_prompt)


class InvalidFieldError(ValueError):
    """Why a field of a preset is invalid."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field} {reason}")
        self.field = field


def parse_preset(fields: JsonObject, body: str, *, name: str, path: str = "") -> Preset:
    """Parse the preset of a file. Its name is that in the fields, or else `name`."""
    known: dict[str, object] = {}
    extra: JsonObject = {}
    for key, value in fields.items():
        field = key.strip().lower().replace("-", "_")
        read = _READERS.get(field)
        if read is None:
            extra[key] = value
        elif field in known:
            raise InvalidFieldError(key, "is there twice")
        elif value is not None:
            known[field] = read(key, value)
    values = {"name": _name("name", name), **known}
    return Preset(**values, system_prompt=body, extra=extra, path=path)  # type: ignore[arg-type]  # each was read by its reader


def _text(field: str, value: object) -> str:
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool | int | float):
        raise InvalidFieldError(field, f"must be text, not {value}: put it in quotes")
    raise InvalidFieldError(field, f"must be text, not {_kind(value)}")


def _name(field: str, value: object) -> str:
    text = _text(field, value)
    if not text:
        raise InvalidFieldError(field, "is empty")
    if len(text) > NAME_LENGTH or not text.isprintable():
        raise InvalidFieldError(field, f"must be one line of at most {NAME_LENGTH} visible characters")
    return text


def _names(field: str, value: object) -> tuple[str, ...]:
    """A list, or the same with commas in one text."""
    if isinstance(value, str):
        value = _OUTER_COMMA.split(value)
    if not isinstance(value, list):
        raise InvalidFieldError(field, f"must be a list or a text with commas, not {_kind(value)}")
    return tuple(text for item in value if (text := _text(field, item)))


def _temperature(field: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidFieldError(field, f"must be a number, not {_kind(value)}")
    if not math.isfinite(value) or not 0 <= value <= MAX_TEMPERATURE:
        raise InvalidFieldError(field, f"must be from 0 to {MAX_TEMPERATURE:g}, not {value}")
    return float(value)


def _count(field: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidFieldError(field, f"must be a whole number from 1 on, not {value!r:.40}")
    return value


def _confirmation(field: str, value: object) -> bool | str:
    if isinstance(value, bool) or value == "auto":
        return value
    raise InvalidFieldError(field, "must be true, false or auto")


def _kind(value: object) -> str:
    match value:
        case list():
            return "a list"
        case dict():
            return "a mapping"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return "a number"
        case _:
            return "a text"


_READERS: dict[str, Callable[[str, object], object]] = {
    "name": _name,
    "description": _text,
    "model": _text,
    "backend": _text,
    "temperature": _temperature,
    "max_tokens": _count,
    "num_messages": _count,
    "tools": _names,
    "parents": _names,
    "scope_profile": _text,
    "confirm_tool_calls": _confirmation,
}

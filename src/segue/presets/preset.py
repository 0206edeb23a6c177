"""A preset, and the parser of its fields."""

from __future__ import annotations

import re
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from segue.formats.config import find_problems
from segue.model import JsonObject
from segue.presets.drift import hash_prompt

NAME_LENGTH = 100
MAX_TEMPERATURE = 2.0
"""No provider accepts a higher temperature."""

_Text = Annotated[str, Meta(description="a text")]
_Count = Annotated[Annotated[int, Meta(ge=1)] | None, Meta(description="a whole number of at least 1")]
_Names = Annotated[tuple[str, ...], Meta(description="a list, or one text with commas")]
_TEXTS = ("name", "description", "model", "backend", "scope_profile")
_LISTS = ("tools", "parents")
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


class _PresetFields(Struct, kw_only=True):
    """The fields of a file that Segue knows, with what they accept."""

    name: _Text = ""
    description: _Text = ""
    model: _Text = ""
    backend: _Text = ""
    temperature: Annotated[
        Annotated[float, Meta(ge=0, le=MAX_TEMPERATURE)] | None,
        Meta(description=f"a number from 0 to {MAX_TEMPERATURE:g}"),
    ] = None
    max_tokens: _Count = None
    num_messages: _Count = None
    tools: _Names = ()
    parents: _Names = ()
    scope_profile: _Text = ""
    confirm_tool_calls: Annotated[bool | Literal["auto"] | None, Meta(description="true, false or auto")] = None


def parse_preset(fields: JsonObject, body: str, *, name: str, path: str = "") -> Preset:
    """Parse the preset of a file. Its name is that in the fields, or else `name`."""
    known: dict[str, object] = {}
    keys: dict[str, str] = {}
    extra: JsonObject = {}
    for key, value in fields.items():
        field = key.strip().lower().replace("-", "_")
        if field not in _PresetFields.__struct_fields__:
            extra[key] = value
        elif field in known:
            raise InvalidFieldError(key, "is set twice")
        elif value is not None:
            known[field] = _stripped(key, value, is_list=field in _LISTS)
            keys[field] = key
    for problem in find_problems(known, _PresetFields):
        is_unquoted = isinstance(known[problem.key], bool | int | float) and problem.key in _TEXTS
        reason = problem.reason.removeprefix(f"{problem.key} ")
        raise InvalidFieldError(keys[problem.key], f"{reason}: put it in quotes" if is_unquoted else reason)
    known.setdefault("name", name.strip())
    _check_name(keys.get("name", "name"), str(known["name"]))
    values = msgspec.structs.asdict(msgspec.convert(known, _PresetFields))
    return Preset(**values, system_prompt=body, extra=extra, path=path)


def _stripped(key: str, value: object, *, is_list: bool) -> object:
    """The text without surrounding blanks; of a list, or of one text with commas, the texts that are not empty."""
    if not is_list:
        return value.strip() if isinstance(value, str) else value
    items = _OUTER_COMMA.split(value) if isinstance(value, str) else value
    if not isinstance(items, list):
        return value
    for item in items:
        if not isinstance(item, str):
            kind = "a list" if isinstance(item, list) else "a mapping" if isinstance(item, dict) else f"{item}"
            raise InvalidFieldError(key, f"must contain texts, not {kind}")
    return [text for item in items if (text := item.strip())]


def _check_name(key: str, name: str) -> None:
    if not name:
        raise InvalidFieldError(key, "is empty")
    if len(name) > NAME_LENGTH or not name.isprintable():
        raise InvalidFieldError(key, f"must be one line of at most {NAME_LENGTH} visible characters")

"""Configuration files: a Struct describes the settings, and an error names the line to correct.

A field describes what it takes in its annotation: `Annotated[int, Meta(ge=1, description="a number of tokens")]`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, NamedTuple, TypeVar, get_args, get_origin

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import fields

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

T = TypeVar("T", bound=Struct)

_SHOWN = 40


class ConfigProblem(NamedTuple):
    """One setting that cannot be used, by its dotted name, and why."""

    key: str
    reason: str
    hint: str = ""


class InvalidConfigError(ValueError):
    """Why a configuration cannot be used, and on which line."""

    def __init__(self, reason: str, *, line: int, hint: str = "") -> None:
        super().__init__(reason)
        self.line = line
        self.hint = hint


def parse_toml(data: bytes, kind: type[T]) -> T:
    """The settings of a TOML file. Raises InvalidConfigError for the first thing that is wrong."""
    found = load_toml(data)
    for key, reason, hint in find_problems(found, kind):
        raise InvalidConfigError(reason, line=line_of(data.decode(), key) or 1, hint=hint)
    return msgspec.convert(found, kind)


def load_toml(data: bytes) -> dict[str, object]:
    """The values of a TOML file, whatever they are. InvalidConfigError if it is not TOML."""
    import tomllib

    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise InvalidConfigError("it is not UTF-8", line=data.count(b"\n", 0, error.start) + 1) from None
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        reason, _, place = str(error).partition(" (at ")
        number = re.match(r"line (\d+)", place)
        line = int(number[1]) if number else text.count("\n") + 1
        raise InvalidConfigError(f"it is not TOML: {reason[:1].lower()}{reason[1:]}", line=line) from None


def find_problems(values: Mapping[str, object], kind: type[Struct], prefix: str = "") -> Iterator[ConfigProblem]:
    """Every setting that the Struct does not have, or whose value it does not take."""
    known = {field.encode_name: field.type for field in fields(kind)}
    for name, value in values.items():
        key = f"{prefix}{name}"
        if name not in known:
            there = ", ".join(f"{prefix}{one}" for one in known)
            yield ConfigProblem(key, f"there is no setting {key!r:.60}", f"there are {there}")
        elif isinstance(kind := known[name], type) and issubclass(kind, Struct) and isinstance(value, dict):
            yield from find_problems(value, kind, f"{key}.")
        else:
            try:
                msgspec.convert(value, kind)
            except msgspec.ValidationError:
                yield ConfigProblem(key, f"{key} must be {_description(kind)}, not {_shown(value)}")


def line_of(text: str, key: str) -> int:
    """The line on which a dotted key is set in TOML, YAML or JSON, counted from 1; 0 if there is none."""
    lines = text.split("\n")
    for name in (key, key.rpartition(".")[2], key.partition(".")[0]):
        pattern = re.compile(rf"\s*[\[{{]*\s*[\"']?{re.escape(name)}(?![\w-])")
        if found := next((number for number, line in enumerate(lines, 1) if pattern.match(line)), 0):
            return found
    return 0


def _description(kind: object) -> str:
    if get_origin(kind) is Annotated:
        for one in get_args(kind)[1:]:
            if isinstance(one, Meta) and one.description:
                return one.description
        kind = get_args(kind)[0]
    if options := [one for one in get_args(kind) if one is not type(None)]:
        return " or ".join(map(_description, options))
    names = {str: "a text", bool: "true or false", int: "a whole number", float: "a number"}
    if isinstance(kind, type) and issubclass(kind, Struct):
        return "a table"
    return names.get(kind, "a value of another kind")  # type: ignore[call-overload, no-any-return]  # None of them


def _shown(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case dict():
            return "a table"
        case list():
            return "a list"
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"

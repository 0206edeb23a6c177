"""Settings on the command line: NAME=VALUE, and the names of those to reset."""

from __future__ import annotations

from segue.dialects.gptel.format.settings import none_of
from segue.errors import UsageError

NONE = "none"
"""The value that turns a setting off."""


def parse_changes(given: tuple[str, ...], unset: tuple[str, ...]) -> tuple[dict[str, object], set[str]]:
    """The values of NAME=VALUE arguments, and the names of settings to reset; an empty VALUE resets as well."""
    values: dict[str, object] = {}
    reset = {name.replace("-", "_") for name in unset}
    for one in given:
        name, equals, value = one.partition("=")
        if not equals:
            raise UsageError(f"{one!r:.60} is not a setting", hint="write NAME=VALUE, as in temperature=0.8")
        name = name.replace("-", "_")
        if value:
            values[name] = _value(name, value)
        else:
            reset.add(name)
    if both := sorted(values.keys() & reset):
        raise UsageError(f"{both[0]} is set and reset", hint="use --set or --unset")
    return values, reset


def _value(name: str, text: str) -> object:
    """A number, a list or a string; `none` turns the setting off."""
    if text == NONE:
        if name in {"model", "backend"}:
            raise UsageError(f"{name} cannot be none", hint=f"use --unset {name} for that of the preset")
        return none_of(name)
    if name == "tools":
        return [tool.strip() for tool in text.split(",") if tool.strip()]
    if name not in {"temperature", "max_tokens", "num_messages"}:
        return text
    try:
        return float(text) if name == "temperature" else int(text)
    except ValueError:
        raise UsageError(f"{name} must be a number or {NONE}, not {text!r:.40}") from None

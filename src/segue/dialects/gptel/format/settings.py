"""The preset and the overrides of a session as the file-local variables that gptel reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.dialects.gptel.format.lisp import Symbol, print_lisp

if TYPE_CHECKING:
    from collections.abc import Mapping

    from segue.model import JsonObject, Overview

PRESET = "gptel--preset"
BOUNDS = "gptel--bounds"
VARIABLES = {
    "model": "gptel-model",
    "backend": "gptel--backend-name",
    "system_message": "gptel--system-message",
    "tools": "gptel--tool-names",
    "temperature": "gptel-temperature",
    "max_tokens": "gptel-max-tokens",
    "num_messages": "gptel--num-messages-to-send",
}
"""By the name of the override; one that is not in here has no variable, and is only in the events."""

ALIASES = {"gptel-system-prompt": VARIABLES["system_message"]}
"""The names of some of them in newer versions of gptel."""

REMOVED = object()
"""In a mapping of changed variables, the value of one that was removed."""

_NUMBERS = {"temperature", "max_tokens", "num_messages"}
_OPTIONAL = {"system_message", "tools", *_NUMBERS}
"""What can be turned off. The override is None then, for tools an empty list, and the variable is nil."""


def variables_of(overview: Overview) -> dict[str, object]:
    """The variables of the footer, except the bounds; None is nil, which turns a setting off."""
    name = overview.preset.name if overview.preset is not None else ""
    found: dict[str, object] = {PRESET: Symbol(name)} if name else {}
    for key, variable in VARIABLES.items():
        if key in overview.overrides and _is_possible(key, value := overview.overrides[key]):
            found[variable] = _lisp_of(key, value)
    return found


def changed_preset(shown: Mapping[str, object], expected: Mapping[str, object]) -> str | None:
    """The preset that the user has chosen in Emacs since; None if it is still the same."""
    now = shown.get(PRESET)
    return str(now) if isinstance(now, str) and print_lisp(now) != print_lisp(expected.get(PRESET)) else None


def changed_overrides(
    shown: Mapping[str, object], expected: Mapping[str, object], overrides: JsonObject
) -> JsonObject | None:
    """The overrides with what the user has changed in Emacs since; None if nothing was changed."""
    values = dict(overrides)
    for key, variable in VARIABLES.items():
        if _printed(shown, variable) == _printed(expected, variable):
            continue
        value = _json_of(key, shown.get(variable))
        if variable in shown and _is_possible(key, value):
            values[key] = value
        elif shown.get(variable) is None:  # any other impossible value changes nothing
            values.pop(key, None)
    return values if values != overrides else None


def changed_variables(shown: Mapping[str, object], expected: Mapping[str, object]) -> dict[str, object]:
    """The variables that the user has changed in Emacs since; REMOVED for one that is no longer there."""
    names = (PRESET, *VARIABLES.values())
    return {name: shown.get(name, REMOVED) for name in names if _printed(shown, name) != _printed(expected, name)}


def overrides_in(shown: Mapping[str, object]) -> JsonObject:
    """The overrides in a footer."""
    found = {key: _json_of(key, shown[variable]) for key, variable in VARIABLES.items() if variable in shown}
    return {key: value for key, value in found.items() if _is_possible(key, value)}


def none_of(key: str) -> object:
    """The override that turns a setting off."""
    return [] if key == "tools" else None


def _printed(variables: Mapping[str, object], name: str) -> str | None:
    """The printed value; None for a variable that is not there, which is not the same as nil."""
    return print_lisp(variables[name]) if name in variables else None


def _is_possible(key: str, value: object) -> bool:
    """Whether the variable can have the value of this override."""
    if _is_none(value):
        return key in _OPTIONAL
    if key in _NUMBERS:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if key == "tools":
        return isinstance(value, list) and all(isinstance(tool, str) for tool in value)
    return isinstance(value, str)


def _is_none(value: object) -> bool:
    return value is None or value in ([], "")


def _lisp_of(key: str, value: object) -> object:
    if _is_none(value):
        return None
    return Symbol(value) if key == "model" else value


def _json_of(key: str, value: object) -> object:
    match value:
        case None:
            return none_of(key)
        case Symbol():
            return str(value)
        case str() | int() | float():
            return value
        case list() if all(isinstance(item, str) for item in value):
            return [str(item) for item in value]
    return REMOVED

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

_NUMBERS = {"temperature", "max_tokens", "num_messages"}


def variables_of(overview: Overview) -> dict[str, object]:
    """The variables of the footer, except the bounds."""
    name = overview.preset.name if overview.preset is not None else ""
    found: dict[str, object] = {PRESET: Symbol(name)} if name else {}
    for key, variable in VARIABLES.items():
        if (value := _lisp_of(key, overview.overrides.get(key))) is not None:
            found[variable] = value
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
        if print_lisp(shown.get(variable)) == print_lisp(expected.get(variable)):
            continue
        value = _json_of(shown.get(variable))
        if shown.get(variable) is None:
            values.pop(key, None)
        elif _lisp_of(key, value) is not None:  # an impossible value changes nothing
            values[key] = value
    return values if values != overrides else None


def changed_variables(shown: Mapping[str, object], expected: Mapping[str, object]) -> dict[str, object]:
    """The variables that the user has changed in Emacs since; None for one that was removed."""
    names = (PRESET, *VARIABLES.values())
    return {name: shown.get(name) for name in names if print_lisp(shown.get(name)) != print_lisp(expected.get(name))}


def overrides_in(shown: Mapping[str, object]) -> JsonObject:
    """The overrides in a footer."""
    found = {key: _json_of(shown.get(variable)) for key, variable in VARIABLES.items()}
    return {key: value for key, value in found.items() if _lisp_of(key, value) is not None}


def _lisp_of(key: str, value: object) -> object:
    """The Lisp value of an override; None if the variable cannot have it."""
    if key in _NUMBERS:
        return value if isinstance(value, int | float) and not isinstance(value, bool) else None
    if key == "tools":
        is_list = isinstance(value, list) and value and all(isinstance(tool, str) for tool in value)
        return value if is_list else None
    if not isinstance(value, str) or not value:
        return None
    return Symbol(value) if key == "model" else value


def _json_of(value: object) -> object:
    match value:
        case Symbol():
            return str(value)
        case str() | int() | float():
            return value
        case list() if all(isinstance(item, str) for item in value):
            return [str(item) for item in value]
    return None

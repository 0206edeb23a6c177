"""What a session does otherwise than its preset says: only that is kept, and only as long as it differs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from segue.model import JsonObject
    from segue.presets.preset import Preset

SETTINGS = ("model", "backend", "tools", "temperature", "max_tokens", "num_messages", "system_message")
"""The names under which a session keeps its overrides."""


def settings_of(preset: Preset) -> JsonObject:
    """What the preset says about each of the SETTINGS, as JSON; None where it says nothing."""
    return {
        "model": preset.model or None,
        "backend": preset.backend or None,
        "tools": list(preset.tools) or None,
        "temperature": preset.temperature,
        "max_tokens": preset.max_tokens,
        "num_messages": preset.num_messages,
        "system_message": preset.system_prompt or None,
    }


def differences(preset: Preset, settings: Mapping[str, object]) -> JsonObject:
    """Of these settings, those that differ from the preset: all that is worth saving.

    Settings that no preset knows of are kept as they are.
    """
    told = settings_of(preset)
    return {name: _plain(value) for name, value in settings.items() if name not in told or told[name] != _plain(value)}


def applied(preset: Preset, overrides: Mapping[str, object]) -> JsonObject:
    """What holds: the preset first, then what was saved over it."""
    return {**settings_of(preset), **{name: _plain(value) for name, value in overrides.items()}}


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value

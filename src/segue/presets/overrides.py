"""The settings in which a session differs from its preset: only these are saved, and only while they differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from segue.model import JsonObject
    from segue.presets.preset import Preset

SETTINGS = ("model", "backend", "tools", "temperature", "max_tokens", "num_messages", "system_message")
"""The names of the overrides of a session."""


def preset_settings(preset: Preset) -> JsonObject:
    """The value of each of the SETTINGS in the preset, as JSON; None if it is not set."""
    return {
        "model": preset.model or None,
        "backend": preset.backend or None,
        "tools": list(preset.tools) or None,
        "temperature": preset.temperature,
        "max_tokens": preset.max_tokens,
        "num_messages": preset.num_messages,
        "system_message": preset.system_prompt or None,
    }


def diff_settings(preset: Preset, settings: Mapping[str, object]) -> JsonObject:
    """The settings that differ from the preset. Settings that presets do not have are all included.

    So are those that are turned off, even if the preset does not set them: an editor has a default for these.
    """
    usual = preset_settings(preset)
    return {
        name: _plain(value)
        for name, value in settings.items()
        if name not in usual or value is None or usual[name] != _plain(value)
    }


def apply_overrides(preset: Preset, overrides: Mapping[str, object]) -> JsonObject:
    """The effective settings: those of the preset, replaced by the overrides."""
    return {**preset_settings(preset), **{name: _plain(value) for name, value in overrides.items()}}


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value

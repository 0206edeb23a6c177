"""The scope that a preset brings to a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.permissions import DENY_ALL, preset_scope, resolve_scope

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from segue.model import Overview
    from segue.permissions import ResolvedScope
    from segue.presets import Preset, PresetSources


def scope_for_preset(preset: Preset, profiles: Sequence[Path]) -> ResolvedScope:
    """The scope profile that the preset names, or else the scope in its own fields."""
    own = preset_scope(preset.extra, preset.path)
    return resolve_scope(profile=preset.scope_profile, folders=profiles, own=own)


def scope_for_session(
    overview: Overview,
    sources: PresetSources,
    profiles: Sequence[Path],
    *,
    profile: str = "",
    trust_project: bool = False,
    on_untrusted: Callable[[Preset], None] = lambda _: None,
) -> ResolvedScope:
    """The scope of a session that records none: the `profile`, or else the scope of its preset.

    A preset of the project counts only with `trust_project`; otherwise `on_untrusted` is called.
    """
    if profile or overview.preset is None:
        return resolve_scope(profile=profile, folders=profiles)
    presets = sources.load()
    preset = presets.find(overview.preset.name)
    if preset is None:
        return DENY_ALL
    if not trust_project and not presets.is_from(preset, sources.trusted):
        on_untrusted(preset)
        return DENY_ALL
    return scope_for_preset(preset, profiles)

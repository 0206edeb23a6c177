"""Named bundles of a prompt and settings, read from `*.md` files with YAML front matter.

Read `preset` (the value), `frontmatter` (from text to fields), `loader` (from files to presets) and `inheritance` (what
a preset inherits from its parents), then `overrides` (where a session differs from its preset).
"""

from __future__ import annotations

from segue.presets.drift import describe_drift, hash_prompt
from segue.presets.loader import (
    DEFAULT,
    SHIPPED,
    FileProblem,
    Presets,
    PresetSources,
    load_presets,
    preset_sources,
    project_folders,
)
from segue.presets.overrides import SETTINGS, apply_overrides, diff_settings, preset_settings
from segue.presets.preset import Preset

__all__ = [
    "DEFAULT",
    "SETTINGS",
    "SHIPPED",
    "FileProblem",
    "Preset",
    "PresetSources",
    "Presets",
    "apply_overrides",
    "describe_drift",
    "diff_settings",
    "hash_prompt",
    "load_presets",
    "preset_settings",
    "preset_sources",
    "project_folders",
]

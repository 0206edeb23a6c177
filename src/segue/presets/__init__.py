"""Named bundles of a prompt and settings, read from `*.md` files with YAML front matter.

Read `preset` (the value), `frontmatter` (from text to fields), `folder` (from files to presets) and `parents` (what a
preset takes over from others), then `settings` (what a session does otherwise than its preset).
"""

from __future__ import annotations

from segue.presets.drift import drift, hash_prompt
from segue.presets.folder import (
    DEFAULT,
    SHIPPED,
    Presets,
    PresetSources,
    Problem,
    load_presets,
    preset_sources,
    project_folders,
)
from segue.presets.preset import Preset
from segue.presets.settings import SETTINGS, applied, differences, settings_of

__all__ = [
    "DEFAULT",
    "SETTINGS",
    "SHIPPED",
    "Preset",
    "PresetSources",
    "Presets",
    "Problem",
    "applied",
    "differences",
    "drift",
    "hash_prompt",
    "load_presets",
    "preset_sources",
    "project_folders",
    "settings_of",
]

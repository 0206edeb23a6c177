"""Named bundles of a prompt and settings, read from `*.md` files with YAML front matter.

Read `preset` (the value), `frontmatter` (from text to fields), then `folder` (from files to presets).
"""

from __future__ import annotations

from segue.presets.drift import drift, hash_prompt
from segue.presets.folder import Presets, Problem, load_presets
from segue.presets.preset import Preset

__all__ = ["Preset", "Presets", "Problem", "drift", "hash_prompt", "load_presets"]

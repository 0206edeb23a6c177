"""Factory Droid: a tree of messages, one per line, in `~/.factory/sessions/<folder>/<uuid>.jsonl`."""

from __future__ import annotations

from segue.integrations.shared.integration import Integration

INTEGRATION = Integration(name="droid", title="Factory Droid", can_preview=True, proven_with="format of 0.225")

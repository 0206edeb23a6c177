"""Kilo: made from opencode, with the same tables in a database of its own."""

from __future__ import annotations

from segue.integrations.shared.integration import Integration

INTEGRATION = Integration(
    name="kilo",
    title="Kilo",
    proven_with="7.7.9",
    carries=frozenset({"failed", "images", "result_images"}),
    can_preview=True,
    can_launch=True,
    has_mcp_config=True,
    settings_paths=(".config/kilo", ".kilo"),
    state_paths=(".local/share/kilo", ".local/state/kilo", ".cache/kilo"),
)

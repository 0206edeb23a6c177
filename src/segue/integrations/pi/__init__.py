"""pi: a tree of entries, one per line, in `sessions/--<folder>--/<time>_<uuid>.jsonl`."""

from __future__ import annotations

from segue.integrations.shared.integration import Integration

INTEGRATION = Integration(
    name="pi",
    title="pi",
    proven_with="1.5.0",
    carries=frozenset({"failed", "images", "result_images"}),
    can_preview=True,
    can_launch=True,
)

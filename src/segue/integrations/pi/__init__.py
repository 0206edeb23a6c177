"""pi: a tree of entries, one per line, in `sessions/--<folder>--/<time>_<uuid>.jsonl`."""

from __future__ import annotations

from segue.integrations.shared.integration import Integration

INTEGRATION = Integration(name="pi", title="pi", can_launch=True)

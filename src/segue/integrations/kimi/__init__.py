"""Kimi Code: one folder per session, with a log of records per agent, in `~/.kimi-code/sessions`."""

from __future__ import annotations

from segue.integrations.shared.integration import Integration

INTEGRATION = Integration(name="kimi", title="Kimi Code", can_preview=True, proven_with="2.1.0")

"""goose: a database `sessions.db` of sessions and messages. Those of subagents name no parent, and are not listed."""

from __future__ import annotations

from segue.integrations.shared.integration import Integration

INTEGRATION = Integration(name="goose", title="goose", proven_with="format of 1.29")

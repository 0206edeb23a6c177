"""Cline: one folder per session, with a JSON document of messages, in `~/.cline` or in the folder of its extension."""

from __future__ import annotations

from segue.integrations.shared.integration import Integration

INTEGRATION = Integration(name="cline", title="Cline", proven_with="3.0.65")

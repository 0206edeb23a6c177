"""Cursor: transcripts of its agent, one per conversation, in `~/.cursor/projects/<folder>/agent-transcripts`."""

from __future__ import annotations

from segue.integrations.shared.integration import Integration

INTEGRATION = Integration(
    name="cursor", title="Cursor", command="cursor-agent", can_preview=True, proven_with="format of 2026"
)

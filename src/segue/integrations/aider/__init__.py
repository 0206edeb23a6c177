"""aider: one Markdown file per project, `.aider.chat.history.md`; every start of aider begins a conversation."""

from __future__ import annotations

from segue.integrations.shared.integration import Integration

INTEGRATION = Integration(name="aider", title="aider", proven_with="0.86.2")

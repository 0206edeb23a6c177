"""llm: a database `logs.db`. Older releases store prompts and responses in it, newer ones a tree of messages."""

from __future__ import annotations

from segue.integrations.shared.integration import AgentCommand, Integration

INTEGRATION = Integration(
    name="llm", title="llm", proven_with="0.36", agent_command=AgentCommand(("llm",), unsaved=("--no-log",))
)

"""Gemini CLI: messages and changes to them, one per line, in `tmp/<project>/chats/session-<time>-<id>.jsonl`."""

from __future__ import annotations

from segue.integrations.shared.integration import AgentCommand, CommandFileFormat, Integration

INTEGRATION = Integration(
    name="gemini",
    title="Gemini CLI",
    proven_with="0.61.0",
    carries=frozenset({"failed", "images", "result_images"}),
    can_preview=True,
    can_launch=True,
    has_mcp_config=True,
    provider="google",
    agent_command=AgentCommand(("gemini",), session_id="--session-id"),
    command_files=CommandFileFormat(
        syntax="toml",
        path=".gemini/commands/{}.toml",
        invocation="/{}",
        arguments="{{args}}",
        active=r"[!@{](?=\{)",  # {{args}}, !{…} and @{…}
    ),
    settings_paths=(".gemini",),
    state_paths=(".gemini/tmp",),
)

"""Claude Code: a tree of records, one per line, in `projects/<slug>/<uuid>.jsonl`."""

from __future__ import annotations

from segue.integrations.shared.integration import AgentCommand, CommandFileFormat, Integration

_STATE = ("projects", "todos", "shell-snapshots", "session-env", "file-history", "debug", "statsig", "history.jsonl")

INTEGRATION = Integration(
    name="claude",
    title="Claude Code",
    proven_with="2.1.325",
    carries=frozenset({"failed", "images", "result_images"}),
    can_preview=True,
    can_launch=True,
    has_mcp_config=True,
    provider="anthropic",
    agent_command=AgentCommand(("claude", "-p"), unsaved=("--no-session-persistence",), session_id="--session-id"),
    command_files=CommandFileFormat(
        syntax="markdown",
        path=".claude/commands/{}.md",
        invocation="/{}",
        arguments="$ARGUMENTS",
        # Arguments ($1, $ARGUMENTS, ${NAME}), the output of a command (!`…`, a fence that starts with ```!), a @path.
        active=r"\$(?=[\w{])|!(?=`)|(?<=```)(?=!)|(?<!\w)@(?=\S)",
        allowed_commands="Bash({}:*)",
        has_argument_hint=True,
    ),
    session_variable="CLAUDE_CODE_SESSION_ID",
    settings_paths=(".claude", ".claude.json", ".config/claude"),
    state_paths=tuple(f".claude/{name}" for name in _STATE),
)

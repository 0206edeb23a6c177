"""Codex: the items that the model read and wrote, in `sessions/YYYY/MM/DD/rollout-<time>-<uuid>.jsonl`."""

from __future__ import annotations

from segue.integrations.shared.integration import AgentCommand, CommandFileFormat, Integration

INTEGRATION = Integration(
    name="codex",
    title="Codex",
    proven_with="0.166.0",
    carries=frozenset({"failed", "images", "result_images"}),
    can_preview=True,
    can_launch=True,
    has_mcp_config=True,
    provider="openai",
    agent_command=AgentCommand(("codex", "exec"), ("-",), unsaved=("--ephemeral",)),
    command_files=CommandFileFormat(
        syntax="skill",  # it reads prompts from the home folder only, but skills from a project
        path=".agents/skills/{}/SKILL.md",
        invocation="${}",
        separator="-",  # the name of a skill cannot contain dots
        arguments="what the user wrote after the name of this skill",
        active=r"(?!)",  # the text of a skill is used unchanged
    ),
    session_variable="CODEX_THREAD_ID",
    settings_paths=(".codex",),
    state_paths=(".codex/sessions", ".codex/log", ".codex/history.jsonl"),
)

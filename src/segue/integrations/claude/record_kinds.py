"""The kinds of records in a session of Claude Code, by what they have to do with the conversation."""

from __future__ import annotations

OF_USER = frozenset(
    {
        "already_read_file",
        "compact_file_reference",
        "directory",
        "document",
        "file",
        "image",
        "mcp_resource",
        "pdf_reference",
        "selected_lines_in_ide",
    }
)
"""What the user attached to a message. After a compaction, files that were read before it are repeated in this form."""
SURROUNDINGS = frozenset(
    {
        "agent_listing_delta",
        "agent_mention",
        "at_mention_reference",
        "auto_mode",
        "auto_mode_exit",
        "budget_usd",
        "command_permissions",
        "companion_intro",
        "compaction_reminder",
        "context_efficiency",
        "critical_system_reminder",
        "current_session_memory",
        "date",
        "date_change",
        "deferred_tools_delta",
        "dynamic_skill",
        "environment",
        "hook_cancelled",
        "hook_deferred_tool",
        "hook_error_during_execution",
        "hook_non_blocking_error",
        "hook_permission_decision",
        "hook_system_message",
        "invoked_skills",
        "max_turns_reached",
        "mcp_instructions_delta",
        "memory",
        "model",
        "nested_memory",
        "opened_file_in_ide",
        "output_style",
        "output_token_usage",
        "plan_mode",
        "plan_mode_exit",
        "plan_mode_reentry",
        "prompt_snapshot",
        "relevant_memories",
        "remote_session_change",
        "session_context",
        "skill_discovery",
        "skill_listing",
        "task_reminder",
        "team_context",
        "todo",
        "todo_reminder",
        "token_usage",
        "tool_search_usage_reminder",
        "ultramemory",
        "ultrathink_effort",
        "verify_plan_reminder",
    }
)
"""The surroundings: settings, lists of tools, files with instructions, and reminders without news."""
QUEUED = "queued_command"
"""A message that was typed while the model worked, and that it got then."""
NOISE = frozenset(
    {
        "agent-color",
        "agent-name",
        "agent-setting",
        "api-request",
        "api-request-blob",
        "api-request-shape",
        "atis-latch",
        "attribution-snapshot",
        "bridge-session",
        "content-replacement",
        "cost-state",
        "file-history-delta",
        "file-history-snapshot",
        "last-prompt",
        "mode",
        "permission-mode",
        "pr-link",
        "queue-operation",
        "session-owner",
        "speculation-accept",
        "tag",
        "task-summary",
        "tools-used",
        "worktree-state",
    }
)
"""Records about the program, or that repeat what is in a message."""
SILENT = frozenset(
    {
        "agents_killed",
        "api_error",
        "api_metrics",
        "bridge_status",
        "compact_boundary",
        "informational",
        "memory_saved",
        "microcompact_boundary",
        "model_fallback",
        "model_refusal_fallback",
        "permission_retry",
        "stop_hook_summary",
        "turn_duration",
    }
)
"""Records of type `system` that are shown to the user alone, while the tool runs."""
SETTINGS = frozenset(
    {
        "add-dir",
        "agents",
        "clear",
        "color",
        "config",
        "effort",
        "exit",
        "export",
        "ide",
        "login",
        "logout",
        "mcp",
        "memory",
        "model",
        "output-style",
        "permissions",
        "plugin",
        "quit",
        "rename",
        "resume",
        "rewind",
        "status",
        "statusline",
        "tag",
        "terminal-setup",
        "theme",
        "vim",
    }
)
"""Commands whose arguments concern the program, not the conversation."""

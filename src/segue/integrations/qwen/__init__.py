"""Qwen Code: a tree of records, one per line, in `projects/<slug>/chats/<uuid>.jsonl`."""

from __future__ import annotations

from segue.integrations.shared.integration import Integration

INTEGRATION = Integration(
    name="qwen",
    title="Qwen Code",
    proven_with="0.24.4",
    carries=frozenset({"failed", "images", "result_images"}),
    can_preview=True,
    can_launch=True,
    settings_paths=(".qwen",),
    state_paths=(".qwen/projects", ".qwen/tmp", ".qwen/todos", ".qwen/usage_record.jsonl"),
)

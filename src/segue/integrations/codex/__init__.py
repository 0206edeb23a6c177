"""Codex: what the model was told and said, one item a line, in `sessions/YYYY/MM/DD/rollout-<time>-<uuid>.jsonl`."""

from segue.integrations.codex.reader import read, steps
from segue.integrations.codex.writer import write

__all__ = ["read", "steps", "write"]

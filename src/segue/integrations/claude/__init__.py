"""Claude Code: a tree of records, one a line, in `projects/<slug>/<uuid>.jsonl`."""

from segue.integrations.claude.reader import read, steps
from segue.integrations.claude.writer import write

__all__ = ["read", "steps", "write"]

"""Claude Code: a tree of records, one a line, in `projects/<slug>/<uuid>.jsonl`."""

from segue.formats.foreign.claude.reader import read, steps
from segue.formats.foreign.claude.writer import write

__all__ = ["read", "steps", "write"]

"""pi: a tree of entries, one a line, in `sessions/--<folder>--/<time>_<uuid>.jsonl`."""

from segue.integrations.pi.reader import steps
from segue.integrations.pi.writer import write

__all__ = ["steps", "write"]

"""pi: a tree of entries, one a line, in `sessions/--<folder>--/<time>_<uuid>.jsonl`."""

from segue.formats.foreign.pi.reader import steps
from segue.formats.foreign.pi.writer import write

__all__ = ["steps", "write"]

"""opencode: a database of its own, of which `opencode export` gives and `opencode import` takes one JSON document."""

from segue.integrations.opencode.reader import read, steps
from segue.integrations.opencode.writer import write

__all__ = ["read", "steps", "write"]

"""Gemini CLI: messages and changes to them, one a line, in `tmp/<project>/chats/session-<time>-<id>.jsonl`."""

from segue.formats.foreign.gemini.reader import read, steps
from segue.formats.foreign.gemini.writer import write

__all__ = ["read", "steps", "write"]

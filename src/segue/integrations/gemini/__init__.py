"""Gemini CLI: messages and changes to them, one a line, in `tmp/<project>/chats/session-<time>-<id>.jsonl`."""

from segue.integrations.gemini.reader import read, steps
from segue.integrations.gemini.writer import write

__all__ = ["read", "steps", "write"]

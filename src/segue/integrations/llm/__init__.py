"""llm: a database `logs.db`; older releases keep prompts and responses in it, newer ones a tree of messages by hash."""

from segue.integrations.llm.older import older_steps
from segue.integrations.llm.reader import steps

__all__ = ["older_steps", "steps"]

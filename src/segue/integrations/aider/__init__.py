"""aider: everything it says and hears, as Markdown, in `.aider.chat.history.md`; every start begins a conversation."""

from segue.integrations.aider.reader import Run, runs, steps

__all__ = ["Run", "runs", "steps"]

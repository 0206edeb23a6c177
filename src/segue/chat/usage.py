"""What a conversation has cost since it was opened here: as the provider counts, or else as we do."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from segue.chat.context.window import cost_of

if TYPE_CHECKING:
    from segue.chat.agent import Request, Usage
    from segue.chat.context.tokens import Counter


class Stats(Struct, frozen=True, kw_only=True):
    """How long the conversation is, and what it cost since it was opened here."""

    turns: int
    """On the active branch."""
    tokens_in: int
    tokens_out: int
    budget: int
    window_used: int
    """The tokens that the next question sends along, including the system prompt."""
    tokens_by: str
    """Who counted what was sent and received: `provider`, `tokenizer`, `estimate`, or `mixed`; empty if nothing was."""
    calls: dict[str, int] = {}
    """The number of tool calls by their result."""


class Counted(NamedTuple):
    tokens: int
    by: str


class Spending:
    def __init__(self) -> None:
        self.tokens_in = self.tokens_out = 0
        self._by: set[str] = set()

    @property
    def by(self) -> str:
        return "mixed" if len(self._by) > 1 else next(iter(self._by), "")

    def add(self, content: str, usage: Usage | None, request: Request, counter: Counter) -> Counted:
        """Count an answer, and what it was asked with."""
        if usage is not None and usage.input_tokens >= 0 and usage.output_tokens >= 0:
            tokens_in, counted = usage.input_tokens, Counted(usage.output_tokens, "provider")
        else:
            sent = sum(cost_of(message, counter) for message in request.messages)
            tokens_in, counted = counter.count(request.system) + sent, Counted(counter.count(content), counter.kind)
        self.tokens_in += tokens_in
        self.tokens_out += counted.tokens
        self._by.add(counted.by)
        return counted

"""Tokens: counted by a tokenizer if one is installed, else estimated; and what a conversation has used."""

from __future__ import annotations

import warnings
from functools import cache, lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, Protocol

from msgspec import Struct

from segue.chat.context.window import cost_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from segue.chat.agent import Request, Usage

CHARACTERS_PER_TOKEN = 4
ENCODING = "o200k_base"
"""Each model counts in its own way; this one is close enough to all of them for a budget."""

_REMEMBERED = 4096


class Counter(Protocol):
    """Counts tokens."""

    @property
    def kind(self) -> str:
        """`tokenizer` or `estimate`: recorded with the tokens of a turn."""

    def count(self, text: str) -> int: ...


class Estimate:
    """Four characters per token."""

    kind = "estimate"

    def count(self, text: str) -> int:
        return -(-len(text) // CHARACTERS_PER_TOKEN)


class Tokenizer:
    """Counts as a model does, and remembers: the turns of a conversation are counted at every question."""

    kind = "tokenizer"

    def __init__(self, encode: Callable[[str], Sequence[int]]) -> None:
        self._encode = encode
        self.count = lru_cache(_REMEMBERED)(self._count)

    def _count(self, text: str) -> int:
        try:
            return len(self._encode(text))
        except UnicodeError:  # lone surrogates, which models emit
            return len(self._encode(text.encode("utf-8", "replace").decode()))


@cache
def best_counter() -> Counter:
    """The tokenizer if `segue[tokenizer]` is installed and works, else the estimate. Never asks the network."""
    try:
        with warnings.catch_warnings(action="ignore"):  # it reads its data in a way that Python means to retire
            encoding = import_module("bpe_openai").get_encoding(ENCODING)
        counter = Tokenizer(encoding.encode_ordinary)
        counter.count("once, to see that it works")
    except Exception:  # noqa: BLE001 - an optional part may fail in any way, and the estimate does without it
        return Estimate()
    return counter


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

"""The length of a text in tokens: counted by a tokenizer if one is installed, else estimated."""

from __future__ import annotations

import warnings
from functools import cache, lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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

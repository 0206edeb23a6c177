"""An answer of an agent: its pieces, the turn to record, and the decisions that it states."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from segue.model import JsonObject
from segue.tools import ToolCall

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from segue.chat.agent import Piece

DECISION_LENGTH = 1000
"""A decision is a sentence; a longer text between the brackets is not one."""

_DECISION = re.compile(
    rf"\[DECISION:((?:[^\[\]]|\[[^\[\]]{{0,{DECISION_LENGTH}}}\]){{1,{DECISION_LENGTH}}})\]", re.IGNORECASE
)


class UnsavedTurn(Struct, frozen=True, kw_only=True):
    """A turn that is to be recorded."""

    place: tuple[str, int]
    """The branch, and the number of its turns before this one."""
    role: str = "assistant"
    content: str
    tokens: int
    tokens_by: str
    model: str = ""
    partial: bool = False
    parts: tuple[JsonObject, ...] = ()
    calls: tuple[ToolCall, ...] = ()


def find_decisions(text: str) -> tuple[str, ...]:
    """The decisions that an answer states as `[DECISION: …]`, each once, in order, on one line.

    A placeholder without letters or digits is not a decision.
    """
    found = (" ".join(match[1].split()) for match in _DECISION.finditer(text))
    return tuple(dict.fromkeys(content for content in found if any(char.isalnum() for char in content)))


def close_pieces(pieces: Iterator[Piece]) -> None:
    """Stop the work of the agent; an error there does not affect the conversation."""
    close = getattr(pieces, "close", None)
    if close is not None:
        with suppress(Exception):
            close()


def no_pieces() -> Generator[str, None, None]:
    yield from ()

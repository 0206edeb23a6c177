"""Patterns of commands, word by word.

In a word, `*` stands for any characters and `?` for one. A word `*` at the end stands for any further words, none
included; elsewhere it is one word. What allows must say every word. What denies also covers whatever words follow.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from segue.scope.pattern import glob_regex
from segue.scope.shell import is_wrapper

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from segue.scope.shell import Part

Words = tuple[str | None, ...]


class _Pattern(NamedTuple):
    text: str
    words: tuple[str, ...]
    is_open: bool
    """Whether further words may follow."""

    def allows(self, words: Words) -> bool:
        fits = len(words) >= len(self.words) if self.is_open else len(words) == len(self.words)
        return fits and all(
            word is not None and _is_like(word, like) for word, like in zip(words, self.words, strict=False)
        )

    def may_be(self, words: Words) -> bool:
        """Whether the words, or what may become of them, begin like this."""
        for at, like in enumerate(self.words):
            if at >= len(words):
                return False
            word = words[at]
            if word is None:
                return True
            if not _is_like(word, like):
                return False
        return True


class CommandPatterns:
    """Many patterns, asked at once; by their first word, where that is plain."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._by_head: dict[str, list[_Pattern]] = {}
        self._others: list[_Pattern] = []
        for text in patterns:
            words = text.split()
            is_open = words[-1] == "*"
            pattern = _Pattern(text, tuple(words[:-1] if is_open else words), is_open)
            head = pattern.words[0] if pattern.words else "*"
            if re.search(r"[*?]", head):
                self._others.append(pattern)
            else:
                self._by_head.setdefault(head, []).append(pattern)

    def find_allowing(self, part: Part) -> str | None:
        """The pattern that names all of its words, the assignments in front of it included."""
        return next((pattern.text for pattern in self._near(part.words) if pattern.allows(part.words)), None)

    def find_denying(self, part: Part) -> str | None:
        """The pattern that it begins with, or may begin with, under whatever path and behind whatever wrapper."""
        return next(
            (pattern.text for words in _faces(part) for pattern in self._near(words) if pattern.may_be(words)), None
        )

    def _near(self, words: Words) -> Iterator[_Pattern]:
        if words and words[0] is not None:
            yield from self._by_head.get(words[0], ())
        else:
            for patterns in self._by_head.values():
                yield from patterns
        yield from self._others


def _faces(part: Part) -> Iterator[Words]:
    """Every way to see which command this is."""
    if part.words:
        yield part.words
    words = part.command
    count = min(1, len(words))
    if is_wrapper(words):
        # The command may stand anywhere, and in one word with its own words, as behind `env -S`.
        words = tuple(piece for word in words for piece in ([word] if word is None else word.split() or [word]))
        count = len(words)
    for at in range(count):
        head = words[at]
        yield words[at:] if head is None else (head.rpartition("/")[2], *words[at + 1 :])


def _is_like(word: str, like: str) -> bool:
    if "*" not in like and "?" not in like:
        return word == like
    return re.fullmatch(glob_regex(like, r"[\s\S]"), word) is not None

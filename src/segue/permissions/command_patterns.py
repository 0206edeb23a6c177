"""Patterns of commands, word by word.

In a word, `*` stands for any characters and `?` for one. A word `*` at the end stands for any further words, none
included; elsewhere it is one word. What allows must say every word, and a variable that is set in front by its name.
What denies goes further: it also covers whatever words follow, options in between, other folders and wrappers.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from segue.permissions.path_patterns import glob_regex
from segue.permissions.wrapper_commands import inner_words, is_wrapper, name_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from segue.permissions.shell_parser import Part
    from segue.permissions.wrapper_commands import Words

_LENGTH = 1 << 20
_QUOTING = str.maketrans("", "", "'\"\\")
_FLAGS = re.compile(r"-[A-Za-z]{1,3}")


class _Pattern(NamedTuple):
    text: str
    words: tuple[str, ...]
    is_open: bool
    """Whether further words may follow."""

    def allows(self, part: Part) -> bool:
        words = part.words
        fits = len(words) >= len(self.words) if self.is_open else len(words) == len(self.words)
        if not fits or part.assignments > len(self.words):
            return False
        return all(
            word is not None and _is_like(word, like) and (at >= part.assignments or _names_variable(like, word))
            for at, (word, like) in enumerate(zip(words, self.words, strict=False))
        )

    def denies(self, words: Words, *, anywhere: bool) -> bool:
        """Whether the words, or what may become of them, begin like this, or go on like this `anywhere`.

        Options of the pattern may stand anywhere. In front of each other word there may be options, with their values.
        """
        names = [like for like in self.words if not like.startswith("-")]
        if not all(_has_option(words, like) for like in self.words if like.startswith("-")):
            return False
        # How many names were found so far, and whether the word before this was an option, in all ways at once.
        ways: set[tuple[int, bool]] = {(0, False)}
        for word in words:
            if any(count == len(names) for count, _ in ways):
                return True
            further: set[tuple[int, bool]] = {(0, False)} if anywhere else set()
            for count, is_value in ways:
                if word is None:
                    if count:
                        return True
                    continue
                if _is_like(word, names[count]) or (not count and _is_like(name_of(word), names[0].casefold())):
                    further.add((count + 1, False))
                if count and (is_value or word.startswith("-")):
                    further.add((count, word.startswith("-") and "=" not in word))
            ways = further
        return any(count == len(names) for count, _ in ways)


class Denial(NamedTuple):
    """Which pattern denies a command."""

    pattern: str
    is_certain: bool = True
    """False where something runs of which nobody knows what it is."""


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
            if re.search(r"[*?]|^-", head):
                self._others.append(pattern)
            else:
                self._by_head.setdefault(name_of(head), []).append(pattern)

    def find_allowing(self, part: Part) -> str | None:
        """The pattern that names all of its words, the assignments in front of it included."""
        return next((pattern.text for pattern in self._near(part.words[:1]) if pattern.allows(part)), None)

    def find_denying(self, part: Part) -> Denial | None:
        """The pattern that it is like, or may be like, under whatever path and behind whatever known wrapper."""
        if not self._by_head and not self._others:
            return None
        anywhere = is_wrapper(part.command)
        words = tuple(inner_words(part.command)) if anywhere else part.command
        for each in (part.words, words) if part.assignments or anywhere else (words,):
            for pattern in self._near(each if anywhere else each[:1]):
                if pattern.denies(each, anywhere=anywhere):
                    return Denial(pattern.text)
        if anywhere and None in words:
            return Denial(next(self._all()).text, is_certain=False)
        return None

    def find_named(self, line: str) -> str | None:
        """A pattern whose words all occur in a line that nobody understands."""
        found = {name_of(word) for word in inner_words((line[:_LENGTH].translate(_QUOTING),)) if word is not None}
        for pattern in self._all():
            plain = [word for word in pattern.words if not re.search(r"[*?]", word)]
            if found.issuperset(name_of(piece) for word in plain for piece in inner_words((word,)) if piece):
                return pattern.text
        return None

    def _near(self, words: Words) -> Iterator[_Pattern]:
        for name in dict.fromkeys(name_of(word) for word in words if word is not None):
            yield from self._by_head.get(name, ())
        yield from self._others

    def _all(self) -> Iterator[_Pattern]:
        for patterns in self._by_head.values():
            yield from patterns
        yield from self._others


def _is_like(word: str, like: str) -> bool:
    if "*" not in like and "?" not in like:
        return word == like
    return re.fullmatch(glob_regex(like, r"[\s\S]"), word) is not None


def _names_variable(like: str, word: str) -> bool:
    return like.startswith(word[: word.index("=") + 1])


def _has_option(words: Words, like: str) -> bool:
    """Whether an option is among the words, also with a value, or in one word with others as in `-rf`."""
    if any(word is None or _is_like(word.partition("=")[0], like) or _is_like(word, like) for word in words):
        return True
    if not _FLAGS.fullmatch(like):
        return False
    given = "".join(word[1:] for word in words if word is not None and re.fullmatch(r"-[A-Za-z]{1,5}", word))
    return set(like[1:]) <= set(given)

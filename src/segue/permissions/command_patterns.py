"""Patterns of commands, compared word by word.

Within a word, `*` matches any characters and `?` matches one. A word `*` at the end matches any further words, or
none; elsewhere it matches one word. An allow pattern must match every word, and must name each variable that is set in
front of the command. A deny pattern matches more: any words after it, options in between, other folders, wrappers.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from segue.permissions.path_patterns import glob_regex
from segue.permissions.wrapper_commands import command_name, inner_words, is_wrapper

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from segue.permissions.shell_parser import SimpleCommand
    from segue.permissions.wrapper_commands import Words

_LENGTH = 1 << 20
_QUOTING = str.maketrans("", "", "'\"\\")
_FLAGS = re.compile(r"-[A-Za-z]{1,3}")


class _Pattern(NamedTuple):
    text: str
    words: tuple[str, ...]
    is_open: bool
    """Whether further words may follow."""

    def allows(self, command: SimpleCommand) -> bool:
        words = command.words
        fits = len(words) >= len(self.words) if self.is_open else len(words) == len(self.words)
        if not fits or command.assignments > len(self.words):
            return False
        return all(
            word is not None and _matches(word, glob) and (at >= command.assignments or _names_variable(glob, word))
            for at, (word, glob) in enumerate(zip(words, self.words, strict=False))
        )

    def denies(self, words: Words, *, anywhere: bool) -> bool:
        """Whether the words match, or may match when expanded, at the beginning or `anywhere`.

        Options of the pattern match at any position. Options with values may precede each other word.
        """
        names = [glob for glob in self.words if not glob.startswith("-")]
        if not all(_has_option(words, glob) for glob in self.words if glob.startswith("-")):
            return False
        # The states of all partial matches: how many names matched, and whether the previous word was an option.
        states: set[tuple[int, bool]] = {(0, False)}
        for word in words:
            if any(count == len(names) for count, _ in states):
                return True
            next_states: set[tuple[int, bool]] = {(0, False)} if anywhere else set()
            for count, is_value in states:
                if word is None:
                    if count:
                        return True
                    continue
                if _matches(word, names[count]) or (not count and _matches(command_name(word), names[0].casefold())):
                    next_states.add((count + 1, False))
                if count and (is_value or word.startswith("-")):
                    next_states.add((count, word.startswith("-") and "=" not in word))
            states = next_states
        return any(count == len(names) for count, _ in states)


class DenyMatch(NamedTuple):
    """The pattern that denies a command."""

    pattern: str
    is_certain: bool = True
    """False where the command that runs is not known."""


class CommandPatterns:
    """A set of patterns, indexed by their first word unless it has wildcards."""

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
                self._by_head.setdefault(command_name(head), []).append(pattern)

    def find_allowing(self, command: SimpleCommand) -> str | None:
        """Find the pattern that matches all words, including the assignments in front."""
        return next((pattern.text for pattern in self._candidates(command.words[:1]) if pattern.allows(command)), None)

    def find_denying(self, command: SimpleCommand) -> DenyMatch | None:
        """Find the pattern that matches, or may match, the command under any path and after any known wrapper."""
        if not self._by_head and not self._others:
            return None
        anywhere = is_wrapper(command.argv)
        words = tuple(inner_words(command.argv)) if anywhere else command.argv
        for each in (command.words, words) if command.assignments or anywhere else (words,):
            for pattern in self._candidates(each if anywhere else each[:1]):
                if pattern.denies(each, anywhere=anywhere):
                    return DenyMatch(pattern.text)
        if anywhere and None in words:
            return DenyMatch(next(self._all()).text, is_certain=False)
        return None

    def find_named(self, line: str) -> str | None:
        """Find a pattern whose words all occur in a line that cannot be parsed."""
        found = {command_name(word) for word in inner_words((line[:_LENGTH].translate(_QUOTING),)) if word is not None}
        for pattern in self._all():
            plain = [word for word in pattern.words if not re.search(r"[*?]", word)]
            if found.issuperset(command_name(piece) for word in plain for piece in inner_words((word,)) if piece):
                return pattern.text
        return None

    def _candidates(self, words: Words) -> Iterator[_Pattern]:
        for name in dict.fromkeys(command_name(word) for word in words if word is not None):
            yield from self._by_head.get(name, ())
        yield from self._others

    def _all(self) -> Iterator[_Pattern]:
        for patterns in self._by_head.values():
            yield from patterns
        yield from self._others


def _matches(word: str, glob: str) -> bool:
    if "*" not in glob and "?" not in glob:
        return word == glob
    return re.fullmatch(glob_regex(glob, r"[\s\S]"), word) is not None


def _names_variable(glob: str, word: str) -> bool:
    return glob.startswith(word[: word.index("=") + 1])


def _has_option(words: Words, glob: str) -> bool:
    """Whether an option is among the words, also with a value, or combined with others as in `-rf`."""
    if any(word is None or _matches(word.partition("=")[0], glob) or _matches(word, glob) for word in words):
        return True
    if not _FLAGS.fullmatch(glob):
        return False
    given = "".join(word[1:] for word in words if word is not None and re.fullmatch(r"-[A-Za-z]{1,5}", word))
    return set(glob[1:]) <= set(given)

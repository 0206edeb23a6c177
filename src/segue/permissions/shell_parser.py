"""What a line of shell would run: its simple commands, one by one, or why that cannot be known.

This judges a small grammar that sh, bash, dash, ksh and zsh read alike: words and quotes, `&&`, `||`, `;`, `|`, `&` and
newlines between commands, and redirections to files that are named. All else is refused, so that what is judged is what
runs: no substitutions, no brackets, no loops, no comments, no line that goes on behind a backslash.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from segue.permissions.wrapper_commands import OF_THE_SHELL, scripts_of, words

LENGTH = 20_000
SCRIPTS = 8
"""How many lines of shell a line may hold, itself included: those of `sh -c`."""

_BLANKS = " \t\n"
_ENDS = f"{_BLANKS};&|<>"
_OPERATOR = re.compile(r"(?:&&|\|\||[;|&])(?![;&|!>])|\n")
_COPY = re.compile(r"[012]?>&[012](?![^ \t\n;|&])")
_REDIRECTION = re.compile(r"[012]?(>>|>|<)(?![<>&|!(])[ \t]*(?![ \t\n;&|<>]|\Z)")
_PLAIN = re.compile(r"[\w./,:@%+\]\-\u0080-\U0010ffff]+")
_QUOTED = re.compile(r'[^"\\$`!]+')
_VARIABLE = re.compile(r"(?>[A-Za-z_][A-Za-z0-9_]*|\{[A-Za-z_][A-Za-z0-9_]*\}|\?)(?![\[:])")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_MAY_EXPAND = "*?[^#~="
"""What stands for itself in one shell and for file names, or for something else, in another."""
_WORDS_OF_A_SHELL = words(
    "- always case coproc do done elif else end esac fi for foreach function if in namespace nocorrect noglob repeat"
    " select then time until while [[ ]] { } !"
)
_CHANGES_MEANING = words(
    ". alias autoload bind builtin compgen complete declare disable emulate enable eval export fc float getopts hash"
    " integer let local mapfile print read readarray readonly rehash sched set setopt shopt source trap typeset unalias"
    " unfunction unset unsetopt vared zmodload"
)
"""What makes the rest of the line mean something else, or runs what it was told in another way."""
_CALCULATES = words("[ break continue exit printf return shift test wait")
"""What takes its words for arithmetic in one shell or another, and arithmetic can run commands."""
_MOVES = frozenset({"cd", "popd", "pushd"})


class NotUnderstoodError(ValueError):
    """Why nobody can say what a line of shell would run."""


class Redirection(NamedTuple):
    """A file that the shell itself opens."""

    writes: bool
    path: str


class Part(NamedTuple):
    """A simple command: its words (None where a word is only known when it runs) and what its redirections touch."""

    words: tuple[str | None, ...]
    redirections: tuple[Redirection, ...] = ()
    assignments: int = 0
    """How many of the words, in front, set variables."""

    @property
    def command(self) -> tuple[str | None, ...]:
        return self.words[self.assignments :]


def parse(line: str) -> tuple[Part, ...]:
    """Every simple command that the line may run, those of `sh -c` included. Raises NotUnderstoodError."""
    parts: list[Part] = []
    lines = [line]
    for one in lines:
        if len(lines) > SCRIPTS:
            raise NotUnderstoodError(f"there are more than {SCRIPTS} lines of shell in it")
        found = _Reader(one).read()
        parts += found
        for part in found:
            for script in scripts_of(part.command):
                if script is None:
                    raise NotUnderstoodError("what a shell is told in it is only known when it runs")
                lines.append(script)
    _check_places(parts)
    return tuple(parts)


class _Word(NamedTuple):
    text: str | None
    sets_variable: bool


class _Reader:
    """Reads a line once, from the left to the right."""

    def __init__(self, text: str) -> None:
        if len(text) > LENGTH:
            raise NotUnderstoodError(f"it is longer than {LENGTH} characters")
        if not text.replace("\n", " ").replace("\t", " ").isprintable():
            raise NotUnderstoodError("there are characters in it that cannot be seen")
        self._text = text
        self._at = 0
        self._parts: list[Part] = []
        self._words: list[_Word] = []
        self._redirections: list[Redirection] = []
        self._redirects = False

    def read(self) -> list[Part]:
        text, operator = self._text, ""
        while self._at < len(text):
            if text[self._at] in " \t":
                self._at += 1
            elif (found := _OPERATOR.match(text, self._at)) is not None:
                if found[0] != "\n" and not self._words:
                    raise self._beyond(f"{found[0]} without a command in front of it")
                operator = found[0] if self._words else operator
                self._finish()
                self._at = found.end()
            elif (found := _COPY.match(text, self._at)) is not None:
                self._at = found.end()
                self._redirects = True
            elif (found := _REDIRECTION.match(text, self._at)) is not None:
                self._at = found.end()
                self._redirect(found[1])
            elif text[self._at] in _ENDS:
                raise self._beyond(f"this {text[self._at]}")
            else:
                self._words.append(self._read_word())
        if operator in {"&&", "||", "|"} and not self._words:
            raise self._beyond(f"{operator} without a command behind it")
        self._finish()
        return self._parts

    def _finish(self) -> None:
        """What was read since the last operator is a simple command, or nothing."""
        words, redirections, redirects = self._words, tuple(self._redirections), self._redirects
        self._words, self._redirections, self._redirects = [], [], False
        count = next((at for at, word in enumerate(words) if not word.sets_variable), len(words))
        if redirects and count == len(words):
            raise NotUnderstoodError("a redirection without a command means a command of its own in some shells")
        if words:
            part = Part(tuple(word.text for word in words), redirections, count)
            _check_command(part.command)
            self._parts.append(part)

    def _redirect(self, operator: str) -> None:
        start = self._at
        target = self._read_word()
        if target.text is None:
            raise NotUnderstoodError(f"the file behind {operator} is only known when it runs")
        if self._text[self._at : self._at + 1] in {"<", ">"}:
            raise self._beyond("a second redirection without a blank in front of it")
        if not target.text or re.match(r"/+dev/+(?:tcp|udp)(?:/|$)", target.text):
            raise self._beyond(f"{operator} to this", start)
        self._redirects = True
        self._redirections.append(Redirection(writes=operator != "<", path=target.text))

    def _read_word(self) -> _Word:
        text, start = self._text, self._at
        pieces: list[str] = []
        is_known = True
        while self._at < len(text):
            if (run := _PLAIN.match(text, self._at)) is not None:
                pieces.append(run[0])
                self._at = run.end()
                continue
            character = text[self._at]
            if character in _ENDS:
                break
            self._at += 1
            is_known = self._read_mark(character, start, pieces) and is_known
        word = "".join(pieces)
        if text[self._at : self._at + 1] in {"<", ">"} and word.isdigit():
            raise self._beyond("a number in front of a redirection", start)
        if word.startswith("~") and text[start] != "~":
            is_known = False  # it says what a path in the home folder would say
        return _Word(word if is_known else None, _ASSIGNMENT.match(text, start) is not None)

    def _read_mark(self, character: str, start: int, pieces: list[str]) -> bool:
        """A character of a word that does not just stand for itself; False if what it becomes is not known."""
        text, is_first, following = self._text, self._at - 1 == start, self._text[self._at : self._at + 1]
        match character:
            case "'":
                return self._read_single_quoted(pieces)
            case '"':
                return self._read_double_quoted(pieces)
            case "\\":
                pieces.append(self._escaped())
            case "$":
                return self._expand(pieces, _BLANKS)
            case "{" if following == "}":  # as find and xargs have it
                pieces.append("{}")
                self._at += 1
            case "~" if is_first:
                if following not in {"/", "", *_ENDS}:
                    raise self._beyond("~ in front of a name", start)
                pieces.append("~")
            case "=" if any(pieces) and following not in {"=", "~"}:  # quotes without content do not count in zsh
                pieces.append("=")
            case "#" if is_first:
                raise self._beyond("a comment", start)
            case _ if character in _MAY_EXPAND:
                pieces.append(character)
                return text[start : start + 2].strip(_ENDS) == "["
            case _:
                raise self._beyond(f"this {character}", self._at - 1)
        return True

    def _read_single_quoted(self, pieces: list[str]) -> bool:
        start, end = self._at, self._text.find("'", self._at)
        if end < 0:
            raise self._beyond("a quote without an end", start - 1)
        pieces.append(self._text[start:end])
        self._at = end + 1
        # zsh can be told that two pieces side by side have a quote between them.
        return not self._text.startswith("'", self._at)

    def _read_double_quoted(self, pieces: list[str]) -> bool:
        """In double quotes; False if what it becomes is not known."""
        text, start, is_known = self._text, self._at - 1, True
        while self._at < len(text):
            if (run := _QUOTED.match(text, self._at)) is not None:
                pieces.append(run[0])
                self._at = run.end()
                continue
            character = text[self._at]
            self._at += 1
            match character:
                case '"':
                    return is_known
                case "\\":
                    escaped = self._escaped()
                    if escaped == "!":
                        raise self._beyond("!", self._at - 1)
                    pieces.append(escaped if escaped in '$`"\\' else f"\\{escaped}")
                case "$":
                    is_known = self._expand(pieces, f'{_BLANKS}"') and is_known
                case "!" if text[self._at : self._at + 1] in {" ", '"'}:
                    pieces.append("!")
                case _:
                    raise self._beyond(f"this {character}", self._at - 1)
        raise self._beyond("a quote without an end", start)

    def _escaped(self) -> str:
        """The character behind a backslash."""
        character = self._text[self._at : self._at + 1]
        if character in {"", "\n"}:
            raise self._beyond("a backslash at the end of a line", self._at - 1)
        self._at += 1
        return character

    def _expand(self, pieces: list[str], alone: str) -> bool:
        """Behind a dollar: False for a variable, whose value nobody knows; True for the dollar itself."""
        if (name := _VARIABLE.match(self._text, self._at)) is not None:
            self._at = name.end()
            return False
        if self._text[self._at : self._at + 1] in alone:
            pieces.append("$")
            return True
        raise self._beyond("a substitution", self._at - 1)

    def _beyond(self, what: str, at: int | None = None) -> NotUnderstoodError:
        place = (self._at if at is None else at) + 1
        return NotUnderstoodError(f"{what} at character {place} is beyond what is judged here")


def _check_command(words: tuple[str | None, ...]) -> None:
    """Refuse what means something of its own to a shell, whatever its words are."""
    if not words:
        return
    head = words[0]
    if not head:
        raise NotUnderstoodError("which command it runs is only known when it runs")
    if head in _WORDS_OF_A_SHELL or "=" in head:
        raise NotUnderstoodError(f"{head!r} is beyond what is judged here")
    names = {word for word in _own(words) if word is not None}
    if changing := names & _CHANGES_MEANING:
        raise NotUnderstoodError(f"what {min(changing)} does to the rest of the line is beyond what is judged here")
    if head in OF_THE_SHELL and None in words:
        raise NotUnderstoodError(f"which command {head} runs is only known when it runs")
    if names & _CALCULATES and any(word is None or re.search(r"[$`]|.\[|^-v", word) for word in words):
        raise NotUnderstoodError(f"what {head} makes of its words is beyond what is judged here")


def _check_places(parts: list[Part]) -> None:
    """Refuse what is meant from a folder that the line itself changes."""
    if not any(word in _MOVES for part in parts for word in _own(part.command)):
        return
    for part in parts:
        head = part.command[0] if part.command else None
        for path in (*(each.path for each in part.redirections), *([head] if head and "/" in head else [])):
            if not path.startswith(("/", "~/")):
                raise NotUnderstoodError(f"it changes the folder, so that where {path!r} is cannot be known")


def _own(words: tuple[str | None, ...]) -> tuple[str | None, ...]:
    """The words that may name a command of the shell's own."""
    return words if words and words[0] in OF_THE_SHELL else words[:1]

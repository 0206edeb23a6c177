"""Parses a line of shell into its simple commands, or tells why it cannot be known what the line would run.

It supports a small grammar that sh, bash, dash, ksh and zsh read alike: words and quotes, `&&`, `||`, `;`, `|`, `&` and
newlines between commands, and redirections to named files. Everything else is refused, so that what is checked is what
runs: no substitutions, no brackets, no loops, no comments, no line continuations.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from segue.permissions.wrapper_commands import BUILTIN_WRAPPERS, find_scripts, word_set

LENGTH = 20_000
SCRIPTS = 8
"""How many scripts a line may contain, including itself: `sh -c` has one."""

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
"""Characters that are literal in one shell, and expand to file names or something else in another."""
_RESERVED_WORDS = word_set(
    "- always case coproc do done elif else end esac fi for foreach function if in namespace nocorrect noglob repeat"
    " select then time until while [[ ]] { } !"
)
_CHANGES_MEANING = word_set(
    ". alias autoload bind builtin compgen complete declare disable emulate enable eval export fc float getopts hash"
    " integer let local mapfile print read readarray readonly rehash sched set setopt shopt source trap typeset unalias"
    " unfunction unset unsetopt vared zmodload"
)
"""Builtins that change the meaning of the rest of the line, or run their arguments in another way."""
_ARITHMETIC = word_set("[ break continue exit printf return shift test wait")
"""Builtins that evaluate arguments as arithmetic in some shell; arithmetic can run commands."""
_CHANGES_FOLDER = frozenset({"cd", "popd", "pushd"})


class UnsupportedShellError(ValueError):
    """Why it cannot be known what a line of shell would run."""


class Redirection(NamedTuple):
    """A file that the shell itself opens."""

    writes: bool
    path: str


class SimpleCommand(NamedTuple):
    """A command with its words and redirections. A word is None if it is only known at run time."""

    words: tuple[str | None, ...]
    redirections: tuple[Redirection, ...] = ()
    assignments: int = 0
    """The number of leading words that set variables."""

    @property
    def argv(self) -> tuple[str | None, ...]:
        return self.words[self.assignments :]


def parse_shell(line: str) -> tuple[SimpleCommand, ...]:
    """All simple commands that the line may run, including those of `sh -c`. Raises UnsupportedShellError."""
    commands: list[SimpleCommand] = []
    lines = [line]
    for one in lines:
        if len(lines) > SCRIPTS:
            raise UnsupportedShellError(f"it contains more than {SCRIPTS} scripts")
        found = _Reader(one).read()
        commands += found
        for command in found:
            for script in find_scripts(command.argv):
                if script is None:
                    raise UnsupportedShellError("the script of a nested shell is only known at run time")
                lines.append(script)
    _check_folders(commands)
    return tuple(commands)


class _Word(NamedTuple):
    text: str | None
    sets_variable: bool


class _Reader:
    """Reads a line once, from left to right."""

    def __init__(self, text: str) -> None:
        if len(text) > LENGTH:
            raise UnsupportedShellError(f"it is longer than {LENGTH} characters")
        if not text.replace("\n", " ").replace("\t", " ").isprintable():
            raise UnsupportedShellError("it contains invisible characters")
        self._text = text
        self._at = 0
        self._commands: list[SimpleCommand] = []
        self._words: list[_Word] = []
        self._redirections: list[Redirection] = []
        self._redirects = False

    def read(self) -> list[SimpleCommand]:
        text, operator = self._text, ""
        while self._at < len(text):
            if text[self._at] in " \t":
                self._at += 1
            elif (found := _OPERATOR.match(text, self._at)) is not None:
                if found[0] != "\n" and not self._words:
                    raise self._unsupported(f"{found[0]} without a command before it")
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
                raise self._unsupported(f"this {text[self._at]}")
            else:
                self._words.append(self._read_word())
        if operator in {"&&", "||", "|"} and not self._words:
            raise self._unsupported(f"{operator} without a command after it")
        self._finish()
        return self._commands

    def _finish(self) -> None:
        """Turn the words since the last operator into a simple command, if there are any."""
        words, redirections, redirects = self._words, tuple(self._redirections), self._redirects
        self._words, self._redirections, self._redirects = [], [], False
        count = next((at for at, word in enumerate(words) if not word.sets_variable), len(words))
        if redirects and count == len(words):
            raise UnsupportedShellError("a redirection without a command runs a command in some shells")
        if words:
            command = SimpleCommand(tuple(word.text for word in words), redirections, count)
            _check_command(command.argv)
            self._commands.append(command)

    def _redirect(self, operator: str) -> None:
        start = self._at
        target = self._read_word()
        if target.text is None:
            raise UnsupportedShellError(f"the file after {operator} is only known at run time")
        if self._text[self._at : self._at + 1] in {"<", ">"}:
            raise self._unsupported("a second redirection without a blank before it")
        if not target.text or re.match(r"/+dev/+(?:tcp|udp)(?:/|$)", target.text):
            raise self._unsupported(f"{operator} to this", start)
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
            raise self._unsupported("a number before a redirection", start)
        if word.startswith("~") and text[start] != "~":
            is_known = False  # the same text as a path in the home folder
        return _Word(word if is_known else None, _ASSIGNMENT.match(text, start) is not None)

    def _read_mark(self, character: str, start: int, pieces: list[str]) -> bool:
        """Read a special character of a word; False if its expansion is not known."""
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
                    raise self._unsupported("~ before a name", start)
                pieces.append("~")
            case "=" if any(pieces) and following not in {"=", "~"}:  # empty quotes do not count in zsh
                pieces.append("=")
            case "#" if is_first:
                raise self._unsupported("a comment", start)
            case _ if character in _MAY_EXPAND:
                pieces.append(character)
                return text[start : start + 2].strip(_ENDS) == "["
            case _:
                raise self._unsupported(f"this {character}", self._at - 1)
        return True

    def _read_single_quoted(self, pieces: list[str]) -> bool:
        start, end = self._at, self._text.find("'", self._at)
        if end < 0:
            raise self._unsupported("a quote without an end", start - 1)
        pieces.append(self._text[start:end])
        self._at = end + 1
        # With an option of zsh, two adjacent pieces have a quote between them.
        return not self._text.startswith("'", self._at)

    def _read_double_quoted(self, pieces: list[str]) -> bool:
        """Read up to the closing quote; False if the expansion is not known."""
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
                        raise self._unsupported("!", self._at - 1)
                    pieces.append(escaped if escaped in '$`"\\' else f"\\{escaped}")
                case "$":
                    is_known = self._expand(pieces, f'{_BLANKS}"') and is_known
                case "!" if text[self._at : self._at + 1] in {" ", '"'}:
                    pieces.append("!")
                case _:
                    raise self._unsupported(f"this {character}", self._at - 1)
        raise self._unsupported("a quote without an end", start)

    def _escaped(self) -> str:
        """The character after a backslash."""
        character = self._text[self._at : self._at + 1]
        if character in {"", "\n"}:
            raise self._unsupported("a backslash at the end of a line", self._at - 1)
        self._at += 1
        return character

    def _expand(self, pieces: list[str], alone: str) -> bool:
        """After a dollar sign: False for a variable, whose value is not known; True for a literal dollar."""
        if (name := _VARIABLE.match(self._text, self._at)) is not None:
            self._at = name.end()
            return False
        if self._text[self._at : self._at + 1] in alone:
            pieces.append("$")
            return True
        raise self._unsupported("a substitution", self._at - 1)

    def _unsupported(self, what: str, at: int | None = None) -> UnsupportedShellError:
        position = (self._at if at is None else at) + 1
        return UnsupportedShellError(f"{what} at character {position} is not supported")


def _check_command(words: tuple[str | None, ...]) -> None:
    """Refuse commands that have a special meaning to a shell, whatever their arguments."""
    if not words:
        return
    head = words[0]
    if not head:
        raise UnsupportedShellError("the command is only known at run time")
    if head in _RESERVED_WORDS or "=" in head:
        raise UnsupportedShellError(f"{head!r} is not supported")
    names = {word for word in _builtin_words(words) if word is not None}
    if changing := names & _CHANGES_MEANING:
        raise UnsupportedShellError(f"{min(changing)} is not supported: it changes what the rest of the line means")
    if head in BUILTIN_WRAPPERS and None in words:
        raise UnsupportedShellError(f"the command that {head} runs is only known at run time")
    if names & _ARITHMETIC and any(word is None or re.search(r"[$`]|.\[|^-v", word) for word in words):
        raise UnsupportedShellError(f"these arguments of {head} are not supported: it may evaluate them")


def _check_folders(commands: list[SimpleCommand]) -> None:
    """Refuse relative paths in a line that changes its folder."""
    if not any(word in _CHANGES_FOLDER for command in commands for word in _builtin_words(command.argv)):
        return
    for command in commands:
        head = command.argv[0] if command.argv else None
        for path in (*(each.path for each in command.redirections), *([head] if head and "/" in head else [])):
            if not path.startswith(("/", "~/")):
                raise UnsupportedShellError(f"it changes the folder, so the location of {path!r} is not known")


def _builtin_words(words: tuple[str | None, ...]) -> tuple[str | None, ...]:
    """The words that may name a builtin of the shell."""
    return words if words and words[0] in BUILTIN_WRAPPERS else words[:1]

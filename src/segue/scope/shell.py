"""What a line of shell would run: its simple commands, one by one, or why that cannot be known.

This is no shell. It understands what people and agents type every day, and refuses the rest: what is judged must be
what runs.
"""

from __future__ import annotations

import re
from typing import NamedTuple, NoReturn

LENGTH = 20_000
DEPTH = 8
_BLANKS = " \t"
_ENDS = " \t\n;&|()<>"
_OPERATORS = ("&&", "||", "|&", ";", "|", "&", "\n")
_REDIRECTION = re.compile(r"\d*(?:&>>|&>|<<<|<<|>>|>\||>&|<&|<>|>|<)")
_NAME = re.compile(r"[A-Za-z_]\w*|[0-9?$#!@*-]")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_LEADING = {"if", "then", "else", "elif", "while", "until", "do", "!", "{"}
_ALONE = {"fi", "done", "}"}
_BEYOND = {"case", "esac", "select", "function", "coproc", "[[", "time"}
_SHELLS = {"sh", "bash", "dash", "ksh", "zsh"}
_LATER = {"alias", "trap"}
_MOVES = {"cd", "pushd", "popd", "source", ".", "eval"}
WRAPPERS = {
    *("busybox", "builtin", "chroot", "command", "doas", "env", "exec", "find", "flock", "ionice", "nice", "nohup"),
    *("parallel", "setsid", "ssh", "stdbuf", "strace", "sudo", "timeout", "watch", "xargs"),
}
"""Commands that run another one, which stands somewhere among their words."""


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

    @property
    def command(self) -> tuple[str | None, ...]:
        """The words without the assignments in front of them."""
        first = next((at for at, word in enumerate(self.words) if not is_assignment(word)), len(self.words))
        return self.words[first:]


def is_assignment(word: str | None) -> bool:
    return word is not None and _ASSIGNMENT.match(word) is not None


def parse(line: str) -> tuple[Part, ...]:
    """Every simple command that the line may run, those in substitutions included. Raises NotUnderstoodError."""
    parts = _parse(line, 0)
    moves = any(_moves(part.command) for part in parts)
    for part in parts:
        for redirection in part.redirections:
            if moves and not redirection.path.startswith(("/", "~/")):
                raise NotUnderstoodError(
                    f"it changes the folder, so that where {redirection.path!r} is cannot be known"
                )
    return parts


def _parse(line: str, depth: int) -> tuple[Part, ...]:
    if len(line) > LENGTH:
        raise NotUnderstoodError(f"it is longer than {LENGTH} characters")
    if _CONTROL.search(line):
        raise NotUnderstoodError("there are control characters in it")
    reader = _Reader(line, depth)
    reader.read_list("")
    return tuple(reader.parts)


class _Word(NamedTuple):
    text: str | None
    is_plain: bool
    """Whether nothing of it was quoted, so that it may be a word of the shell's own."""
    is_glob: bool


class _Reader:
    def __init__(self, text: str, depth: int) -> None:
        if depth > DEPTH:
            raise NotUnderstoodError("its substitutions are nested too deeply")
        self.text = text
        self.at = 0
        self.depth = depth
        self.parts: list[Part] = []
        self._words: list[_Word] = []
        self._redirections: list[Redirection] = []
        self._is_group = False  # a `( … )` has just ended

    def read_list(self, closing: str) -> None:
        """Commands up to the closing bracket, which is read as well."""
        outer = self._words, self._redirections, self._is_group
        self._words, self._redirections, self._is_group = [], [], False
        while True:
            self._skip_blanks()
            if self.at >= len(self.text):
                if closing:
                    raise NotUnderstoodError(f"a {closing!r} is missing")
                break
            character = self.text[self.at]
            if character == ")" and closing:
                self.at += 1
                break
            self._read_piece(character)
        self._finish()
        self._words, self._redirections, self._is_group = outer

    def _read_piece(self, character: str) -> None:
        redirection = _REDIRECTION.match(self.text, self.at)
        if redirection is not None:
            self._redirect(redirection[0])
        elif operator := next((word for word in _OPERATORS if self.text.startswith(word, self.at)), ""):
            self.at += len(operator)
            self._finish()
        elif character == "#":
            end = self.text.find("\n", self.at)
            self.at = len(self.text) if end < 0 else end
        elif character == "(":
            leading = all(word.is_plain and word.text in _LEADING for word in self._words)
            if self.text.startswith("((", self.at) or not leading or self._is_group:
                self._refuse("a bracket", self.at)
            self.at += 1
            self.read_list(")")
            self._is_group = True
        elif character == ")":
            self._refuse("a bracket", self.at)
        elif self._is_group:
            self._refuse("a word behind a bracket", self.at)
        else:
            self._words.append(self._read_word())

    def _finish(self) -> None:
        """What was read since the last operator is a simple command, or nothing."""
        words, redirections, is_group = self._words, tuple(self._redirections), self._is_group
        self._words, self._redirections, self._is_group = [], [], False
        while words and words[0].is_plain and words[0].text in _LEADING:
            words = words[1:]
        if len(words) == 1 and words[0].is_plain and words[0].text in _ALONE:
            words = []
        if words and words[0].is_plain and words[0].text == "for":
            if len(words) != 2 and (len(words) < 3 or words[2].text != "in"):  # noqa: PLR2004 - for NAME [in …]
                raise NotUnderstoodError("this 'for' is beyond what is judged here")
            words = []  # it runs nothing itself; what it assigns is not known, as no variable is
        if words and words[0].is_plain and words[0].text in _BEYOND:
            raise NotUnderstoodError(f"{words[0].text!r} is beyond what is judged here")
        if is_group and words:
            raise NotUnderstoodError("there are words behind a bracket")
        part = Part(tuple(word.text for word in words), redirections)
        if not words and not redirections:
            return
        if part.command:
            head = words[len(words) - len(part.command)]
            if head.text is None or head.is_glob:
                raise NotUnderstoodError("which command it runs is only known when it runs")
            if head.text in _LATER:
                raise NotUnderstoodError(f"what {head.text} keeps for later is beyond what is judged here")
        self.parts.append(part)
        for script in _scripts(part.command):
            self.parts.extend(_parse(script, self.depth + 1))

    def _redirect(self, mark: str) -> None:
        self.at += len(mark)
        operator = mark.lstrip("0123456789")
        if operator == "<<":
            raise NotUnderstoodError("a here-document (<<) is beyond what is judged here")
        if operator in {"<", ">"} and self.text.startswith("(", self.at):
            self.at += 1
            self.read_list(")")
            self._words.append(_Word(None, is_plain=False, is_glob=False))
            return
        self._skip_blanks()
        if self.at >= len(self.text) or self.text[self.at] in _ENDS:
            self._refuse(operator, self.at)
        target = self._read_word()
        if operator == "<<<" or (operator in {">&", "<&"} and re.fullmatch(r"\d+-?|-", target.text or "")):
            return
        is_elses = (target.text or "").startswith("~") and not (
            target.is_plain and (target.text or "").startswith("~/")
        )
        if target.text is None or target.is_glob or is_elses:
            raise NotUnderstoodError(f"the file behind {operator} is only known when it runs")
        self._redirections.append(Redirection(writes=operator not in {"<", "<&"}, path=target.text))
        if operator == "<>":
            self._redirections.append(Redirection(writes=False, path=target.text))

    def _read_word(self) -> _Word:
        start, text = self.at, ""
        is_plain, is_glob, is_known = True, False, True
        while self.at < len(self.text) and (character := self.text[self.at]) not in _ENDS:
            self.at += 1
            match character:
                case "'":
                    text, is_plain = text + self._until("'"), False
                case '"':
                    inside = self._read_quoted()
                    is_known, is_plain = is_known and inside is not None, False
                    text += inside or ""
                case "\\":
                    is_plain = False
                    text += self._next_character().replace("\n", "")
                case "$":
                    piece = self._expand()
                    is_known = is_known and piece is not None
                    text += piece or ""
                case "`":
                    self._run_backticks()
                    is_known = False
                case "{" if not self._is_harmless_brace(start):
                    self._refuse("a brace", self.at - 1)
                case _:
                    is_glob = is_glob or character in "*?["
                    text += character
        return _Word(text if is_known else None, is_plain, is_glob and text != "[")

    def _read_quoted(self) -> str | None:
        text, is_known = "", True
        while (character := self._next_character()) != '"':
            match character:
                case "\\":
                    escaped = self._next_character()
                    text += escaped.replace("\n", "") if escaped in '$`"\\\n' else f"\\{escaped}"
                case "$":
                    piece = self._expand(is_quoted=True)
                    is_known = is_known and piece is not None
                    text += piece or ""
                case "`":
                    self._run_backticks()
                    is_known = False
                case _:
                    text += character
        return text if is_known else None

    def _expand(self, *, is_quoted: bool = False) -> str | None:
        """Behind a dollar: None for what is only known when it runs, or the dollar itself."""
        rest = self.text[self.at : self.at + 2]
        if rest == "((" or rest[:1] == "[" or (rest[:1] in {"'", '"'} and not is_quoted):
            self._refuse(f"${rest}", self.at)
        if rest[:1] == "(":
            self.at += 1
            self.read_list(")")
            return None
        if rest[:1] == "{":
            simple = re.compile(r"\{[A-Za-z_]\w*\}").match(self.text, self.at)
            if simple is None:
                self._refuse("${", self.at)
            self.at = simple.end()
            return None
        if (name := _NAME.match(self.text, self.at)) is not None:
            self.at = name.end()
            return None
        return "$"

    def _run_backticks(self) -> None:
        script = ""
        while (character := self._next_character()) != "`":
            if character == "\\":
                escaped = self._next_character()
                character = escaped if escaped in "$`\\" else f"\\{escaped}"
            script += character
        self.parts.extend(_parse(script, self.depth + 1))

    def _is_harmless_brace(self, start: int) -> bool:
        """`{}` as find has it, and `{` alone; all else may become several words."""
        alone = self.at - 1 == start and self.text[self.at : self.at + 1] in {"", *_BLANKS, "\n"}
        return alone or self.text.startswith("}", self.at)

    def _until(self, mark: str) -> str:
        end = self.text.find(mark, self.at)
        if end < 0:
            self._refuse("a quote without an end", self.at - 1)
        text, self.at = self.text[self.at : end], end + 1
        return text

    def _next_character(self) -> str:
        if self.at >= len(self.text):
            self._refuse("the end", self.at)
        self.at += 1
        return self.text[self.at - 1]

    def _skip_blanks(self) -> None:
        while self.text.startswith((*_BLANKS, "\\\n"), self.at):
            self.at += 2 if self.text[self.at] == "\\" else 1

    def _refuse(self, what: str, at: int) -> NoReturn:
        raise NotUnderstoodError(f"{what} at character {at + 1} is beyond what is judged here")


def _moves(words: tuple[str | None, ...]) -> bool:
    """Whether relative paths mean something else afterwards."""
    heads = words if is_wrapper(words) else words[:1]
    return not _MOVES.isdisjoint(word for word in heads if word is not None)


def is_wrapper(words: tuple[str | None, ...]) -> bool:
    return bool(words) and words[0] is not None and words[0].rpartition("/")[2] in WRAPPERS


def _scripts(words: tuple[str | None, ...]) -> list[str]:
    """Lines of shell among the words: what `sh -c` and `eval` are told to run."""
    if not words or words[0] is None:
        return []
    head = words[0].rpartition("/")[2]
    if is_wrapper(words):
        return [script for at in range(1, len(words)) for script in _scripts(words[at:])]
    if head == "eval":
        if None in words:
            raise NotUnderstoodError("what eval runs is only known when it runs")
        return [" ".join(word or "" for word in words[1:])]
    if head in _SHELLS:
        option = next((at for at, word in enumerate(words) if word and re.fullmatch(r"-\w*c\w*", word)), None)
        if None in words[1:]:
            raise NotUnderstoodError(f"what {head} runs is only known when it runs")
        if option is not None:
            script = next((word for word in words[option + 1 :] if word and not word.startswith(("-", "+"))), None)
            return [script] if script else []
    return []

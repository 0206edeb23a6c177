"""Completion of commands and of their arguments."""

from __future__ import annotations

import os
import re
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from segue.errors import SegueError
from segue.ids import match_words
from segue.surface import Suggestion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from segue.chat.commands.table import Command
    from segue.chat.repl import Chat

_MENTION = re.compile(r"""(?<![^\s(\["'])@("[^"\n]*|[^\s"]*)$""")
_MOST = 100
"""A longer menu is not useful."""


def suggestions(chat: Chat, line: str) -> Iterator[Suggestion]:
    """The completions of a line that begins with a slash, and of `@path` at the end of any other."""
    if not line.startswith("/") or "\n" in line:
        if (mention := _MENTION.search(line)) is not None:
            yield from _words_of_paths(chat, mention[1])
        return
    name, blank, argument = line.partition(" ")
    if not blank:
        for command in chat.table:
            for one in _names(chat, command):
                if one.startswith(name[1:].casefold()):
                    yield Suggestion(text=f"/{one}", replaces=len(name), about=command.help)
        return
    command_called = chat.table.find(name)
    if command_called is None:
        return
    argument = argument.lstrip()
    if command_called.completes == "path":
        yield from [*_paths(chat, argument)] or _words_of_paths(chat, _last_word(argument))
        return
    if command_called.completes == "session":
        yield from islice(_sessions(chat, argument), _MOST)
        return
    found = _asked(chat, command_called.words) or _words(chat, command_called.completes)
    for word in islice((word for word in found if word.startswith(argument)), _MOST):
        yield Suggestion(text=word, replaces=len(argument))


def _names(chat: Chat, command: Command) -> Iterable[str]:
    if command.members is None:
        return [command.name]
    return [f"{command.family}.{member}" for member in _asked(chat, command.members)]


def _asked(chat: Chat, words: Callable[[Chat], Iterable[str]] | None) -> list[str]:
    try:
        return list(words(chat)) if words is not None else []
    except SegueError:
        return []  # completion has no place for errors


def _words(chat: Chat, kind: str) -> Iterable[str]:
    match kind:
        case "branch":
            return [name for name in chat.session.overview.branches if name != chat.session.branch]
        case "agent":
            return chat.agents.names()
        case "command":
            return chat.table.names
        case "switch":
            return ("on", "off")
    return ()


def _sessions(chat: Chat, argument: str) -> Iterator[Suggestion]:
    """The other sessions whose id begins with the argument, or else those with its words in their title."""
    finder = chat.finder
    try:
        entries = finder.entries(argument, quiet=True)
    except SegueError:
        return  # completion has no place for errors
    # An AI tool may give any id; the user must see what is inserted.
    others = [entry for entry in entries if entry.id.isprintable() and not chat.is_current(entry)]
    begun = [entry for entry in others if entry.id.startswith(argument)]
    for entry in begun or match_words(argument, others, lambda entry: (entry.title, entry.tool)):
        tool = entry.tool if finder.library_of(entry) is None else ""
        about = " · ".join(fact for fact in (tool, entry.title) if fact)
        yield Suggestion(text=entry.id, replaces=len(argument), about=about)


def _last_word(argument: str) -> str:
    """What is being typed: the text after the last blank, or from a quotation mark on that is not closed."""
    return argument[argument.rindex('"') :] if argument.count('"') % 2 else argument.rpartition(" ")[2]


def _words_of_paths(chat: Chat, word: str) -> Iterator[Suggestion]:
    """The paths that begin with a word, which may begin with a quotation mark; those with blanks are quoted."""
    is_quoted = word.startswith('"')
    start = word.removeprefix('"')
    for one in _paths(chat, start):
        path = start[: len(start) - one.replaces] + one.text
        if is_quoted or " " in path:
            end = "" if path.endswith("/") else '"'
            yield Suggestion(text=f'"{path}{end}', replaces=len(word))
        else:
            yield one


def _paths(chat: Chat, argument: str) -> Iterator[Suggestion]:
    head, _, start = argument.rpartition("/")
    folder = chat.surface.cwd / (f"{head}/" if "/" in argument else "")
    if head == "~" or head.startswith("~/"):
        folder = chat.surface.home / head[2:]
    try:
        with os.scandir(Path(folder)) as entries:
            found = sorted((entry.name, entry.is_dir()) for entry in entries if entry.name.startswith(start))
    except OSError:
        return
    for name, is_folder in islice((one for one in found if start or not one[0].startswith(".")), _MOST):
        yield Suggestion(text=f"{name}/" if is_folder else name, replaces=len(start))

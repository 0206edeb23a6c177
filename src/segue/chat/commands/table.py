"""What a slash command is, and which lines are commands."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from segue.model import Status

if TYPE_CHECKING:
    from segue.chat.repl import Chat  # noqa: TC004 - a circle, and never read at run time

_NEAR = 0.7
_LEAVING = frozenset({"exit", "quit"})
"""Words that leave without a slash, alone on their line."""

Completes = Literal["", "path", "session", "branch", "agent", "command", "switch"]


class Leave(Struct, frozen=True):
    """The user leaves, and this status is to be recorded."""

    status: Status


class Command(Struct, frozen=True, kw_only=True):
    """One line of the table."""

    name: str
    usage: str = ""
    """The arguments, for the help."""
    help: str
    run: Callable[[Chat, str], Leave | None]
    """Called with the chat and the text after the name."""
    aliases: tuple[str, ...] = ()
    completes: Completes = ""
    """What its argument is, for completion."""
    words: Callable[[Chat], Iterable[str]] | None = None
    """The values of its argument, where only the command knows them."""
    members: Callable[[Chat], Iterable[str]] | None = None
    """Of a family such as `/workspace.TYPE`: the values of TYPE, which `run` gets before the argument."""

    @property
    def family(self) -> str:
        """The part of the name before the dot."""
        return self.name.partition(".")[0]


class Called(Struct, frozen=True):
    command: Command
    argument: str


class UnknownCommand(Struct, frozen=True):
    """A line that looks like a command with an unknown name."""

    name: str
    near: tuple[str, ...]


class TypedLine(Struct, frozen=True):
    """A message for the agent."""

    text: str


class Table:
    """Every command of a dialect, by name and alias, in the order of the help."""

    def __init__(self, commands: Iterable[Command]) -> None:
        found = {command.name: command for command in commands}
        self._by_name = {name: command for command in found.values() for name in (command.name, *command.aliases)}
        self._families = {command.family: command for command in found.values() if command.members is not None}
        self._commands = tuple(found.values())

    def __iter__(self) -> Iterator[Command]:
        return iter(self._commands)

    def find(self, name: str) -> Command | None:
        name = name.removeprefix("/").casefold()
        family, dot, _ = name.partition(".")
        return self._by_name.get(name) or (self._families.get(family) if dot else None)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._by_name)

    def near(self, name: str) -> tuple[str, ...]:
        """The names that were probably meant: those that begin so, have the same letters, or else look alike."""
        name = name.casefold()
        begun = [one for one in self._by_name if one.startswith(name)]
        swapped = [one for one in self._by_name if sorted(one) == sorted(name)]
        return tuple(begun[:2] or swapped or difflib.get_close_matches(name, self._by_name, n=2, cutoff=_NEAR))

    def parse(self, line: str) -> Called | UnknownCommand | TypedLine:
        """What a line means.

        A command is a slash, a letter, and no other slash before the first blank: `/usr/bin is missing` is a message,
        and `/tmp is full` an unknown command, which is never sent. `//` begins a message with one slash. `exit` and
        `quit` alone are commands too.
        """
        text = line.strip()
        if text.startswith("//"):
            return TypedLine(text[1:])
        leave = self.find(text) if text.casefold() in _LEAVING else None
        if leave is not None:
            return Called(leave, "")
        word = text.split(maxsplit=1)[0] if text else ""
        name = word.removeprefix("/")
        if name == word or not name[:1].isalpha() or "/" in name:
            return TypedLine(line)
        command = self.find(name)
        if command is None:
            return UnknownCommand(name, self.near(name))
        member = name.partition(".")[2] if command.members is not None else ""
        return Called(command, f"{member} {text[len(word) :].strip()}".strip())

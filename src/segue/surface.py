"""What a command knows of its user and of the machine: it builds one `Surface` and hands it to all that it calls."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from contextlib import AbstractContextManager

    from segue.trust import Trust


class Suggestion(Struct, frozen=True, kw_only=True):
    """One completion of the line that is being typed."""

    text: str
    replaces: int
    """The number of characters before the cursor that it replaces."""
    about: str = ""


class Idle(Struct, frozen=True, kw_only=True):
    """What happens, once, when the user types nothing for a while."""

    seconds: float
    act: Callable[[], str]
    """Does it, and returns the message for the user."""


class Terminal(Protocol):
    """What a conversation needs of a terminal. All text may be untrusted: the terminal makes it printable."""

    @property
    def is_interactive(self) -> bool:
        """Whether a user is present, who can answer questions and press Ctrl-C."""

    def read_line(self, prompt: str, *, status: str = "", idle: Idle | None = None, session: str = "") -> str | None:
        """The text that was typed (several lines, if continued or pasted), or None at the end of the input.

        The message of `idle` appears above the prompt, and the text typed so far stays. Scripts are never idle. The
        history records that the text was typed in `session`.
        """

    def ask(self, question: str, *, default: bool, safe: bool = False) -> bool:
        """Yes or no: `default` for an empty line, `safe` if there is no answer."""

    def answer(self, question: str) -> str | None:
        """One line in answer to a question; None if there is none. Text typed before the question is no answer."""

    def show(self, pieces: Iterable[str], *, waiting: str = "") -> None:
        """Show an answer as it streams. An error of the pieces passes through, after the text before it is shown."""

    def say(self, text: str) -> None:
        """Print output that the user asked for."""

    def note(self, text: str) -> None:
        """Print information next to the output."""

    def diff(self, text: str) -> None:
        """Print a unified diff next to the output."""

    def busy(self, what: str) -> AbstractContextManager[None]:
        """Show what is being done, and for how long, until the block ends; nothing where no user watches."""

    def error(self, message: str, hint: str = "") -> None:
        """Print what went wrong, and what to do next."""

    def clear(self) -> None:
        """Clear the screen, where there is one."""

    def copy(self, text: str) -> bool:
        """Send a text to the clipboard of the terminal; returns whether the terminal could have one."""

    def complete_with(self, complete: Callable[[str], Iterable[Suggestion]]) -> None:
        """Complete with this function, which gets the text up to the cursor."""


class Paths(Struct, frozen=True, kw_only=True):
    """The folders of this user for everything that is not a session."""

    config: Path
    """config.toml, presets and scope profiles."""
    state: Path
    """Trust marks, and permissions that are granted once."""
    cache: Path
    history: Path
    """The file with the lines that were typed; the drafts of answers are next to it."""

    @property
    def drafts(self) -> Path:
        return self.history.parent / "drafts"

    @property
    def scope_profiles(self) -> Path:
        return self.config / "scopes"


@dataclass(frozen=True, kw_only=True, slots=True)
class Surface:
    """Only surfaces read the environment, the home directory and the terminal; everything below gets them from here."""

    terminal: Terminal
    cwd: Path
    home: Path
    environ: Mapping[str, str]
    paths: Paths
    notify: Callable[[str], None]
    """Prints information for the user."""
    confirm: Callable[[str], bool]
    """Shows the user what a session asks for, and returns whether it may have it."""

    @property
    def trust(self) -> Trust:
        """What this user has set or agreed to on this machine."""
        from segue.durable.folder import Folder
        from segue.trust import Trust

        return Trust(Folder(os.path.realpath(self.paths.state / "trust")))

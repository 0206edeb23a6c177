"""Where a conversation is held: the contract of a terminal, and which of the two there are is at hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path
    from typing import TextIO


class Suggestion(Struct, frozen=True, kw_only=True):
    """One way to go on with what is being typed."""

    text: str
    replaces: int
    """How many characters before the cursor it stands for."""
    about: str = ""


class Idle(Struct, frozen=True, kw_only=True):
    """What happens, once, when a person at the prompt does nothing for a while."""

    seconds: float
    act: Callable[[], str]
    """Does it, and gives back what the person is told."""


class Terminal(Protocol):
    """What a conversation needs of a terminal. All text may be a stranger's: whoever shows it makes it printable."""

    @property
    def is_interactive(self) -> bool:
        """Whether a person sits there, who can be asked twice and who can press Ctrl-C."""

    def read_line(self, prompt: str, *, status: str = "", idle: Idle | None = None, session: str = "") -> str | None:
        """What was typed (several lines, if it was continued or pasted), or None at the end of all input.

        A person who falls idle is told so above the prompt; what was typed so far stays. Scripts are never idle. What
        is remembered of it is remembered as typed in `session`.
        """

    def ask(self, question: str, *, default: bool, safe: bool = False) -> bool:
        """Yes or no: `default` for an empty line, `safe` if nobody answers."""

    def answer(self, question: str) -> str | None:
        """A line in answer to a question; None if nobody answers. What was typed before it was asked is no answer."""

    def show(self, pieces: Iterable[str], *, waiting: str = "") -> None:
        """Show an answer as it comes. What the pieces raise passes through, after all that came before is shown."""

    def say(self, text: str) -> None:
        """Say what was asked for."""

    def note(self, text: str) -> None:
        """Say what is good to know."""

    def error(self, message: str, hint: str = "") -> None:
        """Say what went wrong, and what to do next."""

    def clear(self) -> None:
        """Clear what is on the screen, where there is one."""

    def complete_with(self, complete: Callable[[str], Iterable[Suggestion]]) -> None:
        """Use this to complete what is typed up to the cursor."""


def open_terminal(
    stdin: TextIO,
    stdout: TextIO,
    stderr: TextIO,
    *,
    environ: Mapping[str, str],
    history: Path | None = None,
    name: str = "segue",
) -> Terminal:
    """A person's terminal if both ends of it are one; else one that reads line by line and writes plain text."""
    if stdin.isatty() and stdout.isatty():
        from segue.chat.terminal.interactive import InteractiveTerminal

        is_plain = bool(environ.get("NO_COLOR")) or environ.get("TERM", "dumb") in {"", "dumb", "unknown"}
        return InteractiveTerminal(stdin, stdout, is_plain=is_plain, history=history)
    from segue.chat.terminal.script import ScriptTerminal

    return ScriptTerminal(stdin.buffer, stdout, stderr, name=name, prompts=stdin.isatty() and stderr.isatty())

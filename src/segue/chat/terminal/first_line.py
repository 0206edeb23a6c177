"""A terminal whose first line is given, as in `segue chat "Why does login fail?"`."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from segue.surface import Idle, Terminal


class _FirstLine:
    """Returns the given line as the first that is typed; otherwise it is the terminal itself."""

    def __init__(self, terminal: Terminal, line: str) -> None:
        self._terminal = terminal
        self._line = line

    def __getattr__(self, name: str) -> object:
        return getattr(self._terminal, name)

    def read_line(self, prompt: str, *, status: str = "", idle: Idle | None = None, session: str = "") -> str | None:
        line, self._line = self._line, ""
        if not line:
            return self._terminal.read_line(prompt, status=status, idle=idle, session=session)
        if self._terminal.is_interactive:
            self._terminal.say(f"{prompt}{line}")
        return line


def with_first_line(terminal: Terminal, line: str) -> Terminal:
    """The terminal, on which this line is typed before any other; an empty one is not."""
    return cast("Terminal", _FirstLine(terminal, line)) if line else terminal

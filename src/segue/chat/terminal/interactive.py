"""The interactive terminal: prompt_toolkit reads, rich renders."""

from __future__ import annotations

import os
import termios
import textwrap
from base64 import b64encode
from contextlib import contextmanager
from typing import TYPE_CHECKING

from segue.chat.terminal.script import answer_of, choices, lines_of
from segue.formats.terminal import one_line, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path
    from typing import TextIO

    from segue.chat.terminal.drawing import Drawing
    from segue.chat.terminal.prompt import Prompt, Typeahead
    from segue.surface import Idle, Suggestion

_BOLD_RED, _DIM, _OFF = "\x1b[1;31m", "\x1b[2m", "\x1b[0m"
_DIFF = {"+": "\x1b[32m", "-": "\x1b[31m", "@": "\x1b[36m"}
"""The colours of a diff, by how a line begins."""
_INPUT, _LOCAL = 0, 3  # where termios keeps these flags
_CLEAR = "\x1b[2J\x1b[H"
_LONGEST_COPY = 100_000
"""Terminals ignore more than this."""


class InteractiveTerminal:
    """Both ends are a terminal. A plain one (`is_plain`) gets text only: no colours, and nothing is drawn in place."""

    is_interactive = True

    def __init__(self, stdin: TextIO, stdout: TextIO, *, is_plain: bool = False, history: Path | None = None) -> None:
        self._stdin = stdin
        self._stdout = stdout
        self._is_plain = is_plain
        self._history = history
        self._complete: Callable[[str], Iterable[Suggestion]] = _nothing
        self._prompt: Prompt | None = None
        self._typed_ahead: Typeahead | None = None

    def read_line(self, prompt: str, *, status: str = "", idle: Idle | None = None, session: str = "") -> str | None:
        if self._prompt is None:
            from segue.chat.terminal.prompt import Prompt

            self._prompt = Prompt(self._history, self._suggest, note=self.note, is_plain=self._is_plain)
        if self._typed_ahead is not None:
            self._typed_ahead.give_back()
        return self._prompt.read(one_line(prompt), one_line(status), idle, session=session)

    def ask(self, question: str, *, default: bool, safe: bool = False) -> bool:
        """Ask until the answer is a yes or a no; Ctrl-C and Ctrl-D do not answer."""
        while True:
            line = self.answer(f"{question} {choices(default=default)}")
            if line is None:
                return safe
            answer = answer_of(line, default=default)
            if answer is not None:
                return answer

    def answer(self, question: str) -> str | None:
        from segue.chat.terminal.prompt import Typeahead, read_answer

        self._typed_ahead = self._typed_ahead or Typeahead(self._stdin.fileno())
        self._typed_ahead.take()
        return read_answer(f"{one_line(question)} ")

    def show(self, pieces: Iterable[str], *, waiting: str = "") -> None:
        with self._no_echo():
            if self._is_plain:
                self._show_plain(pieces)
            else:
                self._draw(pieces, waiting)
        self._write("\n")

    def say(self, text: str) -> None:
        self._write(f"{printable(text)}\n")

    def note(self, text: str) -> None:
        lines = (self._wrapped(line) for line in printable(text).split("\n"))
        self._write(self._styled(_DIM, "\n".join(lines)) + "\n")

    def diff(self, text: str) -> None:
        lines = printable(text).split("\n")
        self._write("".join(f"{self._styled(_DIFF.get(line[:1], _DIM), line)}\n" for line in lines))

    @contextmanager
    def busy(self, what: str) -> Iterator[None]:
        if self._is_plain:
            yield
            return
        with self._no_echo():
            drawing = self._new_drawing(what, shows_time=True)
            try:
                yield
            finally:
                drawing.finish()

    def error(self, message: str, hint: str = "") -> None:
        self._write(self._styled(_BOLD_RED, one_line(message)) + "\n")
        if hint:
            self.note(one_line(hint))

    def clear(self) -> None:
        if not self._is_plain:
            self._write(_CLEAR)

    def copy(self, text: str) -> bool:
        data = b64encode(text.encode("utf-8", "replace")).decode()
        if self._is_plain or len(data) > _LONGEST_COPY:
            return False
        self._write(f"\x1b]52;c;{data}\x07")
        return True

    def complete_with(self, complete: Callable[[str], Iterable[Suggestion]]) -> None:
        self._complete = complete

    def _suggest(self, line: str) -> Iterable[Suggestion]:
        return self._complete(line)

    def _draw(self, pieces: Iterable[str], waiting: str) -> None:
        drawing = self._new_drawing(waiting)
        try:
            for piece in pieces:
                drawing.add(piece)
        finally:
            drawing.finish()

    def _new_drawing(self, waiting: str, *, shows_time: bool = False) -> Drawing:
        from segue.chat.terminal.drawing import Drawing

        size = os.get_terminal_size(self._stdout.fileno())
        return Drawing(
            self._write, columns=size.columns or 80, rows=size.lines or 24, waiting=waiting, shows_time=shows_time
        )

    def _show_plain(self, pieces: Iterable[str]) -> None:
        held, is_at_end = "", True
        try:
            for piece in pieces:
                text, held = lines_of(held + piece)
                self._write(printable(text))
                is_at_end = text.endswith("\n") if text else is_at_end
        finally:
            if held or not is_at_end:
                self._write(f"{printable(held)}\n")

    def _wrapped(self, line: str) -> str:
        """Wrapped between words; a terminal would wrap inside one."""
        columns = os.get_terminal_size(self._stdout.fileno()).columns or 80
        if len(line) <= columns:
            return line
        return textwrap.fill(line, columns, break_long_words=False, break_on_hyphens=False)

    def _styled(self, style: str, text: str) -> str:
        return text if self._is_plain else f"{style}{text}{_OFF}"

    def _write(self, text: str) -> None:
        self._stdout.write(text)
        self._stdout.flush()

    @contextmanager
    def _no_echo(self) -> Iterator[None]:
        """What is typed meanwhile waits for the next prompt, instead of appearing in the middle of the answer."""
        descriptor = self._stdin.fileno()
        before = termios.tcgetattr(descriptor)
        quiet = [*before]
        quiet[_INPUT] &= ~termios.ICRNL
        quiet[_LOCAL] &= ~(termios.ECHO | termios.ICANON)
        termios.tcsetattr(descriptor, termios.TCSANOW, quiet)
        try:
            yield
        finally:
            termios.tcsetattr(descriptor, termios.TCSANOW, before)


def _nothing(_: str) -> Iterable[Suggestion]:
    return ()

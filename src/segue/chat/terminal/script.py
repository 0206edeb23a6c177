"""The terminal of a script: reads lines from standard input, and writes plain text.

Answers, and what commands were asked to show, go to standard output, with a blank line between one and the next; notes,
questions and errors go to standard error. What was read is not repeated.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

from segue.formats.terminal import one_line, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from contextlib import AbstractContextManager
    from typing import BinaryIO, TextIO

    from segue.surface import Idle, Suggestion

YES, NO = frozenset({"y", "yes"}), frozenset({"n", "no"})
_BYTE_ORDER_MARK = "\ufeff"


class ScriptTerminal:
    """Standard input and output that are not both a terminal."""

    def __init__(
        self, stdin: BinaryIO, stdout: TextIO, stderr: TextIO, *, name: str = "segue", prompts: bool = False
    ) -> None:
        self.is_interactive = False
        self._stdin = stdin
        self._stdout = stdout
        self._stderr = stderr
        self._name = name
        self._prompts = prompts  # a user types, though the output goes elsewhere
        self._line_number = 0
        self._held_back: str | None = None
        self._has_written = False

    def read_line(self, prompt: str, *, status: str = "", idle: Idle | None = None, session: str = "") -> str | None:
        del status, idle, session
        lines: list[str] = []
        while (line := self._next(prompt if not lines else "… ")) is not None:
            if not continues(line):
                return "\n".join([*lines, line])
            lines.append(line[:-1])
        return "\n".join(lines) if lines else None

    def ask(self, question: str, *, default: bool, safe: bool = False) -> bool:
        """Read the next line as the answer; one that is neither yes nor no stays for the next read."""
        line = self.answer(f"{question} {choices(default=default)}")
        if line is None:
            return safe
        answer = answer_of(line, default=default)
        if answer is None:
            self._held_back = line
            return safe
        return answer

    def answer(self, question: str) -> str | None:
        self._beside(f"{one_line(question)}{' ' if self._prompts else chr(10)}")
        return self._next("")

    def show(self, pieces: Iterable[str], *, waiting: str = "") -> None:
        del waiting
        has_begun = is_at_end = False
        held = ""  # a carriage return may be half a line end
        try:
            for piece in pieces:
                text, held = lines_of(held + piece)
                if not text:
                    continue
                if not has_begun:
                    self._gap()
                self._write(printable(text))
                has_begun, is_at_end = True, text.endswith("\n")
        finally:
            if held or (has_begun and not is_at_end):
                self._write(f"{printable(held)}\n")

    def say(self, text: str) -> None:
        self._gap()
        self._write(f"{printable(text)}\n")

    def note(self, text: str) -> None:
        self._beside(f"{printable(text)}\n")

    def diff(self, text: str) -> None:
        self.note(text)

    def busy(self, what: str) -> AbstractContextManager[None]:
        del what
        return nullcontext()

    def error(self, message: str, hint: str = "") -> None:
        self._beside(f"{self._name}: {one_line(message)}{f'; {one_line(hint)}' if hint else ''}\n")

    def clear(self) -> None:
        pass

    def copy(self, text: str) -> bool:
        del text
        return False

    def complete_with(self, complete: Callable[[str], Iterable[Suggestion]]) -> None:
        pass

    def _next(self, prompt: str) -> str | None:
        if self._held_back is not None:
            line, self._held_back = self._held_back, None
            return line
        if self._prompts and prompt:
            self._beside(printable(prompt))
        raw = self._stdin.readline()
        if not raw:
            return None
        self._line_number += 1
        try:
            text = raw.decode()
        except UnicodeDecodeError as error:
            text = raw.decode(errors="backslashreplace")
            self.error(
                f"line {self._line_number} of the input is not UTF-8 (byte {error.start + 1})",
                "these bytes are recorded as escapes such as \\xff",
            )
        if self._line_number == 1:
            text = text.removeprefix(_BYTE_ORDER_MARK)
        return text.removesuffix("\n").removesuffix("\r")

    def _gap(self) -> None:
        if self._has_written:
            self._write("\n")
        self._has_written = True

    def _write(self, text: str) -> None:
        self._stdout.write(text)
        self._stdout.flush()

    def _beside(self, text: str) -> None:
        self._stderr.write(text)
        self._stderr.flush()


def continues(line: str) -> bool:
    """Whether the line continues on the next: it ends in a backslash that is not itself escaped."""
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def choices(*, default: bool) -> str:
    return "[Y/n]" if default else "[y/N]"


def answer_of(line: str, *, default: bool) -> bool | None:
    """The answer to a question; None if it is neither yes nor no."""
    word = line.strip().casefold()
    if not word:
        return default
    return True if word in YES else False if word in NO else None


def lines_of(text: str) -> tuple[str, str]:
    """The text with plain line ends, and a carriage return at its end that may be the first half of one."""
    whole = text.removesuffix("\r")
    return whole.replace("\r\n", "\n"), text[len(whole) :]

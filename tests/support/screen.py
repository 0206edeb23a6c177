"""A terminal emulator, as far as a prompt and an answer need one: the screen, and the lines that scrolled off it."""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"\x1b\[([?>]?)([\d;]*)([A-Za-z])|\x1b\][^\x07\x1b]*\x07|\x1b[=>78]|\x1b.|[\r\n\b\x07]|[^\x1b\r\n\b\x07]"
)
_UNFINISHED = re.compile(r"\x1b(?:\[[?>]?[\d;]*|\][^\x07\x1b]*)?\Z")


class ScreenBuffer:
    def __init__(self, rows: int, columns: int = 80) -> None:
        self.rows, self.columns = rows, columns
        self.scrolled_off: list[str] = []
        self.row = self.column = 0
        self._lines = [""] * rows
        self._rest = ""

    @property
    def lines(self) -> list[str]:
        return [line.rstrip() for line in self._lines]

    @property
    def all(self) -> list[str]:
        """Everything from the first line on, without the empty ones at the end."""
        lines = [*self.scrolled_off, *self.lines]
        while lines and not lines[-1]:
            lines.pop()
        return lines

    @property
    def line(self) -> str:
        """The line of the cursor."""
        return self.lines[self.row]

    def write(self, text: str) -> None:
        text = self._rest + text
        unfinished = _UNFINISHED.search(text)
        self._rest = unfinished[0] if unfinished else ""
        for token in _TOKEN.finditer(text, 0, len(text) - len(self._rest)):
            if token[3]:
                self._control(token[1], token[2], token[3])
            elif token[0] == "\n":
                self._line_feed()
            elif token[0] == "\r":
                self.column = 0
            elif token[0] == "\b":
                self.column = max(0, self.column - 1)
            elif not token[0].startswith(("\x1b", "\x07")):
                self._put(token[0])

    def _put(self, character: str) -> None:
        if self.column >= self.columns:
            self.column = 0
            self._line_feed()
        line = self._lines[self.row].ljust(self.column)
        self._lines[self.row] = line[: self.column] + character + line[self.column + 1 :]
        self.column += 1

    def _line_feed(self) -> None:
        self.column = 0  # the terminal driver adds a carriage return
        if self.row + 1 < self.rows:
            self.row += 1
            return
        self.scrolled_off.append(self._lines.pop(0).rstrip())
        self._lines.append("")

    def _control(self, private: str, numbers: str, letter: str) -> None:
        count = int(numbers) if numbers.isdecimal() else 1
        match private + letter:
            case "A":
                self.row = max(0, self.row - count)
            case "B":
                self.row = min(self.rows - 1, self.row + count)
            case "C":
                self.column = min(self.columns, self.column + count)
            case "D":
                self.column = max(0, self.column - count)
            case "H":
                self.row = self.column = 0
            case "K" | "J":
                start = 0 if numbers == "2" else self.column
                self._lines[self.row] = self._lines[self.row][:start]
                if letter == "J":
                    first = 0 if numbers == "2" else self.row + 1
                    self._lines[first:] = [""] * (self.rows - first)

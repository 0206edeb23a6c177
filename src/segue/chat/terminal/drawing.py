"""An answer on a screen as it comes: a spinner first, then Markdown, drawn in place without flicker.

One thread draws, so that Ctrl-C, which reaches the main thread only, never comes between two halves of an escape
sequence. What is above the last block is printed once and scrolls away as any output does: nothing is drawn over, and
the scrollback is whole.
"""

from __future__ import annotations

import time
from collections import deque
from itertools import takewhile
from threading import Event, Thread
from typing import TYPE_CHECKING

from segue.chat.terminal.script import lines_of
from segue.formats.terminal import one_line, printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from segue.chat.terminal.markdown import MarkdownPage

_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_TICK_SECONDS = 0.1
_REST = 3
"""Drawing takes a quarter of the time at most, however large the block at hand."""


class Canvas:
    """The last lines of the screen, which may still change; the cursor stands at the beginning of the line below."""

    def __init__(self, write: Callable[[str], None], rows: int) -> None:
        self._write = write
        self._reach = max(1, rows - 1)
        self._lines: list[str] = []
        self._gone = 0  # lines that no cursor reaches any more

    def update(self, lines: list[str]) -> None:
        """Show these lines in the place of those before, in one write that begins where they differ."""
        lines = lines[self._gone :]
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(self._lines, lines, strict=False)))
        if same == len(self._lines) == len(lines):
            return
        up = len(self._lines) - same
        erase = f"\x1b[{up}A\r\x1b[J" if up else ""
        self._write(erase + "".join(f"{line}\n" for line in lines[same:]))
        lost = max(0, len(lines) - self._reach)
        self._gone += lost
        self._lines = lines[lost:]

    def keep(self, lines: list[str]) -> None:
        """Show these lines in the place of those before, for good."""
        self.update(lines)
        self._lines, self._gone = [], 0


class Drawing:
    """An answer being drawn, from the first tick of the spinner until it is finished."""

    def __init__(self, write: Callable[[str], None], *, columns: int, rows: int, waiting: str) -> None:
        self._canvas = Canvas(write, rows)
        self._columns = columns
        self._waiting = one_line(waiting)[: max(0, columns - 3)]
        self._pieces: deque[str] = deque()
        self._has_news, self._is_over = Event(), Event()
        self._error: Exception | None = None
        self._thread = Thread(target=self._run, name="drawing", daemon=True)
        self._thread.start()

    def add(self, piece: str) -> None:
        self._pieces.append(piece)
        self._has_news.set()

    def finish(self) -> None:
        """Draw what is left, and stop. Raises what drawing raised."""
        self._is_over.set()
        self._has_news.set()
        self._thread.join()
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            self._draw()
        except Exception as error:  # noqa: BLE001 - handed to whoever finishes
            self._error = error

    def _draw(self) -> None:
        from segue.chat.terminal.markdown import MarkdownPage

        page: MarkdownPage | None = None
        held = ""
        tick = 0
        while True:
            is_over = self._is_over.is_set()  # asked first: whatever was added before it is among the pieces
            raw = held + "".join(self._take())
            text, held = (raw, "") if is_over else lines_of(raw)
            if page is None and not text.strip():
                text, held = "", raw
            elif page is None:
                page = MarkdownPage(self._columns - 1)
                self._canvas.keep([])
            began = time.monotonic()
            if page is not None:
                self._draw_page(page, printable(text.replace("\r\n", "\n")))
            elif not is_over:
                self._canvas.update([f"{_SPINNER[tick % len(_SPINNER)]} {self._waiting}"])
                tick += 1
            if is_over:
                self._canvas.keep(page.last() if page is not None else [])
                return
            self._is_over.wait((time.monotonic() - began) * _REST)
            self._has_news.wait(_TICK_SECONDS)
            self._has_news.clear()

    def _draw_page(self, page: MarkdownPage, text: str) -> None:
        if text:
            done = page.add(text)
            if done:
                self._canvas.keep(done)
            self._canvas.update(page.last())

    def _take(self) -> list[str]:
        return [self._pieces.popleft() for _ in range(len(self._pieces))]

"""An answer on a screen as it comes: a spinner first, then Markdown, drawn in place without flicker.

One thread draws, so that Ctrl-C, which reaches the main thread only, never comes between two halves of an escape
sequence. What is above the last block is printed once and scrolls away as any output does: nothing is drawn over, and
the scrollback is whole.
"""

from __future__ import annotations

import re
import time
from collections import deque
from io import StringIO
from itertools import pairwise, takewhile
from threading import Event, Thread
from typing import TYPE_CHECKING

from segue.chat.terminal.script import lines_of
from segue.formats.terminal import one_line, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rich.console import Console
    from rich.markdown import Markdown
    from rich.segment import Segment

_CODE_THEME = "ansi_dark"
_STYLES = {"markdown.code": "bold cyan", "markdown.h2": "bold underline"}
"""The terminal's own colours, and no background: it may be light or dark."""


class MarkdownPage:
    """A text that grows at its end, and its lines."""

    def __init__(self, width: int) -> None:
        self._console = _console(width)
        self._open = ""  # the source of the last block
        self._has_lines = False

    def add(self, text: str) -> list[str]:
        """Take more of the text; give back lines that are final."""
        self._open += text
        *done, self._open = _blocks(self._open)
        return [line for block in done for line in self._block(block)]

    def last(self) -> list[str]:
        """The lines of the last block as far as it has come."""
        lines = _render(self._console, self._open)
        return ["", *lines] if lines and self._has_lines else lines

    def end(self) -> list[str]:
        last, self._open = self._open, ""
        return self._block(last)

    def _block(self, source: str) -> list[str]:
        lines = _render(self._console, source)
        if lines and self._has_lines:
            lines = ["", *lines]
        self._has_lines = self._has_lines or bool(lines)
        return lines


def _console(width: int) -> Console:
    from rich.console import Console
    from rich.theme import Theme

    return Console(
        file=StringIO(),
        width=width,
        force_terminal=True,
        color_system="standard",
        legacy_windows=False,
        emoji=False,
        highlight=False,
        theme=Theme(_STYLES),
        _environ={},
    )


def _blocks(source: str) -> list[str]:
    """The blocks of a text, of which more text could still change the last.

    An incomplete line may still become anything, so it does not begin a block yet.
    """
    from rich.markdown import Markdown

    lines = re.split(r"(?<=\n)", source)
    whole = "".join(lines[:-1])  # the last one is unfinished, or empty
    starts = [token.map[0] for token in Markdown(whole).parsed if token.level == 0 and token.map]
    return ["".join(lines[start:end]) for start, end in pairwise([0, *starts[1:], len(lines)])]


def _render(console: Console, source: str) -> list[str]:
    if not source.strip():
        return []
    from rich.markdown import Markdown
    from rich.segment import Segment

    document = Markdown(source, code_theme=_CODE_THEME, hyperlinks=False)
    _keep_html(document)
    _disarm(document)
    lines = list(Segment.split_lines(console.render(document)))
    shown = [at for at, line in enumerate(lines) if any(segment.text.strip() for segment in line)]
    return [_line(line) for line in lines[shown[0] : shown[-1] + 1]] if shown else []


def _keep_html(document: Markdown) -> None:
    """HTML as the text that it is, line by line: rich leaves it out, and `Vec<u8>` with it."""
    kept = []
    for token in document.parsed:
        for child in token.children or ():
            child.type = "text" if child.type == "html_inline" else child.type
        if token.type != "html_block":
            kept.append(token)
            continue
        lines = [token.copy(type="text", content=line) for line in token.content.rstrip("\n").split("\n")]
        parts = [part for line in lines for part in (line, token.copy(type="hardbreak", content=""))]
        kept.append(token.copy(type="paragraph_open", tag="p", nesting=1, content=""))
        kept.append(token.copy(type="inline", content="", children=parts[:-1]))
        kept.append(token.copy(type="paragraph_close", tag="p", nesting=-1, content=""))
    document.parsed = kept


def _disarm(document: Markdown) -> None:
    """Made printable again: parsing turns `&#155;` into the character itself."""
    tokens = [*document.parsed]
    while tokens:
        token = tokens.pop()
        token.content = printable(token.content)
        if token.tag == "h1":
            token.tag = "h2"  # the largest is centred, as on a title page
        token.info = one_line(token.info)
        token.attrs = {
            name: one_line(value) if isinstance(value, str) else value for name, value in token.attrs.items()
        }
        tokens += token.children or ()


def _line(segments: Iterable[Segment]) -> str:
    from rich.color import ColorSystem

    return "".join(
        segment.style.render(printable(segment.text), color_system=ColorSystem.STANDARD)
        if segment.style
        else printable(segment.text)
        for segment in segments
        if not segment.control
    ).rstrip(" ")


_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_TIME_COLUMNS = len(" 9999m 59s")
_TICK_SECONDS = 0.1
_REST = 3
"""Drawing takes a quarter of the time at most, however large the current block is."""


class Canvas:
    """The last lines of the screen, which may still change; the cursor is at the beginning of the line below."""

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
    """An answer being drawn, from the first tick of the spinner until it is finished.

    With `shows_time`, the time since the start is next to the spinner.
    """

    def __init__(
        self, write: Callable[[str], None], *, columns: int, rows: int, waiting: str, shows_time: bool = False
    ) -> None:
        self._canvas = Canvas(write, rows)
        self._columns = columns
        self._waiting = one_line(waiting)[: max(0, columns - (_TIME_COLUMNS if shows_time else 0) - 3)]
        self._started = time.monotonic() if shows_time else None
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
        except Exception as error:  # noqa: BLE001 - raised again by `finish`
            self._error = error

    def _draw(self) -> None:
        from segue.chat.terminal.drawing import MarkdownPage

        page: MarkdownPage | None = None
        held = ""
        tick = 0
        while True:
            is_over = self._is_over.is_set()  # read first: all that was added before it is among the pieces
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
            elif self._waiting and not is_over:
                self._canvas.update([f"{_SPINNER[tick % len(_SPINNER)]} {self._waiting}{self._elapsed()}"])
                tick += 1
            if is_over:
                self._canvas.keep(page.last() if page is not None else [])
                return
            self._is_over.wait((time.monotonic() - began) * _REST)
            self._has_news.wait(_TICK_SECONDS)
            self._has_news.clear()

    def _elapsed(self) -> str:
        """The time since the start, once it is a second."""
        minutes, seconds = divmod(int(time.monotonic() - self._started) if self._started is not None else 0, 60)
        return f" {minutes}m {seconds}s" if minutes else f" {seconds}s" if seconds else ""

    def _draw_page(self, page: MarkdownPage, text: str) -> None:
        if text:
            done = page.add(text)
            if done:
                self._canvas.keep(done)
            self._canvas.update(page.last())

    def _take(self) -> list[str]:
        return [self._pieces.popleft() for _ in range(len(self._pieces))]

"""Markdown that is still being written, as lines of a terminal.

Whatever stands before the last block of a text will not change any more, however the text goes on. So a long answer is
rendered block by block, and only its last block again and again.
"""

from __future__ import annotations

import re
from io import StringIO
from itertools import pairwise
from typing import TYPE_CHECKING

from segue.formats.terminal import one_line, printable

if TYPE_CHECKING:
    from collections.abc import Iterable

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

    Half a line says nothing of what it will be: where it stands, no block begins yet.
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
    _disarm(document)
    lines = list(Segment.split_lines(console.render(document)))
    shown = [at for at, line in enumerate(lines) if any(segment.text.strip() for segment in line)]
    return [_line(line) for line in lines[shown[0] : shown[-1] + 1]] if shown else []


def _disarm(document: Markdown) -> None:
    """Parsing turns `&#155;` into the character itself, behind the back of whoever made the source printable."""
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

"""Table layout for a terminal: each column fits its content, and one column stretches to the width of the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.formats.terminal import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segue.console.output import Line, Span

_GAP = "  "
_READABLE = 16
"""The least useful width of the stretching column: optional columns are dropped before it gets narrower."""


def fit(
    titles: Sequence[str], rows: Sequence[Sequence[Span]], *, stretch: int, optional: Sequence[int], width: int
) -> list[Line]:
    from rich.cells import cell_len

    table = [[("bold", title) for title in titles], *[[_flat(cell) for cell in row] for row in rows]]
    widths = [max(cell_len(row[at][1]) for row in table) for at in range(len(titles))]
    shown = [at for at in range(len(titles)) if widths[at] and any(row[at][1] for row in table[1:])]
    wanted = min(widths[stretch], _READABLE)
    for at in optional:
        if _room(shown, widths, stretch, width) < wanted and at in shown:
            shown.remove(at)
    widths[stretch] = max(min(widths[stretch], _room(shown, widths, stretch, width)), len(titles[stretch]))
    return [_line(row, shown, widths) for row in table]


def _room(shown: list[int], widths: list[int], stretch: int, width: int) -> int:
    return width - sum(widths[at] for at in shown if at != stretch) - len(_GAP) * (len(shown) - 1)


def _flat(cell: Span) -> tuple[str, str]:
    return ("", one_line(cell)) if isinstance(cell, str) else (cell[0], one_line(cell[1]))


def _line(row: Sequence[tuple[str, str]], shown: list[int], widths: list[int]) -> Line:
    from rich.cells import cell_len, set_cell_size

    spans: list[Span] = []
    for at in shown:
        style, cell = row[at]
        if cell_len(cell) > widths[at]:
            cell = set_cell_size(cell, widths[at] - 1) + "…"
        spans.append((style, cell) if style else cell)
        if at != shown[-1]:
            spans.append(" " * (widths[at] - cell_len(cell)) + _GAP)
    return tuple(spans)

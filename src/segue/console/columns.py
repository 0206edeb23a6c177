"""Table layout for a terminal: each column fits its content, and one column stretches to the width of the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING
from unicodedata import category

from segue.formats.terminal import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segue.console.output import Line, Span

_GAP = "  "
_READABLE, _COMFORTABLE = 16, 40
"""The width that the stretching column gets before optional columns are dropped, and before extra ones are."""
_JOINERS = dict.fromkeys([0x200D, 0xFE0E, 0xFE0F, *range(0x1F3FB, 0x1F400)])
"""What joins or varies emojis: terminals disagree about the width of the result."""


def fit(
    titles: Sequence[str],
    rows: Sequence[Sequence[Span]],
    *,
    stretch: int,
    optional: Sequence[int],
    width: int,
    extra: Sequence[int] = (),
) -> list[Line]:
    table = [[("bold", title) for title in titles], *[[_flat(cell) for cell in row] for row in rows]]
    widths = [max(width_of(row[at][1]) for row in table) for at in range(len(titles))]
    shown = [at for at in range(len(titles)) if widths[at] and any(row[at][1] for row in table[1:])]
    for wanted, columns in ((_COMFORTABLE, extra), (_READABLE, optional)):
        for at in columns:
            if _room(shown, widths, stretch, width) < min(widths[stretch], wanted) and at in shown:
                shown.remove(at)
    widths[stretch] = max(min(widths[stretch], _room(shown, widths, stretch, width)), len(titles[stretch]))
    return [_line(row, shown, widths) for row in table]


def shorten(text: str, width: int) -> str:
    """The text on one line, in as many columns of a terminal at most; wide characters take two."""
    flat = one_line(text)
    if width_of(flat) <= width:
        return flat
    from rich.cells import set_cell_size

    sizes = range(width - 1, -1, -1)
    return next(cut for size in sizes if width_of(cut := set_cell_size(flat, size)) <= width - 1) + "…"


def width_of(text: str) -> int:
    """The number of columns that a text takes on a terminal."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    # Most terminals give a spacing mark, as in Devanagari, one column; those that give it none are left with a space.
    return cell_len(text) + sum(category(character) == "Mc" for character in text)


def without_joiners(text: str) -> str:
    """The text with emojis alone, so that it takes the same columns on every terminal."""
    return text.translate(_JOINERS)


def _room(shown: list[int], widths: list[int], stretch: int, width: int) -> int:
    return width - sum(widths[at] for at in shown if at != stretch) - len(_GAP) * (len(shown) - 1)


def _flat(cell: Span) -> tuple[str, str]:
    return ("", one_line(cell)) if isinstance(cell, str) else (cell[0], one_line(cell[1]))


def _line(row: Sequence[tuple[str, str]], shown: list[int], widths: list[int]) -> Line:
    spans: list[Span] = []
    for at in shown:
        style, cell = row[at][0], shorten(row[at][1], widths[at])
        spans.append((style, cell) if style else cell)
        if at != shown[-1]:
            spans.append(" " * (widths[at] - width_of(cell)) + _GAP)
    return tuple(spans)

"""The prose of a Markdown text: its lines outside of code blocks and comments."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_FENCE = re.compile(r"(`{3,}(?=[^`]*$)|~{3,})")
_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$)")
_CODE_SPAN = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_TAB = 4
_INDENTED_CODE = 4


class ProseLine(NamedTuple):
    offset: int
    """Of its first character, in the whole text."""
    text: str
    """Without its line end."""


class Heading(NamedTuple):
    level: int
    title: str


def parse_heading(line: ProseLine) -> Heading | None:
    found = _HEADING.match(line.text)
    return Heading(len(found[1]), found[2] or "") if found else None


def split_lines(text: str) -> Iterator[ProseLine]:
    """Lines end with a newline, or with a carriage return and a newline, and with nothing else."""
    offset = 0
    for piece in text.split("\n"):
        yield ProseLine(offset, piece.removesuffix("\r"))
        offset += len(piece) + 1


def prose_lines(text: str) -> Iterator[ProseLine]:
    """The lines outside of code and comments; of a line with a multi-line comment, only the part before it."""
    items: list[int] = []  # the indentation of the content of each open list item
    fence, edge = "", 0  # the open fence, and the indentation of the list item around it
    is_comment = was_blank = False
    last_close = text.rfind("-->")
    for line in split_lines(text):
        bare = line.text.lstrip(" \t")
        indent = _width(line.text[: len(line.text) - len(bare)])
        if is_comment:
            is_comment = "-->" not in bare
            continue
        if fence and (not bare or indent >= edge):
            if bare.startswith(fence) and not bare.strip(fence[0] + " \t"):
                fence = ""
            continue
        fence = ""
        if bare:
            items = _still_open(items, indent, bare, was_blank=was_blank)
        was_blank = not bare
        edge = items[-1] if items else 0
        if indent - edge >= _INDENTED_CODE and not _ITEM.match(bare):
            continue
        if indent >= _INDENTED_CODE and not items:
            continue
        if opened := _FENCE.match(bare):
            fence = opened[1]
            continue
        shown, is_comment = _before_comment(line, bare, last_close)
        if shown.text.strip() or not bare:
            yield shown
        if item := _ITEM.match(bare):
            items.append(indent + len(item[0].expandtabs(_TAB)))


def _still_open(items: list[int], indent: int, bare: str, *, was_blank: bool) -> list[int]:
    """The list items that contain a line: those indented no deeper; or all, if the line continues a paragraph."""
    still = [content for content in items if content <= indent]
    begins = _ITEM.match(bare) or _FENCE.match(bare) or bare.startswith(("#", "<!--"))
    return still if begins or was_blank else (still or items)


def _before_comment(line: ProseLine, bare: str, last_close: int) -> tuple[ProseLine, bool]:
    """The line up to a comment that continues on the next line, and whether there is one."""
    if "<!--" not in bare:
        return line, False
    masked = _CODE_SPAN.sub(lambda span: "x" * len(span[0]), line.text)
    at = masked.rfind("<!--")
    if at < 0 or "-->" in masked[at:]:
        closed = masked.lstrip().startswith("<!--")  # a comment at the start of a line is a block of its own
        return (ProseLine(line.offset, ""), False) if closed else (line, False)
    continues = bare.startswith("<!--") or last_close > line.offset
    return (ProseLine(line.offset, line.text[:at]), True) if continues else (line, False)


def _width(space: str) -> int:
    return len(space.expandtabs(_TAB))

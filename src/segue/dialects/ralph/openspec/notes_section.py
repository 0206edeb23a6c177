"""Adds learnings and patterns to a section of a Markdown text; everything else stays as it is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from segue.dialects.ralph.openspec.markdown import parse_heading, prose_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segue.model import Learning, Pattern

_BLANK_END = re.compile(r"(?:\r?\n[ \t]*)+\Z")
_TRAILING = re.compile(r"[^\S\n]+$", re.MULTILINE)
_BLANK_LINES = re.compile(r"\A(?:[ \t]*\n)+")
_INDENT = "  "
_ITEM = re.compile(r"\s*[-*+](?:\s|$)")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})", re.MULTILINE)
_BOX = re.compile(r"^(\s*(?:(?:[-*+]|\d{1,9}[.)])\s+)*)\[")
_MARK = re.compile(r"^( {0,3})(?=#|```|~~~|(?:[-=*_][ \t]*)+$)")
"""The start of a heading or a code fence, or an underline of a heading."""
_LINE_END = re.compile("\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_UNSEEN = re.compile("[\x00-\x08\x0e-\x1b\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")
"""Control characters, lone surrogates and marks that reverse the text direction; joiners and new emoji are text."""


def add_items(text: str, title: str, items: Sequence[str]) -> str:
    """The text with more items at the end of the section `## title`, which is created at the end if it is missing.

    An item may have several lines. An item that is there already is not added again. Line ends are those of the first
    line of the text.
    """
    end_of_line = "\r\n" if text.partition("\n")[0].endswith("\r") else "\n"
    start, end = _find_section(text, title)
    present = _find_items(text[start:end]) if start >= 0 else set()
    new = [block for item in dict.fromkeys(items) if _TRAILING.sub("", block := _block(item)) not in present]
    if not new:
        return text
    added = "".join(f"{block}\n" for block in new).replace("\n", end_of_line)
    if start < 0:
        gap = "" if not text else end_of_line if text.endswith("\n") else end_of_line * 2
        return f"{text}{gap}## {title}{end_of_line}{end_of_line}{added}"
    before = _BLANK_END.sub("", text[:end])
    rest = text[len(before) :].removeprefix(end_of_line)
    is_list = before.rpartition("\n")[2].startswith(_INDENT) or _ITEM.match(before.rpartition("\n")[2]) is not None
    return f"{before}{end_of_line if is_list else end_of_line * 2}{added}{rest}"


def _block(item: str) -> str:
    """An item as lines of a list; one that begins with code starts on the line after the dash."""
    dash = "-\n" if item[:1].isspace() or _FENCE.match(item) else "- "
    lines = f"{dash}{item}".split("\n")
    return "\n".join([lines[0], *[f"{_INDENT}{line}" if line else "" for line in lines[1:]]])


def _find_items(section: str) -> set[str]:
    """Every single line of a section, and every item with all its lines."""
    found: set[str] = set()
    block: list[str] = []
    for line in [*section.split("\n"), "#"]:
        line = line.rstrip()  # noqa: PLW2901 - a carriage return, or invisible spaces
        if line.startswith("-") or (line and not line.startswith(_INDENT)):
            found.add("\n".join(block).rstrip("\n"))
            block = []
        block.append(line)
        found.add(line.strip())
    return found


def format_learning(learning: Learning) -> str:
    if learning.task_id:
        about = f" (task {format_line(learning.task_id)})"
    else:
        about = f" (story {format_line(learning.story_id)})" if learning.story_id else ""
    return format_item(learning.description, about)


def format_pattern(pattern: Pattern) -> str:
    name, description = f"**{format_line(pattern.name)}**:", format_item(pattern.description)
    return f"{name} {description}" if "\n" not in description else f"{name}\n{description}"


def format_line(text: str) -> str:
    """Any text as one line of prose: no heading, no checkbox, no comment, no control characters."""
    return _as_prose(" ".join(_printable(text).split()))


def format_item(text: str, about: str = "") -> str:
    """Any text as the lines of a list item, with `about` at its end.

    It contains only prose and code blocks: it cannot end its section, tick a checkbox or open a comment.
    """
    lines = _BLANK_LINES.sub("", _printable(text).rstrip()).split("\n")
    if len(lines) == 1:
        lines = [lines[0].strip()]
    found: list[str] = []
    fence = ""  # the fence of the open code block
    for line in lines:
        if fence:
            found.append(line)
            bare = line.strip(" \t")
            fence = "" if len(bare) >= len(fence) and not bare.strip(fence[0]) else fence
        elif opened := _FENCE.match(line):
            found.append(line)
            fence = opened[1]
        else:
            found.append(_as_prose(line))
    if fence:
        found.append(fence)
    is_code = fence or _FENCE.match(found[-1])
    return "\n".join(found) + (f"\n{about.lstrip()}" if about and is_code else about)


def _as_prose(line: str) -> str:
    """A line that Markdown reads as plain text."""
    if not line.strip():
        return ""
    line = _BOX.sub(r"\1\\[", line.replace("<!--", "&lt;!--"), count=1)
    return _MARK.sub(r"\1\\", line, count=1)


def _printable(text: str) -> str:
    """The text with newlines as line ends, and with escapes for what would act on a terminal or hide text."""
    text = _LINE_END.sub("\n", text)
    return _UNSEEN.sub(lambda one: one[0].encode("unicode_escape").decode(), text)


def _find_section(text: str, title: str) -> tuple[int, int]:
    """The start and end of a section; it ends at the next heading of its level or above. -1 if it is missing."""
    start = -1
    for line in prose_lines(text):
        if (found := parse_heading(line)) is None or found.level > 2:  # noqa: PLR2004 - its own level
            continue
        if start >= 0:
            return start, line.offset
        if found.level == 2 and found.title.strip().casefold() == title.casefold():  # noqa: PLR2004
            start = line.offset
    return start, len(text)

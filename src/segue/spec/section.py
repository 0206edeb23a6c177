"""Lines added to a section of a Markdown text, and to nothing else."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from segue.spec.prose import heading_of, prose_of

if TYPE_CHECKING:
    from collections.abc import Sequence

_BLANK_END = re.compile(r"(?:\r?\n[ \t]*)+\Z")


def with_items(text: str, title: str, items: Sequence[str]) -> str:
    """The text with more items at the end of the section `## title`, which is made at the end if it is missing.

    What stands there already is not added again. The lines end as the first one of the text does.
    """
    end_of_line = "\r\n" if text.partition("\n")[0].endswith("\r") else "\n"
    start, end = _find(text, title)
    there = {line.strip() for line in text[start:end].split("\n")} if start >= 0 else set()
    new = [f"- {item}" for item in dict.fromkeys(items) if f"- {item}" not in there]
    if not new:
        return text
    added = end_of_line.join(new) + end_of_line
    if start < 0:
        gap = "" if not text else end_of_line if text.endswith("\n") else end_of_line * 2
        return f"{text}{gap}## {title}{end_of_line}{end_of_line}{added}"
    before = _BLANK_END.sub("", text[:end])
    rest = text[len(before) :].removeprefix(end_of_line)
    gap = end_of_line if before.rpartition("\n")[2].lstrip().startswith(("- ", "* ")) else end_of_line * 2
    return f"{before}{gap}{added}{rest}"


def as_item(text: str) -> str:
    """A text as one line that is nothing but text: no box, no comment, no control characters."""
    line = " ".join(text.split())
    line = "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in line)
    line = line.replace("<!--", "&lt;!--")
    return f"\\{line}" if line.startswith("[") else line


def _find(text: str, title: str) -> tuple[int, int]:
    """Where the section begins and ends, -1 if it is missing: with the next heading of its own level or above."""
    start = -1
    for line in prose_of(text):
        if (found := heading_of(line)) is None or found.level > 2:  # noqa: PLR2004 - of its own level
            continue
        if start >= 0:
            return start, line.offset
        if found.level == 2 and found.title.strip().casefold() == title.casefold():  # noqa: PLR2004
            start = line.offset
    return start, len(text)

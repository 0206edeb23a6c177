"""Tags that tools put around and next to what the user typed. Each text is searched once, however it is nested."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_OPEN = {"": re.compile("<>")}
"""The pattern of each opening tag, by its name."""


class Element(NamedTuple):
    """A tag, what is between it and its end, and where."""

    start: int
    tag: str
    inside: str
    end: int

    def attribute(self, name: str) -> str:
        found = re.search(rf'\s{name}="([^"]*)"', self.tag)
        return found[1] if found else ""


def unwrap(text: str, *names: str) -> str:
    """The content of a text that is one such element as a whole; any other text unchanged."""
    whole = text.strip()
    for name in names:
        found = _opening(name).match(whole)
        if found and whole.endswith(f"</{name}>"):
            return whole[found.end() : -len(name) - 3].strip("\n")
    return text


def first_content(text: str, *names: str) -> str:
    """The content of the element that starts first, if it has one of these names; what is after it is another text."""
    found = [element for name in names if (element := next(elements(text, name), None))]
    return min(found).inside.strip("\n") if found else ""


def without(text: str, *names: str) -> str:
    """The text without such elements and their content."""
    for name in names:
        pieces, at = [], 0
        for element in elements(text, name):
            pieces.append(text[at : element.start])
            at = element.end
        if at:
            text = "".join([*pieces, text[at:]]).strip()
    return text


def elements(text: str, name: str) -> Iterator[Element]:
    """The elements with this name, one after the other; one inside another of the same name is part of its content."""
    closing, at = f"</{name}>", 0
    while found := _opening(name).search(text, at):
        end = text.find(closing, found.end())
        if end < 0:
            return
        at = end + len(closing)
        yield Element(found.start(), found[0], text[found.end() : end], at)


def _opening(name: str) -> re.Pattern[str]:
    if name not in _OPEN:
        _OPEN[name] = re.compile(rf"<{re.escape(name)}(?:\s[^<>]*)?>")
    return _OPEN[name]

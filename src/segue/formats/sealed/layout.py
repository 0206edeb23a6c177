"""The layout of a file as we write it: every value on lines of its own, each level indented by two more spaces.

So the position of a byte tells which field it is in, and a file that is no longer JSON can be read field by field.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from segue.errors import Damage
from segue.formats.records import BadRecordError, encode_indented, parse_json
from segue.formats.sealed.seal import seal
from segue.model import head_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from segue.model import JsonObject, Overview

EVENTS = "segue.events"

_KEY = re.compile(rb'^  (?:  )?"((?:[^"\\]|\\.)*)":', re.MULTILINE)


class Layout(NamedTuple):
    """The fields of a format, which come before ours."""

    top: tuple[str, ...]
    """Their names, in order."""
    shown: tuple[str, ...]
    """Those of them that are lists of objects."""

    @property
    def lists(self) -> dict[str, int]:
        """The indent of the items of each list."""
        return {**dict.fromkeys(self.shown, 4), EVENTS: 6}


class FieldPosition(NamedTuple):
    """The field or list item that a byte is in."""

    name: str
    """The name of the field or list."""
    item: int = -1
    """The index in the list; -1 outside of a list item."""


def render_file(lines: Iterable[tuple[str, bytes]], ours: Iterable[tuple[str, bytes]], overview: Overview) -> bytes:
    """The file: the fields of the format, ours with the head of the session, and the seal."""
    head = ("head", render_value(msgspec.to_builtins(head_of(overview)), 4)[4:])
    segue = ("segue", b"{\n" + render_fields([*ours, head], 4))
    return seal(b"{\n" + render_fields([*lines, segue], 2) + b",\n")


def render_fields(fields: Iterable[tuple[str, bytes]], indent: int) -> bytes:
    return b",\n".join([b"%b%b: %b" % (b" " * indent, encode_indented(name), value) for name, value in fields])


def render_list(pieces: list[bytes], indent: int) -> bytes:
    return b"[\n%b\n%b]" % (b",\n".join(pieces), b" " * (indent - 2)) if pieces else b"[]"


def render_value(plain: object, indent: int) -> bytes:
    """The value on lines of its own, indented; JSON text has no raw newlines, so each one is between values."""
    space = b" " * indent
    return space + encode_indented(plain).replace(b"\n", b"\n" + space)


def line_number(data: bytes, offset: int) -> int:
    return data.count(b"\n", 0, offset) + 1


def find_position(layout: Layout, data: bytes, offset: int) -> FieldPosition:
    """The position of an offset in a complete file that we wrote."""
    end = data.find(b"\n", offset)
    upto = data[: end if end >= 0 else len(data)]
    keys = _keys(upto)
    if not keys:
        return FieldPosition("")
    name, _, start = keys[-1]
    indent = layout.lists.get(name)
    return FieldPosition(name, -1 if indent is None else len(_openings(upto[start:], indent)) - 1)


def salvage_fields(layout: Layout, data: bytes, place: str, reason: str) -> tuple[JsonObject, list[Damage]]:
    """The fields and items that can be read, and a damage for each one that cannot."""
    found: JsonObject = {}
    damages: list[Damage] = []
    keys = _keys(data)
    ends = [*[at for _, at, _ in keys[1:]], len(data)]
    for (name, at, start), end in zip(keys, ends, strict=False):  # without keys there is one end too many
        if name in layout.lists:
            items, bad = _items(data, start, end, layout.lists[name], place)
            damages += bad
            found |= {"segue": {"events": items}} if name == EVENTS else {name: items}
        elif name in layout.top:
            try:
                found[name] = parse_json(data[start:end].strip().removesuffix(b","))
            except BadRecordError as error:
                line = line_number(data, at)
                damages.append(Damage(f"{place} line {line}", f"{name}: {error}", line=line, offset=at))
    return found, damages or [Damage(place, reason)]


def _keys(data: bytes) -> list[tuple[str, int, int]]:
    """The fields of the file, and ours with the prefix `segue.`: the start of each, and the start of its value.

    Fields of other objects with the same indent are left out.
    """
    keys: list[tuple[str, int, int]] = []
    outer = ""
    for key in _KEY.finditer(data):
        name = key[1].decode(errors="replace")
        if not key[0].startswith(b"    "):
            outer = name
        elif outer == "segue":
            name = f"segue.{name}"
        else:
            continue
        keys.append((name, key.start(), key.end()))
    return keys


def _items(data: bytes, start: int, end: int, indent: int, place: str) -> tuple[list[object], list[Damage]]:
    """Each item from its opening brace to the closing one with the same indent, or as far as it goes."""
    closing = re.compile(rb"^ {%d}(?:\{\}|\})" % indent, re.MULTILINE)
    openings = [start + at for at in _openings(data[start:end], indent)]
    items: list[object] = []
    damages: list[Damage] = []
    for at, after in pairwise([*openings, end]):
        closed = closing.search(data, at, after)
        text = data[at : closed.end() if closed else after]
        try:
            items.append(parse_json(text))
        except BadRecordError as error:
            line = line_number(data, at)
            damages.append(Damage(f"{place} line {line}", str(error), line=line, offset=at, size_bytes=len(text)))
    return items, damages


def _openings(data: bytes, indent: int) -> list[int]:
    return [found.start() for found in re.finditer(rb"^ {%d}\{" % indent, data, re.MULTILINE)]

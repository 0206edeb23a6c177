r"""The end of session.md: a form feed, a line of ours, and the variables that Emacs reads.

    \f
    <!-- segue 42.0 1a2b3c4d 5e6f7a8b 9cadbecf -->
    <!-- Local Variables: -->
    <!-- gptel--preset: executor -->
    <!-- gptel--bounds: ((response (25 50))) -->
    <!-- End: -->

Emacs looks for the list behind the last form feed, so nothing that anybody said can be taken for it. Our line says
which event the file is up to and how many edits were taken in before, and the CRC-32 of the text, of the bounds, and
of the list. Lines that would make the list too long for Emacs stand in front of it.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from segue.formats.gptel.lisp import BadLispError, printed, read
from segue.formats.gptel.settings import ALIASES, BOUNDS, PRESET, VARIABLES

if TYPE_CHECKING:
    from collections.abc import Mapping

FOOTER = b"\f\n<!-- segue "
"""How it begins."""

_FEED = b"\n\f\n"
_MARK = re.compile(rb"<!-- segue (\d{1,18}\.\d{1,9}) ([0-9a-f]{8}) ([0-9a-f]{8}) ([0-9a-f]{8}) -->\n")
_BROKEN_MARK = re.compile(r"<!-- segue [^<>]* -->")
_BEGIN, _END = "<!-- Local Variables: -->", "<!-- End: -->"
_VARIABLE = re.compile(r"<!-- ([\w*+-]+): (.*) -->")
_OURS = {PRESET, BOUNDS, *VARIABLES.values()}

LIST_CHARACTERS = 3000
"""Emacs finds a list of variables that begins within so many characters of the end."""


class Upto(NamedTuple):
    """What a file shows of its session."""

    seq: int = 0
    """Everything up to this event."""
    edits: int = 0
    """The numbers are those that the events have since this many edits were taken in."""

    def __str__(self) -> str:
        return f"{self.seq}.{self.edits}"


class Mark(NamedTuple):
    """What our own line says."""

    upto: Upto
    is_pristine: bool
    """Whether every byte of the file is as we wrote it."""
    has_our_body: bool
    """Whether the conversation is."""
    has_our_bounds: bool
    """Whether the bounds are, so that nobody moved them when the text was changed."""
    has_our_list: bool
    """Whether the variables are."""


class Page(NamedTuple):
    """A session.md as it was found."""

    body: str
    """The conversation, and whatever else was typed anywhere in the file; empty where it is as we wrote it."""
    variables: dict[str, object]
    mark: Mark | None = None
    """None where we never wrote the file, or somebody removed our line."""
    is_cut: bool = False
    """Whether the file ends before its footer does."""
    news: object = None
    """Bounds of what is new, where a gptel wrote them that had not read ours."""


def write_footer(
    upto: Upto,
    variables: Mapping[str, object],
    bounds: str,
    body_sum: int,
    *,
    chosen: Mapping[str, object] | None = None,
) -> bytes:
    """All that stands behind the body; `body_sum` is the CRC-32 of the body.

    `chosen` are variables that somebody set in the file, None where one was taken away. They stand in the place of
    ours, and our line says what ours are: so they are still found to be somebody's.
    """
    below = _below(variables, bounds)
    shown = str(upto).encode()
    sums = body_sum, crc32(bounds.encode()), crc32(below, crc32(shown))
    if chosen:
        below = _below({name: one for name, one in {**variables, **chosen}.items() if one is not None}, bounds)
    return FOOTER + b"%b %08x %08x %08x -->\n%b" % (shown, *sums, below)


def _below(variables: Mapping[str, object], bounds: str) -> bytes:
    """The list. Its longest lines stand in front of it, where Emacs would find no list otherwise."""
    lines = {name: f"<!-- {name}: {printed(value)} -->\n" for name, value in variables.items()}
    lines[BOUNDS] = f"<!-- {BOUNDS}: {bounds} -->\n"
    size = len(_BEGIN) + len(_END) + 2 + sum(map(len, lines.values()))
    front: list[str] = []
    for name in sorted(lines, key=lambda name: -len(lines[name])):
        if size <= LIST_CHARACTERS:
            break
        size -= len(lines[name])
        front.append(lines.pop(name))
    return "".join([*front, _BEGIN, "\n", *lines.values(), _END, "\n"]).encode()


def read_page(data: bytes) -> Page:
    """Any bytes: what cannot be understood is text that somebody typed."""
    if b"\r\n" in data and data.count(b"\n") == data.count(b"\r\n"):
        data = data.replace(b"\r\n", b"\n")  # as Emacs shows it
    feed = data.rfind(_FEED)
    mark = _MARK.match(data, feed + len(_FEED)) if feed >= 0 else None
    if mark is not None:
        above, below = data[: feed + 1], data[mark.end() :]
        upto = Upto(*map(int, mark[1].split(b".")))
        has_our_body = crc32(above) == int(mark[2], 16)
        has_our_list = crc32(below, crc32(mark[1])) == int(mark[4], 16)
        if has_our_body and has_our_list:
            return Page("", {}, Mark(upto, is_pristine=True, has_our_body=True, has_our_bounds=True, has_our_list=True))
        block = _read_block(_decoded(below))
        known = Mark(
            upto,
            is_pristine=False,
            has_our_body=has_our_body and not block.rest,
            has_our_bounds=block.has_news or crc32(block.raw.get(BOUNDS, "").encode()) == int(mark[3], 16),
            has_our_list=has_our_list,
        )
        news = block.variables.get(BOUNDS) if block.has_news else None
        return Page(_decoded(above) + block.rest, block.variables, known, is_cut=not block.is_whole, news=news)
    text = _decoded(data)
    feed = text.rfind("\n\f\n")
    start = feed + 1 if feed >= 0 else _last_block(text)
    block = _read_block(text[start:].removeprefix("\f\n") if start >= 0 else "")
    return Page(text[:start] + block.rest, block.variables) if block.variables else Page(text, {})


def read_variables(data: bytes) -> dict[str, object]:
    """What the footer says, but for the bounds; nothing where there is no footer."""
    return read_whole(data, without=BOUNDS).variables


def read_whole(data: bytes, *, without: str = "") -> Page:
    """The text and its variables as they stand, whoever wrote them; one of the variables can be left out."""
    if b"\r\n" in data and data.count(b"\n") == data.count(b"\r\n"):
        data = data.replace(b"\r\n", b"\n")
    feed = data.rfind(_FEED)
    if feed >= 0:
        block = _read_block(_decoded(data[feed + len(_FEED) :]), without=without)
        return Page(_decoded(data[: feed + 1]) if not without else "", block.variables)
    text = _decoded(data)
    start = _last_block(text)
    return Page(text[:start], _read_block(text[start:], without=without).variables) if start >= 0 else Page(text, {})


class _Block(NamedTuple):
    variables: dict[str, object]
    raw: dict[str, str]
    rest: str
    """What stands between and behind the lines of the footer: it was typed by somebody."""
    is_whole: bool
    has_news: bool
    """Whether there are bounds in front of the list as well as in it."""


def _read_block(text: str, *, without: str = "") -> _Block:
    """The last list counts most, since it is the one that Emacs finds; what it does not say stands in front of it."""
    front: dict[str, str] = {}
    raw: dict[str, str] = {}
    rest: list[str] = []
    is_begun = is_inside = is_whole = False
    for line in text.split("\n"):
        found = _VARIABLE.fullmatch(line)
        name = ALIASES.get(found[1], found[1]) if found else ""
        if line == _BEGIN:
            front, raw, is_begun, is_inside = front | raw, {}, True, True
        elif line == _END and is_inside:
            is_inside, is_whole = False, True
        elif found and (is_inside or (name in _OURS and not is_whole)):
            raw[name] = found[2]
        elif not _BROKEN_MARK.fullmatch(line):
            rest.append(line)
    variables: dict[str, object] = {}
    for name, value in (front | raw).items():
        with suppress(BadLispError):
            variables[name] = read(value) if name != without else None
    typed = "\n".join(rest).strip("\n")
    return _Block(
        variables if is_begun else {},
        front | raw,
        f"\n{typed}\n" if typed.strip() else "",
        is_whole,
        has_news=BOUNDS in front and BOUNDS in raw,
    )


def _last_block(text: str) -> int:
    """Where a list of variables begins that ends the text; -1 if none does."""
    return f"\n{text}".rfind(f"\n{_BEGIN}\n") if text.rstrip().endswith(_END) else -1


def _decoded(data: bytes) -> str:
    """Bytes that are no UTF-8 stay what they are."""
    return data.decode("utf-8", "surrogateescape").removeprefix("\ufeff")

r"""The end of session.md: a form feed, a line of ours, and the variables that Emacs reads.

    \f
    <!-- segue 42.0 1a2b3c4d 5e6f7a8b 9cadbecf -->
    <!-- Local Variables: -->
    <!-- gptel--preset: executor -->
    <!-- gptel--bounds: ((response (25 50))) -->
    <!-- End: -->

Emacs looks for the list behind the last form feed, so nothing that anybody said can be taken for it. Our line says
which event the file is up to and how many edits were taken in before, and the CRC-32 of the text, of the bounds, and
of the list. Lines that would make the list too long for Emacs stand in front of it. A list of somebody else's may have
any words around its lines, as in `;; Local Variables:`.
"""

from __future__ import annotations

import re
from contextlib import suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from segue.dialects.gptel.format.lisp import BadLispError, parse_lisp, print_lisp
from segue.dialects.gptel.format.settings import ALIASES, BOUNDS, PRESET, REMOVED, VARIABLES

if TYPE_CHECKING:
    from collections.abc import Mapping

FOOTER = b"\f\n<!-- segue "
"""The beginning of our line."""

_FEED = b"\n\f"
_MARK = re.compile(rb"^<!-- segue (\d{1,18}\.\d{1,9}) ([0-9a-f]{8}) ([0-9a-f]{8}) ([0-9a-f]{8}) -->\n", re.MULTILINE)
_BROKEN_MARK = re.compile(r"<!-- segue [^<>]* -->")
_BEGIN, _END = "<!-- Local Variables: -->", "<!-- End: -->"
_AROUND = r"([^\w\"'\s]{0,8}[ \t]*)"  # the characters that make a line a comment
_ANY_BEGIN = re.compile(rf"{_AROUND}Local Variables:[ \t]*{_AROUND}", re.IGNORECASE)
_ANY_END = re.compile(rf"{_AROUND}End:[ \t]*{_AROUND}", re.IGNORECASE)
_VARIABLE = re.compile(r"<!-- ([\w*+-]+): (.*) -->")
_OURS = {PRESET, BOUNDS, *VARIABLES.values()}

LIST_CHARACTERS = 3000
"""Emacs finds a list of variables that begins within this many characters of the end."""


class Upto(NamedTuple):
    """How much of its session a file shows."""

    seq: int = 0
    """Everything up to this event."""
    edits: int = 0
    """The numbers of the events are those after this many imported edits."""

    def __str__(self) -> str:
        return f"{self.seq}.{self.edits}"


class FooterMark(NamedTuple):
    """The content of our own line, and whether it matches the file."""

    upto: Upto
    text_sum: int
    """The CRC-32 of the conversation as we wrote it."""
    has_our_body: bool
    """Whether the conversation is as we wrote it."""
    has_our_list: bool
    """Whether the variables are as we wrote them."""

    @property
    def is_pristine(self) -> bool:
        """Whether every byte of the file is as we wrote it."""
        return self.has_our_body and self.has_our_list


class BufferPage(NamedTuple):
    """A session.md as it was found."""

    body: str
    """The conversation, and anything else that was typed in the file."""
    variables: dict[str, object]
    mark: FooterMark | None = None
    """None if we never wrote the file, or our line was removed."""
    has_our_bounds: bool = False
    """Whether the bounds are as we wrote them, so that they were not moved when the text was changed."""
    is_cut: bool = False
    """Whether the file ends before its footer does."""
    news: object = None
    """Bounds of new messages, if a gptel wrote them that had not read ours."""
    others: Mapping[str, str] = MappingProxyType({})
    """The names of variables in the list that are unknown here."""


def write_footer(
    upto: Upto,
    variables: Mapping[str, object],
    bounds: str,
    body_sum: int,
    *,
    chosen: Mapping[str, object] | None = None,
) -> bytes:
    """Everything after the body; `body_sum` is the CRC-32 of the body.

    `chosen` are variables that somebody set in the file, REMOVED where one was taken away. They stand in the place of
    ours, and our line says what ours are: so they are still found to be somebody's.
    """
    below = _below(variables, bounds)
    shown = str(upto).encode()
    sums = body_sum, crc32(bounds.encode()), crc32(below, crc32(shown))
    if chosen:
        below = _below({name: one for name, one in {**variables, **chosen}.items() if one is not REMOVED}, bounds)
    return FOOTER + b"%b %08x %08x %08x -->\n%b" % (shown, *sums, below)


def _below(variables: Mapping[str, object], bounds: str) -> bytes:
    """The list of variables. Its longest lines come before it if Emacs could not find it otherwise."""
    lines = {name: f"<!-- {name}: {print_lisp(value)} -->\n" for name, value in variables.items()}
    lines[BOUNDS] = f"<!-- {BOUNDS}: {bounds} -->\n"
    size = len(_BEGIN) + len(_END) + 2 + sum(map(len, lines.values()))
    front: list[str] = []
    for name in sorted(lines, key=lambda name: -len(lines[name])):
        if size <= LIST_CHARACTERS:
            break
        size -= len(lines[name])
        front.append(lines.pop(name))
    return "".join([*front, _BEGIN, "\n", *lines.values(), _END, "\n"]).encode()


def read_mark(data: bytes) -> FooterMark | None:
    """Our line; only the checksums are computed."""
    parts = _split(_unix(data))
    return parts.mark if parts is not None else None


def read_page(data: bytes) -> BufferPage:
    """Parse any bytes: what is not recognized is text that the user typed."""
    data = _unix(data)
    parts = _split(data)
    if parts is None:
        return BufferPage(_decoded(data), {})
    block = _read_block(_decoded(parts.below))
    mark = parts.mark
    if mark is None:
        return BufferPage(_decoded(parts.above) + block.rest, block.variables, others=block.others)
    return BufferPage(
        _decoded(parts.above) + block.rest,
        block.variables,
        mark._replace(has_our_body=mark.has_our_body and not block.rest),
        has_our_bounds=block.has_news or crc32(block.raw.get(BOUNDS, "").encode(errors="replace")) == parts.bounds_sum,
        is_cut=not block.is_whole,
        news=block.variables.get(BOUNDS) if block.has_news else None,
        others=block.others if not mark.has_our_list else {},
    )


def read_variables(data: bytes) -> dict[str, object]:
    """The variables of the footer, except the bounds; empty if there is no footer."""
    return read_whole(data, without=BOUNDS).variables


def read_whole(data: bytes, *, without: str = "") -> BufferPage:
    """The text and all its variables, whichever program wrote them; one of the variables can be left out."""
    data = _unix(data)
    parts = _split(data)
    if parts is None:
        return BufferPage(_decoded(data), {})
    variables = _read_block(_decoded(parts.below), without=without).variables
    return BufferPage(_decoded(parts.above) if not without else "", variables)


class _Parts(NamedTuple):
    above: bytes
    below: bytes
    """The footer without our line, with anything that was typed there."""
    mark: FooterMark | None = None
    bounds_sum: int = 0


def _split(data: bytes) -> _Parts | None:
    """Split into conversation and footer; None if there is no footer."""
    feed = data.rfind(_FEED)
    found = _MARK.search(data, feed + 1) if feed >= 0 else None
    start = feed + 1 if found is not None else _last_block(data)
    if start < 0 and feed < 0:
        return None
    start = start if start >= 0 else feed + 1
    above, below = data[:start], data[start:]
    found = found or _MARK.search(below)
    if found is None:
        is_footer = any(name in _OURS for name in _read_block(_decoded(below)).raw)
        return _Parts(above, below) if is_footer else None
    typed, _, shown = data[start:].partition(found[0])
    is_alone = typed.strip(b"\f\n") == b""
    mark = FooterMark(
        Upto(*map(int, found[1].split(b"."))),
        int(found[2], 16),
        has_our_body=is_alone and crc32(above) == int(found[2], 16),
        has_our_list=is_alone and crc32(shown, crc32(found[1])) == int(found[4], 16),
    )
    return _Parts(above, typed + shown, mark, int(found[3], 16))


def _last_block(data: bytes) -> int:
    """The offset of a footer at the end of the file, whichever program wrote it; -1 if there is none."""
    lines = data.decode("latin-1").split("\n")
    last = next((at for at in range(len(lines) - 1, -1, -1) if lines[at].strip()), -1)
    end = _ANY_END.fullmatch(lines[last]) if last >= 0 else None
    first = last
    while end and first >= 0 and not ((found := _ANY_BEGIN.fullmatch(lines[first])) and found.groups() == end.groups()):
        first -= 1
    if not end or first < 0:
        return -1
    while first and (_BROKEN_MARK.fullmatch(lines[first - 1]) or _is_ours(lines[first - 1])):
        first -= 1
    start = sum(len(line) + 1 for line in lines[:first])
    return start - 2 if first and lines[first - 1].endswith("\f") else start


def _is_ours(line: str) -> bool:
    found = _VARIABLE.fullmatch(line)
    return found is not None and _name(found[1]) in _OURS


def _name(written: str) -> str:
    return ALIASES.get(written, written)


class _Block(NamedTuple):
    variables: dict[str, object]
    raw: dict[str, str]
    others: dict[str, str]
    """The names of variables that are not ours, or not valid."""
    rest: str
    """Text between and after the lines of the footer: the user typed it."""
    is_whole: bool
    has_news: bool
    """Whether there are bounds before the list as well as in it."""


def _read_block(text: str, *, without: str = "") -> _Block:
    """Parse the footer. The last list counts, since Emacs finds that one; lines before it complete it."""
    front: dict[str, str] = {}
    raw: dict[str, str] = {}
    rest: list[str] = []
    inside: re.Pattern[str] | None = None
    is_begun = is_whole = False
    for line in text.removeprefix("\f").split("\n"):
        begin, found = _ANY_BEGIN.fullmatch(line), inside.fullmatch(line) if inside else None
        if begin:
            front, raw, is_begun = front | raw, {}, True
            before, behind = map(re.escape, begin.groups())
            inside = re.compile(rf"{before}[ \t]*([\w*+-]+)[ \t]*:[ \t]*(.*?)[ \t]*{behind}")
        elif found and found[1].lower() == "end" and not found[2]:
            inside, is_whole = None, True
        elif found:
            raw[_name(found[1])] = found[2]
        elif not is_begun and _is_ours(line):
            name, _, value = line.removeprefix("<!-- ").removesuffix(" -->").partition(": ")
            raw[_name(name)] = value
        elif not _BROKEN_MARK.fullmatch(line):
            rest.append(line)
    variables: dict[str, object] = {}
    for name, value in (front | raw).items():
        with suppress(BadLispError):
            variables[name] = parse_lisp(value) if name != without else None
    typed = "\n".join(rest).strip("\n")
    return _Block(
        variables if is_begun else {},
        front | raw if is_begun else {},
        {name: value for name, value in (front | raw).items() if name not in _OURS or name not in variables},
        f"\n{typed}\n" if typed.strip() else "",
        is_whole,
        has_news=BOUNDS in front and BOUNDS in raw,
    )


def _unix(data: bytes) -> bytes:
    """The data with the line ends that Emacs shows."""
    is_dos = b"\r\n" in data and data.count(b"\n") == data.count(b"\r\n")
    return data.replace(b"\r\n", b"\n") if is_dos else data


def _decoded(data: bytes) -> str:
    """Decode UTF-8; other bytes are kept as escapes."""
    return data.decode("utf-8", "surrogateescape").removeprefix("\ufeff")

"""Turns as the text of session.md, with the bounds of everything that is not the user's, and back by those bounds.

The user's text is unmarked, behind `### `; an answer is marked `response`, a tool's result `tool`, anything else
`ignore`. Positions are characters, counted from 1, and the end is behind the last.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from segue.dialects.gptel.format.footer import write_footer
from segue.dialects.gptel.format.lisp import BadLispError, Pair, Symbol, parse_lisp_at, print_lisp
from segue.dialects.gptel.format.settings import PRESET

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from segue.dialects.gptel.format.footer import Upto
    from segue.model import JsonObject, Turn

PROMPT = "### "
GUARD = "<!-- session -->"
"""The first line if the text could start with settings otherwise: Emacs obeys `-*-`, `#!` and `<?xml` there."""

KINDS = {"assistant": "response", "tool": "tool", "system": "ignore"}
_ROLES = {kind: role for role, kind in KINDS.items()}
_FENCE = re.compile(r"``` ?tool[^\n]*|```")

# Emacs would take some of these for another encoding, for binary data or for the end of a page; the events have them.
_SHOWN = {number: 0x2400 + number for number in range(0x20) if chr(number) not in "\t\n"}
_SHOWN |= {0x7F: 0x2421, 0xFEFF: 0xFFFD} | dict.fromkeys(range(0xD800, 0xE000), 0xFFFD)


class TextPiece(NamedTuple):
    """A message as it is in the text."""

    role: str
    text: str
    call: JsonObject | None = None
    """For a tool: the id, the name and the arguments of its call."""


class Block(NamedTuple):
    """One turn as text: what comes before the message, the message, and what comes after it."""

    head: str
    text: str
    tail: str

    @property
    def whole(self) -> str:
        return f"{self.head}{self.text}{self.tail}"


def displayable(text: str) -> str:
    """The text as it can be in the file: one kind of line end, and no character that Emacs might obey."""
    if text.replace("\n", "").replace("\t", "").isprintable():  # no character that is replaced is printable
        return text
    return text.replace("\r\n", "\n").replace("\r", "\n").translate(_SHOWN)


def is_visible(turn: Turn) -> bool:
    # What is blank may be displayed: a control character has a picture.
    return turn.role == "tool" or bool(turn.content.strip() or displayable(turn.content).strip())


def render_block(turn: Turn) -> Block:
    if turn.role == "user":
        return Block(PROMPT, displayable(turn.content), "")
    if turn.role != "tool":
        return Block("", displayable(turn.content).strip() if turn.role == "system" else displayable(turn.content), "")
    call = call_of(turn)
    name, arguments = displayable(str(call.get("name") or "tool")), call.get("arguments")
    try:
        given = print_lisp(arguments if isinstance(arguments, dict) else None)
    except TypeError:
        given = "nil"
    head = f"(:name {print_lisp(name)} :args {given})\n\n"
    title = re.sub(r"[^\w.-]+", "-", name)
    return Block(f"``` tool ({title})\n", head + displayable(turn.content), "\n```")


def needs_guard(first: Block) -> bool:
    text = first.whole.lstrip()
    return text.startswith(("#!", "'\\\"", "<")) or "-*-" in text.partition("\n")[0]


def call_of(turn: Turn) -> JsonObject:
    """The call of a tool turn, from its parts; the id is never empty."""
    found: JsonObject = {}
    for part in turn.parts:
        if part.get("type") in {"tool_call", "tool_result"}:
            found |= {key: value for key, value in part.items() if key in {"id", "name", "arguments"}}
    return {**found, "id": found.get("id") if isinstance(found.get("id"), str) else turn.id}


class BranchText:
    """A text that grows turn by turn, in bytes, with its bounds."""

    def __init__(self, turns: Iterable[Turn] = ()) -> None:
        self.sum = 0
        """The CRC-32 of the text."""
        self.size_bytes = 0
        self._chunks: list[bytes] = []
        self._characters = 0
        self._bounds: dict[str, list[str]] = {}
        self._last = ""
        self.extend(turns)

    def extend(self, turns: Iterable[Turn]) -> None:
        for turn in turns:
            if is_visible(turn):
                self._add(turn)

    def body(self) -> bytes:
        return b"".join(self._chunks)

    def above(self) -> bytes:
        """Everything before the footer, including a prompt after the last answer."""
        return b"".join([*self._chunks, self._prompt()])

    def encode(
        self,
        upto: Upto,
        variables: Mapping[str, object],
        *,
        is_saved: bool = False,
        chosen: Mapping[str, object] | None = None,
    ) -> bytes:
        """The bytes of the file. A conversation without turns is an empty file until the user saves it."""
        if not self._chunks and not is_saved and not chosen and variables.keys() <= {PRESET}:
            return b""
        footer = write_footer(upto, variables, self.bounds(), self.above_sum(), chosen=chosen)
        return b"".join([*self._chunks, self._prompt(), footer])

    def above_sum(self) -> int:
        """The CRC-32 of `above`."""
        return crc32(self._prompt(), self.sum)

    @property
    def end(self) -> int:
        """The position after the last turn, as Emacs counts."""
        return self._characters + 1

    def _prompt(self) -> bytes:
        return b"\n### \n" if self._last == "assistant" else b"" if self._chunks else b"\n"

    def bounds(self) -> str:
        """The bounds in the printed form of Lisp."""
        lists = [f"({kind} {' '.join(places)})" for kind, places in self._bounds.items()]
        return f"({' '.join(lists)})" if lists else "nil"

    def _add(self, turn: Turn) -> None:
        block = render_block(turn)
        if self._chunks:
            self._write("\n")
        elif needs_guard(block):
            self._mark("ignore", GUARD)
            self._write("\n\n")
        if turn.role == "user":
            # Two prompts in a row would be read as one without a bound on the second.
            self._mark("ignore" if self._last == "user" else "", block.head)
            self._write(block.text)
        elif turn.role == "tool":
            self._mark("ignore", block.head)
            self._mark("tool", block.text, displayable(str(call_of(turn)["id"])))
            self._mark("ignore", block.tail)
        else:
            self._mark(KINDS[turn.role], block.text)
        self._write("\n")
        self._last = turn.role

    def _mark(self, kind: str, text: str, name: str = "") -> None:
        start = self._characters + 1
        self._write(text)
        if kind:
            end = self._characters + 1
            self._bounds.setdefault(kind, []).append(
                f"({start} {end} {print_lisp(name)})" if name else f"({start} {end})"
            )

    def _write(self, text: str) -> None:
        data = text.encode()
        self._chunks.append(data)
        self._characters += len(text)
        self.sum = crc32(data, self.sum)
        self.size_bytes += len(data)


class Span(NamedTuple):
    """The text that a bound marks, as offsets."""

    start: int
    end: int
    kind: str
    name: str = ""
    """For a tool: the id of its call."""


def parse_pieces(body: str, bounds: object, *, offset: int = 0) -> Iterator[TextPiece]:
    """The messages of a text by its bounds; everything that no bound covers is the user's.

    The body is what the bounds are of, or a part of it that begins at the offset.
    """
    position, is_apart = 0, False
    spans = parse_spans(bounds, len(body), offset=offset)
    edges = {edge for span in spans if span.kind == "tool" for edge in (span.start, span.end)}
    for start, end, kind, name in spans:
        start = max(start, position)  # noqa: PLW2901 - the earlier of two overlapping ones wins
        yield from _users(body[position:start], is_apart=is_apart)
        text = body[start:end]
        position = max(position, end)
        is_apart = kind == "ignore" and text == PROMPT
        is_fence = bool(edges & {start, end}) and _FENCE.fullmatch(text.strip()) is not None
        is_guard = start == spans[0].start and text == GUARD  # even if the user typed something above it
        if kind == "tool" and text:
            yield _of_tool(text, name)
        elif kind == "ignore" and (is_apart or is_fence or is_guard):
            continue
        elif text.strip():
            yield TextPiece(_ROLES.get(kind, "user"), text.strip())
    yield from _users(body[position:], is_apart=is_apart)


def _users(run: str, *, is_apart: bool) -> Iterator[TextPiece]:
    text = run.strip()
    if not is_apart:
        text = strip_prompt(text)
    if text:
        yield TextPiece("user", text)


def strip_prompt(text: str) -> str:
    """The text that the user typed after the prompt."""
    return "" if text == PROMPT.strip() else text.removeprefix(PROMPT).strip()


def _of_tool(text: str, name: str) -> TextPiece:
    call: JsonObject = {"id": name}
    try:
        found, end = parse_lisp_at(text)
    except BadLispError:
        return TextPiece("tool", text.strip(), call)
    match found:
        case [Symbol(":name"), str(tool), Symbol(":args"), arguments]:
            return TextPiece(
                "tool", text[end:].strip(), {**call, "name": str(tool), "arguments": _arguments(arguments)}
            )
    return TextPiece("tool", text.strip(), call)


def _arguments(found: object) -> JsonObject:
    """A property list as an object."""
    items = found if isinstance(found, list) else []
    pairs = zip(items[::2], items[1::2], strict=False)
    return {str(key)[1:]: _json(value) for key, value in pairs if isinstance(key, Symbol) and key.startswith(":")}


def _json(value: object) -> object:
    match value:
        case list() if value and isinstance(value[0], Symbol) and value[0].startswith(":"):
            return _arguments(value)
        case list() | Pair():
            return [_json(item) for item in value]
        case str():
            return str(value)
    return value


def parse_spans(bounds: object, size: int, *, offset: int = 0) -> list[Span]:
    """Every valid bound of a text of this size, in order."""
    found = [
        Span(max(0, start - offset), min(size, end - offset), kind, name)
        for start, end, kind, name in parse_bounds(bounds)
    ]
    return sorted(span for span in found if span.start < span.end)


def parse_bounds(bounds: object) -> Iterator[Span]:
    """Every bound as it is written, whatever the size of the text."""
    for entry in bounds if isinstance(bounds, list) else []:
        match entry:
            case [Symbol() as kind, *places]:
                for place in places:
                    match place:
                        case [int() as start, int() as end, *names]:
                            yield Span(start - 1, end - 1, str(kind), *map(str, names[:1]))
            case Pair(first=int() as start, rest=int() as end):
                yield Span(start - 1, end - 1, "response")


def format_bounds(spans: Iterable[Span]) -> list[object]:
    """The same spans in the form of Lisp values."""
    return [[Symbol(kind), [start + 1, end + 1, *([name] if name else [])]] for start, end, kind, name in spans]

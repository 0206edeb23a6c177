"""Reads a journal from its end: the latest checkpoint and what follows it, or the last turns of a branch.

The cost depends on that window alone, however long the history is. If anything in it is unexpected, these functions
return None, and the caller reads the whole file, which tells where the damage is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from segue.formats import file_tail
from segue.formats.journal import CHECKPOINT, BadLineError, Checkpoint, decode_line, decode_plain
from segue.stores.journal.parser import Parser

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from segue.model import Event, Overview, Turn

    Read = Callable[[int, int], bytes]  # size, offset

BLOCK = 1 << 20


def iter_blocks(read: Read, offset: int = 0, *, size: int = BLOCK) -> Iterator[tuple[bytes, bool]]:
    """The file from `offset` on in blocks of whole lines (True), then the rest after the last newline (False).

    The first block has about `size` bytes, the following ones are larger and larger.
    """
    rest: list[bytes] = []
    while chunk := read(size, offset):
        size = min(size * 4, BLOCK)
        offset += len(chunk)
        end = chunk.rfind(b"\n") + 1
        if end == 0:
            rest.append(chunk)
            continue
        yield b"".join([*rest, chunk[:end]]), True
        rest = [chunk[end:]]
    yield b"".join(rest), False


def read_all(read: Read, session_id: str, place: str) -> Parser:
    parser = Parser(session_id, place)
    for block, whole in iter_blocks(read):
        if whole:
            parser.feed(block)
        else:
            parser.finish(block)
    return parser


class Since(NamedTuple):
    """A checkpoint, and what was recorded after it."""

    overview: Overview
    parser: Parser
    start: int
    """The offset after the checkpoint."""
    checkpoint_size: int


def read_since(read: Read, size: int, session_id: str, *, upto: int | None = None) -> Since | None:
    """The latest checkpoint (not after the event `upto`), and the events recorded after it."""
    for start, data in file_tail.growing_tails(read, size):
        at = len(data)
        while (at := data.rfind(b"\n" + CHECKPOINT, 0, at)) >= 0:
            end = data.find(b"\n", at + 1)
            checkpoint = _checkpoint(data[at + 1 : end]) if end >= 0 else None
            if checkpoint is None:
                continue
            if upto is not None and checkpoint.seq > upto:
                continue
            parser = Parser(session_id, "", seq=checkpoint.seq, offset=start + end + 1)
            last = data.rfind(b"\n") + 1
            if last > end + 1:
                parser.feed(data[end + 1 : last])
            parser.finish(data[last:])
            if parser.damages:
                return None
            return Since(_named(checkpoint.overview, session_id), parser, start + end + 1, end - at)
    return None


def last_turns(read: Read, size: int, overview: Overview, branch: str, count: int) -> tuple[Turn, ...] | None:
    """The last turns of a branch, oldest first."""

    def decode(block: bytes) -> list[Event] | None:
        plain = decode_plain(block, None)
        return plain.events if plain is not None else _carefully(block, overview.id)

    return file_tail.read_last_turns(read, size, overview, branch, count, decode)


def _checkpoint(line: bytes) -> Checkpoint | None:
    try:
        record = decode_line(line).record
    except BadLineError:
        return None
    return record if isinstance(record, Checkpoint) else None


def _named(overview: Overview, session_id: str) -> Overview:
    return overview if overview.id == session_id else replace(overview, id=session_id)


def _carefully(block: bytes, session_id: str) -> list[Event] | None:
    """The events of lines that are not all plain; None if any of them is damaged or not numbered."""
    parser = Parser(session_id, "", midway=True)
    parser.feed(block)
    return None if parser.damages or parser.guessed else parser.events

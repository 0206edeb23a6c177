"""A file of lines, read in pieces: memory holds one line at a time, however large the file is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

BLOCK_BYTES = 1 << 20
LONGEST_LINE_BYTES = 32 << 20
"""What is longer is not read: it would take several times as much memory."""

Read = Callable[[int, int], bytes]
"""Size and offset; what is there, and nothing behind the end."""


class Place(NamedTuple):
    """Where a line is."""

    number: int
    offset: int
    size: int


class Line(NamedTuple):
    place: Place
    data: bytes | None
    """None where it is too long to be read."""
    is_whole: bool
    """Whether a newline ends it."""


class Lines:
    def __init__(self, read: Read) -> None:
        self.read = read

    def __iter__(self) -> Iterator[Line]:
        """Every line that is not blank, split at the newline and nowhere else."""
        number, offset, size = 1, 0, 0  # of the line that is being put together
        pieces: list[bytes] = []
        at = 0
        while block := self.read(BLOCK_BYTES, at):
            at += len(block)
            *ended, rest = block.split(b"\n")
            for piece in ended:
                size += len(piece)
                yield from _line(Place(number, offset, size), pieces, piece, is_whole=True)
                number, offset, size, pieces = number + 1, offset + size + 1, 0, []
            size += len(rest)
            if size <= LONGEST_LINE_BYTES:
                pieces.append(rest)
        yield from _line(Place(number, offset, size), pieces, b"", is_whole=False)

    def at(self, place: Place) -> bytes:
        """A line that was seen before, as it is now."""
        return self.read(place.size, place.offset)


def lines_of(data: bytes) -> Lines:
    return Lines(lambda size, offset: data[offset : offset + size])


def _line(place: Place, pieces: list[bytes], last: bytes, *, is_whole: bool) -> Iterator[Line]:
    if place.size > LONGEST_LINE_BYTES:
        yield Line(place, None, is_whole)
    elif (data := b"".join([*pieces, last])) and not data.isspace():
        yield Line(place, data, is_whole)

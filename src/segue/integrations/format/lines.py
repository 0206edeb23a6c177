"""A file of lines, read in blocks: only one line is in memory at a time, however large the file is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from segue.integrations.format.limits import LINES, too_large

BLOCK_BYTES = 1 << 20
ENDS_BYTES = 64 << 10
"""How much is read at each end of a file that is not read whole."""
_FEWEST_FIRST, _FEWEST_LAST = 32, 8
"""The least number of lines at each end; if they are long, more is read, since instructions come before a prompt."""
_LONGEST_START_BYTES = 16 * ENDS_BYTES
LONGEST_LINE_BYTES = 32 << 20
"""Longer lines are not read: they would take several times as much memory."""

ReadAt = Callable[[int, int], bytes]
"""Takes a size and an offset; returns the bytes there, and none after the end."""


class LinePlace(NamedTuple):
    """The position of a line."""

    number: int
    offset: int
    size: int


class SourceLine(NamedTuple):
    place: LinePlace
    data: bytes | None
    """None if it is too long to read."""
    is_whole: bool
    """Whether it ends with a newline."""


class Lines:
    block_bytes = BLOCK_BYTES

    def __init__(self, read: ReadAt) -> None:
        self.read = read

    def __iter__(self) -> Iterator[SourceLine]:
        """Every line that is not blank, split at newlines only."""
        return self._from_offset(0)

    def _from_offset(self, start: int) -> Iterator[SourceLine]:
        number, offset, size = start + 1, start, 0  # of the current line
        pieces: list[bytes] = []
        at = start
        while block := self.read(self.block_bytes, at):
            at += len(block)
            *ended, rest = block.split(b"\n")
            for piece in ended:
                if not size and not piece:
                    number, offset = number + 1, offset + 1
                    continue
                size += len(piece)
                yield from _line(LinePlace(number, offset, size), pieces, piece, is_whole=True)
                number, offset, size, pieces = number + 1, offset + size + 1, 0, []
            if number - start > LINES:
                raise too_large(f"it has {number - start:,} lines")
            size += len(rest)
            if size <= LONGEST_LINE_BYTES:
                pieces.append(rest)
        yield from _line(LinePlace(number, offset, size), pieces, b"", is_whole=False)

    def at(self, place: LinePlace) -> bytes:
        """The current content of a line that was found before."""
        return self.read(place.size, place.offset)


class Ends(Lines):
    """The first and the last lines of a file. The numbers of the last ones are unique, but not line numbers."""

    block_bytes = ENDS_BYTES

    def __init__(self, read: ReadAt, size: int) -> None:
        super().__init__(read)
        self._size = size

    def __iter__(self) -> Iterator[SourceLine]:
        for count, line in enumerate(self._from_offset(0), start=1):
            yield line
            after = line.place.offset + line.place.size
            if after >= (ENDS_BYTES if count >= _FEWEST_FIRST else _LONGEST_START_BYTES):
                yield from self._last(after)
                return

    def _last(self, after: int) -> list[SourceLine]:
        reach = ENDS_BYTES
        while True:
            start = max(after, self._size - reach)
            is_cut = start > after
            found = list(self._from_offset(start))[is_cut:]
            if len(found) >= _FEWEST_LAST or not is_cut:
                return found
            reach *= 4


def lines_of(data: bytes) -> Lines:
    return Lines(lambda size, offset: data[offset : offset + size])


def _line(place: LinePlace, pieces: list[bytes], last: bytes, *, is_whole: bool) -> Iterator[SourceLine]:
    if place.size > LONGEST_LINE_BYTES:
        yield SourceLine(place, None, is_whole)
    elif (data := b"".join([*pieces, last])) and not data.isspace():
        yield SourceLine(place, data, is_whole)

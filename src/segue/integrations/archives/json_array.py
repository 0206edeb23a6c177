"""The items of a JSON array, one at a time: only one item is in memory, however long the array is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_OUTSIDE = re.compile(rb'["{}\[\]]')
_INSIDE = re.compile(rb'["\\]')


class BadArrayError(Exception):
    """The data is not an array of objects; the message is the reason."""


def split_items(blocks: Iterable[bytes], limit: int) -> Iterator[bytes | None]:
    """The objects in the array as they are in the data; None for one that is longer than the limit.

    BadArrayError if the data is not an array, or if it ends before the array does.
    """
    scanner = _Scanner(limit)
    for block in blocks:
        yield from scanner.feed(block)
    scanner.finish()


class _Scanner:
    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._depth = 0
        self._in_text = False
        self._skip = 0
        """How many bytes are part of an escape that the last block ended with."""
        self._item: list[bytes] = []
        self._size = 0
        self._is_done = False

    def feed(self, block: bytes) -> Iterator[bytes | None]:
        at, start = self._skip, 0
        self._skip = 0
        while found := (_INSIDE if self._in_text else _OUTSIDE).search(block, at):
            at = found.end()
            sign = found[0]
            if sign == b"\\":
                at += 1
                self._skip = max(0, at - len(block))
            elif sign == b'"':
                self._in_text = not self._in_text
                self._check_started()
            elif sign in b"{[":
                self._open(sign)
                if self._depth == 2:  # noqa: PLR2004 - the array, and an object in it
                    start = found.start()
            else:
                self._depth -= 1
                if self._depth == 1:
                    self._add(block[start:at])
                    yield self._take()
                self._is_done = self._is_done or self._depth == 0
        if self._depth > 1:
            self._add(block[start:])

    def finish(self) -> None:
        if not self._is_done:
            raise BadArrayError("it is truncated" if self._depth else "it is not a list of conversations")

    def _open(self, sign: bytes) -> None:
        if self._is_done or (self._depth == 0 and sign != b"["):
            raise BadArrayError("it is not a list of conversations")
        self._depth += 1

    def _check_started(self) -> None:
        if not self._depth:
            raise BadArrayError("it is not a list of conversations")

    def _add(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size <= self._limit:
            self._item.append(piece)

    def _take(self) -> bytes | None:
        item = b"".join(self._item) if self._size <= self._limit else None
        self._item, self._size = [], 0
        return item

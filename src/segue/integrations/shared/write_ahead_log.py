"""The write-ahead log of SQLite: the changes that are not in the database yet. SQLite reads it only with its index."""

from __future__ import annotations

import struct
import sys
from array import array

_HEADER, _FRAME = struct.Struct(">8I"), struct.Struct(">6I")
_MAGIC = 0x377F0682
"""The last bit says whether sums are of big-endian numbers."""
_WRITE_VERSION = 18
"""Where a database says that it has a log: two bytes, one for writing and one for reading."""
_PAGE_SIZES = range(512, 65537)
_MASK = 0xFFFFFFFF


def merge_log(database: bytes, log: bytes) -> bytes:
    """The database with the changes in its log that were committed, as one that has no log."""
    merged = bytearray(database)
    for number, page in _committed(log).items():
        start = (number - 1) * len(page)
        if start > len(database) + len(log):
            continue  # no database has a page there: every page after its end is in the log
        if start > len(merged):
            merged.extend(bytes(start - len(merged)))
        merged[start : start + len(page)] = page
    if len(merged) > _WRITE_VERSION + 1:
        merged[_WRITE_VERSION : _WRITE_VERSION + 2] = b"\1\1"
    return bytes(merged)


def _committed(log: bytes) -> dict[int, bytes]:
    """The pages by their numbers, up to the last commit: it ends where a sum is wrong, or the log was started again."""
    if len(log) < _HEADER.size:
        return {}
    magic, _, page_size, _, *salts, first, second = _HEADER.unpack_from(log)
    is_big = bool(magic & 1)
    sums = _add(log[: _HEADER.size - 8], (0, 0), is_big=is_big)
    if magic & ~1 != _MAGIC or page_size not in _PAGE_SIZES or sums != (first, second):
        return {}
    found: dict[int, bytes] = {}
    waiting: dict[int, bytes] = {}
    for start in range(_HEADER.size, len(log) - _FRAME.size - page_size + 1, _FRAME.size + page_size):
        number, size_after, *frame_salts, first, second = _FRAME.unpack_from(log, start)
        page = log[start + _FRAME.size : start + _FRAME.size + page_size]
        sums = _add(log[start : start + 8] + page, sums, is_big=is_big)
        if frame_salts != salts or sums != (first, second) or not number:
            break
        waiting[number] = page
        if size_after:
            found |= waiting
            waiting = {}
    return found


def _add(data: bytes, sums: tuple[int, int], *, is_big: bool) -> tuple[int, int]:
    numbers = array("I", data)
    if is_big != (sys.byteorder == "big"):
        numbers.byteswap()
    first, second = sums
    for place in range(0, len(numbers), 2):
        first = (first + numbers[place] + second) & _MASK
        second = (second + numbers[place + 1] + first) & _MASK
    return first, second

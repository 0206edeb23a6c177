"""The seal is the last line of a file that we wrote. It tells whether a byte before it has changed, and which one.

    "sum": "000004d2-1a2b3c4d-0123456789abcdef"

The number of bytes before the line, their CRC-32, and the beginning of their SHA-256. A CRC is linear: the difference
from the expected value tells which single byte may have changed, and to what; the SHA-256 confirms it.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

if TYPE_CHECKING:
    from collections.abc import Iterator

_LINE = b'    "sum": "%08x-%08x-%b"\n  }\n}\n'
_SIZE = len(_LINE % (0, 0, b"0" * 16))
_PATTERN = re.compile(_LINE.replace(b"%08x-%08x-%b", b"([0-9a-f]{8})-([0-9a-f]{8})-([0-9a-f]{16})"))

_STEP = [crc32(bytes([byte])) ^ crc32(b"\0") for byte in range(256)]
_MASKS = {step: mask for mask, step in enumerate(_STEP) if mask}
_UNDO = {step >> 24: byte for byte, step in enumerate(_STEP)}


class ChangedByte(NamedTuple):
    """The one byte of a file that has changed."""

    offset: int
    original: int


def seal(body: bytes) -> bytes:
    """The file: its body, which ends before the last line of the last object, and that line."""
    return body + _LINE % (len(body), crc32(body), _digest(body))


def is_sealed(data: bytes) -> bool:
    """Whether every byte is as it was written; by the CRC alone, which is fast and good enough for a listing."""
    found = _PATTERN.fullmatch(data, max(0, len(data) - _SIZE))
    if found is None or int(found[1], 16) != found.start():
        return False
    return int(found[2], 16) == crc32(memoryview(data)[: found.start()])


def body_size(data: bytes) -> int:
    """The offset of the last line, if it is there."""
    return len(data) - _SIZE


def find_changed_byte(data: bytes) -> ChangedByte | None:
    """The one byte in which the file differs from what was written; None unless it is exactly one."""
    size = len(data) - _SIZE
    if size < 0:
        return None
    body, line = data[:size], data[size:]
    expected = seal(body)[size:]
    if line == expected:
        return None
    wrong = [at for at, (one, other) in enumerate(zip(line, expected, strict=True)) if one != other]
    if len(wrong) == 1:
        return ChangedByte(size + wrong[0], expected[wrong[0]])
    found = _PATTERN.fullmatch(line)
    if found is None or int(found[1], 16) != size:
        return None
    for offset, mask in _candidates(size, crc32(body) ^ int(found[2], 16)):
        original = body[offset] ^ mask
        if _digest(body[:offset] + bytes([original]) + body[offset + 1 :]) == found[3]:
            return ChangedByte(offset, original)
    return None


def _candidates(size: int, difference: int) -> Iterator[tuple[int, int]]:
    """Every offset at which one changed byte explains this difference of the CRC, going backwards from the end."""
    for offset in range(size - 1, -1, -1):
        if difference in _MASKS:
            yield offset, _MASKS[difference]
        byte = _UNDO[difference >> 24]
        difference = (((difference ^ _STEP[byte]) << 8) | byte) & 0xFFFFFFFF


def _digest(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest()[:16].encode()

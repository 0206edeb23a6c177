"""Limits for reading the files of AI tools: far more than conversations need, far less than a machine has."""

from __future__ import annotations

from segue.errors import TooLargeError

LINES = 5_000_000
"""In a file."""
DAMAGES = 10_000
"""In a session: a file with more of them is not a session."""
VALUES = 2_000_000
"""In one record: each takes a hundred times as much memory as space in the file."""
TURN_BYTES = 32 << 20
"""In the records of one turn."""
DOCUMENT_BYTES = 128 << 20
"""In a JSON document, which can only be read whole."""
UNPACKED_BYTES = 1 << 30
"""In a compressed file."""
CONVERSATION_BYTES = 64 << 20
"""In a conversation of an export archive."""
ARCHIVE_FILES = 200_000
"""In an export archive, with all attachments."""
_FREE_BYTES = 16 << 20
_RATIO = 200
"""And for a small one this many times its size: text compresses to a tenth, and only garbage to a thousandth."""


def unpacked_limit(packed_bytes: int) -> int:
    return min(UNPACKED_BYTES, _FREE_BYTES + _RATIO * packed_bytes)


def too_large(what: str) -> TooLargeError:
    return TooLargeError(
        f"{what}: more than the limit for one session", hint="check the file; other sessions are not affected"
    )


def has_too_many_values(data: bytes) -> bool:
    """Whether a JSON text may contain too many values, checked without decoding it."""
    return len(data) > VALUES and data.count(b",") + data.count(b"[") + data.count(b"{") > VALUES

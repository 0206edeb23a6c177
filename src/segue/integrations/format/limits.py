"""What is read of other tools' files at most: far more than conversations hold, far less than a machine has."""

from __future__ import annotations

from segue.errors import TooLargeError

LINES = 5_000_000
"""Of a file."""
DAMAGES = 10_000
"""Of a session: whatever has more is something else."""
VALUES = 2_000_000
"""In one record: each takes a hundred times the room in memory that it has in the file."""
TURN_BYTES = 32 << 20
"""Of the records that make one turn."""
UNPACKED_BYTES = 1 << 30
"""Of a compressed file."""
_FREE_BYTES = 16 << 20
_RATIO = 200
"""And of a small one so many times its size: text shrinks to a tenth, and only nonsense to a thousandth."""


def unpacked_limit(packed_bytes: int) -> int:
    return min(UNPACKED_BYTES, _FREE_BYTES + _RATIO * packed_bytes)


def too_large(what: str) -> TooLargeError:
    return TooLargeError(f"{what}: more than is read of one session", hint="look at the file; it costs only itself")


def has_too_many_values(data: bytes) -> bool:
    """Whether a text of JSON may hold more values than are read, told without decoding it."""
    return len(data) > VALUES and data.count(b",") + data.count(b"[") + data.count(b"{") > VALUES

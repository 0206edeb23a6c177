"""A digest of events: two copies of a session can be compared without moving either."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from segue.formats.journal import encode_event

if TYPE_CHECKING:
    from segue.model import Event

LINE_END = b'"}\n'
"""What follows the checksum in the line of an event; between them may be the mark of an append that continues."""


class EventsDigest:
    """The SHA-256 of the SHA-256 of each line up to its checksum: independent of how events were grouped in appends."""

    def __init__(self) -> None:
        self.count = 0
        self.size_bytes = 0
        self._whole = sha256()

    def add(self, event: Event) -> bytes:
        """Count the event; its line."""
        line = encode_event(event)
        self.count += 1
        self.size_bytes += len(line)
        self._whole.update(sha256(line[: -len(LINE_END)]).digest())
        return line

    @property
    def sha256(self) -> bytes:
        return self._whole.digest()

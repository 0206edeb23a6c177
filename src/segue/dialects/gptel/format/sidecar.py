"""The events of a session as lines of the journal without checkpoints, each with number and checksum."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from segue.errors import Damage
from segue.formats.journal import BadLineError, Checkpoint, decode_line, decode_plain
from segue.model import Metadata

if TYPE_CHECKING:
    from segue.model import Event

_LINES = 512
"""How many lines are decoded at once, if all of them are plain."""

_RECORD = re.compile(rb',"sum":"[0-9a-f]{8}\+?"\}')


class Sidecar(NamedTuple):
    """What can be read of the lines, and what cannot."""

    events: list[Event]
    damages: list[Damage]
    complete: int
    """The offset after the last complete append."""


def read_sidecar(data: bytes, session_id: str, place: str) -> Sidecar:
    reader = _Reader(place)
    lines = data.split(b"\n")
    rest = lines.pop()
    for first in range(0, len(lines), _LINES):
        reader.take(lines[first : first + _LINES])
    reader.finish(rest)
    events = reader.events
    if events and isinstance(events[0], Metadata):
        if events[0].session_id != session_id:  # a copy of a session is a session of its own
            events[0] = replace(events[0], session_id=session_id)
    elif data and not reader.damages:
        reader.damages.append(Damage(f"{place} line 1", "the session does not begin with its metadata", line=1))
    return Sidecar(events, reader.damages, reader.complete)


class _Reader:
    def __init__(self, place: str) -> None:
        self.events: list[Event] = []
        self.damages: list[Damage] = []
        self.complete = 0
        self._place = place
        self._line = 0
        self._offset = 0
        self._seq = 0
        self._gap = False
        self._unfinished: list[Event] = []

    def take(self, lines: list[bytes]) -> None:
        if not self._unfinished and not self._gap:
            block = b"\n".join([*lines, b""])
            plain = decode_plain(block, self._seq)
            if plain is not None and plain.checkpoint is None:
                self.events += plain.events
                self._seq = plain.events[-1].seq
                self._line += len(lines)
                self._offset += len(block)
                self.complete = self._offset
                return
        for line in lines:
            self._line += 1
            self._take_one(line)
            self._offset += len(line) + 1
            if not self._unfinished:
                self.complete = self._offset

    def finish(self, rest: bytes) -> None:
        """Take the rest after the last newline: an append that never completed, or a newline that was overwritten."""
        for found in _RECORD.finditer(rest):
            if found.end() < len(rest) and _is_record(rest[: found.end()]):
                self._line += 1
                self._damage("other bytes follow the record where its line should end", len(rest))
                self._flush()
                self.complete = self._offset + len(rest)
                return

    def _take_one(self, line: bytes) -> None:
        try:
            record, is_numbered, continues = decode_line(line)
            if not is_numbered or isinstance(record, Checkpoint):
                raise BadLineError("it has no number and no checksum")
            if record.seq <= self._seq:
                raise BadLineError(f"event {record.seq} comes after event {self._seq}")
        except BadLineError as error:
            self._damage(str(error), len(line))
            self._flush()
            self._gap = True
            return
        if record.seq > self._seq + 1 and not self._gap:
            self._damage(f"events are missing before event {record.seq}", len(line))
        self._gap = False
        self._seq = record.seq
        self._unfinished.append(record)
        if not continues:
            self._flush()

    def _flush(self) -> None:
        self.events += self._unfinished
        self._unfinished = []

    def _damage(self, reason: str, size_bytes: int) -> None:
        place = f"{self._place} line {self._line}"
        self.damages.append(Damage(place, reason, line=self._line, offset=self._offset, size_bytes=size_bytes))


def _is_record(line: bytes) -> bool:
    try:
        return decode_line(line).numbered
    except BadLineError:
        return False

"""Parses the bytes of a journal into events, and reports every damage with its place. It knows nothing of files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from segue.errors import Damage
from segue.formats.journal import CONTINUED, BadLineError, Checkpoint, decode_line, decode_plain
from segue.model import Metadata, Overview

if TYPE_CHECKING:
    from segue.model import Event


class Parser:
    """Takes a journal in blocks of whole lines, then the rest after the last newline."""

    def __init__(self, session_id: str, place: str, *, seq: int = 0, offset: int = 0, midway: bool = False) -> None:
        self.session_id = session_id
        self.place = place
        self.events: list[Event] = []
        self.damages: list[Damage] = []
        self.checkpoint: Overview | None = None
        """The latest checkpoint so far."""
        self.seq = seq
        self.line = 0
        self.complete = offset
        """The offset after the last complete append."""
        self.is_open_ended = False
        """Whether the last line is complete but has no newline, as some editors and programs leave it."""
        self.has_foreign = False
        """Whether there are lines without a number, of another program or of an editor."""
        self._offset = offset
        self._unfinished: list[Event] = []  # of an append that continues in the next line
        self._gap = midway  # after a bad line, or when started midway, missing numbers are not reported again
        self._is_unnumbered = midway  # no number has been seen yet
        self.guessed = False
        """Whether lines without numbers came first, so that their numbers are only guesses."""

    def feed(self, block: bytes) -> None:
        start = 0
        while (self._unfinished or self._gap) and start < len(block):  # until an append begins again
            end = block.index(b"\n", start) + 1
            self._feed_lines(block[start:end])
            start = end
        last = _end_of_last_append(block)
        if start < last:
            self._feed_appends(block[start:last])
        self._feed_lines(block[max(start, last) :])

    def _feed_appends(self, block: bytes) -> None:
        """Take whole appends, all at once if they are plain."""
        if (plain := decode_plain(block, self.seq)) is None:
            self._feed_lines(block)
            return
        self.events += plain.events
        if plain.events:
            self.seq = plain.events[-1].seq
        if plain.checkpoint is not None:
            self.checkpoint = plain.checkpoint.overview
        self.line += plain.lines
        self._offset += len(block)
        self.complete = self._offset

    def _feed_lines(self, block: bytes) -> None:
        for line in block.split(b"\n")[:-1]:
            self.line += 1
            self._take(line)
            self._offset += len(line) + 1
            if not self._unfinished:
                self.complete = self._offset

    def finish(self, rest: bytes) -> None:
        """Take the bytes after the last newline: a line that lacks only that, or an append that never completed.

        A complete record with other bytes after it is neither: its newline was overwritten.
        """
        if rest and _is_whole(rest):
            self.line += 1
            self._take(rest)
            if not self._unfinished:
                self.complete = self._offset + len(rest)
                self.is_open_ended = True
        elif rest and _holds_a_record(rest):
            self.line += 1
            self._damage("other bytes follow the record where its line should end", len(rest))
            self._flush()  # the earlier lines of its append are complete
            self.complete = self._offset + len(rest)

    def _take(self, line: bytes) -> None:
        try:
            record, numbered, continues = decode_line(line)
        except BadLineError as error:
            self._damage(str(error), len(line))
            self._flush()
            self._gap = True
            return
        self.has_foreign = self.has_foreign or not numbered
        if isinstance(record, Checkpoint):
            if record.seq < self.seq:
                self._damage(f"a checkpoint of event {record.seq} comes after event {self.seq}", len(line))
            else:
                self._is_unnumbered = False
                self._check_gap(record.seq + 1, len(line))
                self.seq, self.checkpoint = record.seq, record.overview
            return
        self.guessed = self.guessed or (self._is_unnumbered and not numbered)
        self._is_unnumbered = False
        if not numbered:
            record = replace(record, seq=self.seq + 1, id=record.id or f"line-{self.seq + 1}")
        if record.seq <= self.seq:
            self._damage(f"event {record.seq} comes after event {self.seq}", len(line))
            return
        self._check_gap(record.seq, len(line))
        self.seq = record.seq
        self._unfinished.append(record)
        if not continues:
            self._flush()

    def _check_gap(self, seq: int, size_bytes: int) -> None:
        if seq > self.seq + 1 and not self._gap:
            missing = f"event {seq - 1} is" if seq == self.seq + 2 else f"events {self.seq + 1} to {seq - 1} are"
            self._damage(f"{missing} missing before this line", size_bytes)
        self._gap = False

    def _flush(self) -> None:
        self.events += self._unfinished
        self._unfinished = []

    def _damage(self, reason: str, size_bytes: int) -> None:
        place = f"{self.place} line {self.line}"
        self.damages.append(Damage(place, reason, line=self.line, offset=self._offset, size_bytes=size_bytes))

    def named(self) -> list[Event]:
        """The events, with the metadata first; rebuilt from a checkpoint if it was lost.

        The file name is the name of the session: a copy of a journal is a session of its own.
        """
        events = self.events
        first = events[0] if events else None
        if not isinstance(first, Metadata):
            if not self.damages:
                reason = (
                    "it is empty" if not events and self.line == 0 else "the session does not begin with its metadata"
                )
                self.damages.append(Damage(f"{self.place} line 1", reason, line=1))
            if self.checkpoint is None:
                return events
            known = self.checkpoint
            first = Metadata(
                session_id=self.session_id,
                agent=known.agent,
                created_at=known.created_at,
                status="active",
                version=known.version,
                id="line-1",
                seq=1,
            )
            return [first, *events]
        if first.session_id != self.session_id:
            return [replace(first, session_id=self.session_id), *events[1:]]
        return events


def _end_of_last_append(block: bytes) -> int:
    """The offset after the last line that no other line of its append follows."""
    end = len(block)
    while block.endswith(CONTINUED, 0, end):
        end = block.rfind(b"\n", 0, end - 1) + 1
    return end


def _is_whole(rest: bytes) -> bool:
    """Whether the line is complete: a part of a JSON object is not a JSON object."""
    try:
        decode_line(rest)
    except BadLineError:
        return False
    return True


def _holds_a_record(rest: bytes) -> bool:
    """Whether it starts with a complete record, followed by other bytes."""
    end = rest.find(b',"sum":"')
    while end >= 0:
        for size in (18, 19):
            if end + size < len(rest) and rest[end + size - 1 : end + size] == b"}":
                try:
                    return decode_line(rest[: end + size]).numbered
                except BadLineError:
                    pass
        end = rest.find(b',"sum":"', end + 1)
    return False

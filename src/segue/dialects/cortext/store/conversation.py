"""One conversation, open for reading: whole, from its end, or its head for a listing. It never writes and never waits.

A writer may be at work. It appends to messages.jsonl before it replaces session.json, and so session.json is read
first: what it speaks of is there. Anything odd is believed only if session.json is still the same afterwards.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from segue.dialects.cortext.format import (
    MESSAGES,
    SESSION,
    CortextDocument,
    ParsedConversation,
    are_plain_lines,
    decode_message,
    decode_plain_turns,
    read,
    restore_document,
    split_id,
)
from segue.durable.snapshot import read_signature
from segue.errors import DamagedError, SessionNotFoundError
from segue.formats.file_tail import read_last_turns
from segue.formats.records import BadRecordError, parse_json
from segue.formats.sealed.seal import is_sealed
from segue.model import apply_turns, head_of

if TYPE_CHECKING:
    from segue.durable.folder import Folder
    from segue.model import Head, Turn

_TRIES = 20
_END_BYTES = 4096
"""How much of the end of messages.jsonl is checked before it is trusted, unless its last line is longer."""


class ConversationEnd(NamedTuple):
    """What a writer must know to append."""

    document: CortextDocument
    complete: int
    """The offset in messages.jsonl after the last complete append."""
    is_recorded: bool
    """Whether session.json contains all of this."""
    is_ours: bool
    """Whether every byte of session.json is as we wrote it."""
    reading: ParsedConversation | None = None
    """The result of reading everything, if that was necessary."""


class ConversationFiles:
    def __init__(self, folder: Folder, session_id: str) -> None:
        self.folder = folder
        self.session_id = session_id
        self.size = 0
        """The size of messages.jsonl when it was last read."""
        self.data = b""
        """The bytes of session.json at that time, and its signature."""
        self.signature: tuple[int, ...] = ()

    def read(self) -> ParsedConversation:
        reading = self._read()
        for _ in range(_TRIES):
            is_malformed = reading.damages or reading.complete < self.size
            if not is_malformed or read_signature(self.folder, SESSION) == self.signature:
                break
            reading = self._read()
        return reading

    def sound(self) -> ParsedConversation:
        """The whole conversation. Raises DamagedError if anything is damaged."""
        reading = self.read()
        if reading.damages or reading.document is None:
            raise DamagedError(self.session_id, reading.damages)
        return reading

    def end(self) -> ConversationEnd:
        """The state after the last append. Raises DamagedError if the end cannot be trusted."""
        self._read_session()
        quick = self._quick()
        if quick is not None:
            return quick
        reading = self.sound()
        assert reading.document is not None  # noqa: S101 - otherwise it would be damaged
        return ConversationEnd(reading.document, reading.complete, reading.is_recorded, is_sealed(self.data), reading)

    def tail(self, count: int, branch: str | None) -> tuple[Turn, ...]:
        end = self.end()
        overview = end.document.overview
        name = branch or overview.branch
        if end.reading is None:
            fd = self.folder.open(MESSAGES)
            try:
                with self.folder.storage_errors(MESSAGES, "read"):
                    found = read_last_turns(
                        _Bytes(self.folder, fd), end.complete, overview, name, count, decode_plain_turns
                    )
            finally:
                self.folder.close(fd)
            if found is not None:
                return found
        session = (end.reading or self.sound()).session
        assert session is not None  # noqa: S101 - otherwise it would be damaged
        return session.tail(count, branch=branch)

    def head(self) -> Head | str:
        """The head as recorded in the files, or the reason why they cannot be read."""
        reading = self.read()
        if reading.document is None:
            return str(reading.damages[0])
        head = head_of(reading.document.overview)
        return replace(head, damage=str(reading.damages[0])) if reading.damages else head

    def _read(self) -> ParsedConversation:
        self._read_session()
        try:
            messages = self.folder.read(MESSAGES)
        except FileNotFoundError:
            messages = b""
        self.size = len(messages)
        return read(self.data, messages, self.session_id)

    def _read_session(self) -> None:
        self.signature = read_signature(self.folder, SESSION)
        try:
            self.data = self.folder.read(SESSION)
        except FileNotFoundError:
            raise SessionNotFoundError(self.session_id, self.folder.path) from None

    def _quick(self) -> ConversationEnd | None:
        """The end, if session.json is as we wrote it and messages.jsonl ends there or with more of our lines."""
        if not is_sealed(self.data):
            return None
        try:
            found = parse_json(self.data)
        except BadRecordError:
            return None
        if not isinstance(found, dict):
            return None
        document = restore_document(found, self.session_id, split_id(self.session_id)[1])
        if document is None:
            return None
        try:
            fd = self.folder.open(MESSAGES)
        except FileNotFoundError:
            return None
        try:
            with self.folder.storage_errors(MESSAGES, "read"):
                self.size = os.fstat(fd).st_size
                start, data = _end_of(_Bytes(self.folder, fd), document.size, self.size)
        finally:
            self.folder.close(fd)
        more = turns_after(document, data, start)
        if more is None:
            return None
        if not more:
            return ConversationEnd(document, self.size, is_recorded=True, is_ours=True)
        overview = apply_turns(document.overview, more)
        return ConversationEnd(document.extended(more, overview, self.size), self.size, is_recorded=False, is_ours=True)


def turns_after(document: CortextDocument, data: bytes, start: int) -> list[Turn] | None:
    """The turns after those that the document accounts for, of the end of messages.jsonl; None if any is not plain."""
    known, more = data[: document.size - start], data[document.size - start :]
    if len(known) < document.size - start or (data and not data.endswith(b"\n")) or (known and known[-1:] != b"\n"):
        return None
    if start:
        known = known[known.find(b"\n") + 1 :]
    if not are_plain_lines(known):
        return None
    turns: list[Turn] = []
    for line in more.split(b"\n")[:-1]:
        try:
            turn, mark = decode_message(line)
        except BadRecordError:
            return None
        if mark or turn.seq != document.overview.seq + len(turns) + 1:
            return None
        turns.append(turn)
    return turns


def _end_of(read: _Bytes, accounted: int, size: int) -> tuple[int, bytes]:
    """Everything that is not accounted for, and before it a few kilobytes with at least one whole line."""
    window = _END_BYTES
    while True:
        start = max(0, accounted - window)
        data = read(size - start, start)
        if start == 0 or data.find(b"\n", 0, max(0, accounted - start - 1)) >= 0:
            return start, data
        window *= 8


class _Bytes:
    """Reads an open file; a single system call may return less than requested."""

    def __init__(self, folder: Folder, fd: int) -> None:
        self._folder = folder
        self._fd = fd

    def __call__(self, size: int, offset: int) -> bytes:
        end, pieces = offset + size, list[bytes]()
        while offset < end and (piece := self._folder.kernel.pread(self._fd, end - offset, offset)):
            pieces.append(piece)
            offset += len(piece)
        return b"".join(pieces)

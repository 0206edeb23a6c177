"""One journal, open for reading: whole, from its end, or its head for a listing. It never writes and never waits."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from segue.errors import DamagedError, SessionNotFoundError
from segue.formats.journal import CHECKPOINT, decode_overview, encode_overview
from segue.ids import check_id
from segue.model import Metadata, apply, fold, head_of, overview_of
from segue.stores.journal.known_ends import TAIL_BYTES, FileState, KnownEnd
from segue.stores.journal.parser import Parser
from segue.stores.journal.window import BLOCK, iter_blocks, last_turns, read_all, read_since

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType
    from typing import Self

    from segue.durable.folder import Folder
    from segue.model import Event, Head, Overview, Turn

SUFFIX = ".jsonl"
_FIRST_BYTES = 1 << 14


def journal_name(session_id: str) -> str:
    return check_id(session_id) + SUFFIX


class JournalEnd(NamedTuple):
    """What a writer must know to append, and the events that were read to find it."""

    overview: Overview
    complete: int
    """The offset after the last complete append."""
    since_checkpoint: int
    """Bytes appended since the last checkpoint."""
    checkpoint_size: int
    """Its bytes; 0 if there is none."""
    is_open_ended: bool
    """Whether the last line lacks its newline."""
    after: int
    events: list[Event]
    """All events with a seq greater than `after`."""
    continues: KnownEnd | None = None
    """What was known before, if only what follows it was read."""


class JournalFile:
    """A journal as it was when it was opened; later appends are not seen."""

    def __init__(self, folder: Folder, session_id: str, *, flags: int = os.O_RDONLY) -> None:
        self.session_id = session_id
        self._folder = folder
        self._name = journal_name(session_id)
        try:
            self._fd = folder.open(self._name, flags)
        except FileNotFoundError:
            raise SessionNotFoundError(session_id, folder.path) from None
        self._state = FileState.of(os.fstat(self._fd))
        self.size = self._state.size

    def parse(self) -> Parser:
        """Read and parse every line."""
        with self._folder.storage_errors(self._name, "read"):
            return read_all(self._read, self.session_id, self._name)

    def end(self, known: KnownEnd | None = None) -> JournalEnd:
        """The state after the last append. Raises DamagedError if the end cannot be trusted.

        If the file is as `known` or has grown since, only what is new is read.
        """
        if known is not None and (continued := self._end_since(known)) is not None:
            return continued
        with self._folder.storage_errors(self._name, "read"):
            since = read_since(self._read, self.size, self.session_id)
        if since is not None:
            end, now = since.parser.complete, apply(since.overview, *since.parser.events)
            return JournalEnd(
                now,
                end,
                end - since.start,
                since.checkpoint_size,
                since.parser.is_open_ended,
                since.overview.seq,
                since.parser.events,
            )
        parser = self.parse()
        events = parser.named()
        self._check(parser)
        overview = overview_of(fold(events))
        return JournalEnd(overview, parser.complete, parser.complete, 0, parser.is_open_ended, 0, events)

    def known_end(self, end: JournalEnd) -> KnownEnd | None:
        """What to remember of an end that was read from this file; None while its last append is not complete."""
        if end.complete != self.size or end.is_open_ended:
            return None
        is_settled = self._state.is_settled()
        if (known := end.continues) is not None and known.state == self._state:
            return known._replace(is_settled=is_settled)
        with self._folder.storage_errors(self._name, "read"):
            tail = self._read(TAIL_BYTES, max(0, self.size - TAIL_BYTES))
        data = encode_overview(end.overview)
        sizes = end.since_checkpoint, end.checkpoint_size
        return KnownEnd(self._state, data, end.overview.seq, *sizes, tail, is_settled)

    def tail(self, count: int, branch: str | None, end: JournalEnd) -> tuple[Turn, ...]:
        overview, complete, *_ = end
        name = branch or overview.branch
        if count < overview.get_branch(name).turn_count:  # all of them are read at once
            with self._folder.storage_errors(self._name, "read"):
                found = last_turns(self._read, complete, overview, name, count)
            if found is not None:
                return found
        parser = self.parse()
        session = fold(parser.named())
        self._check(parser)
        return session.tail(count, branch=branch)

    def events(self, after: int) -> list[Event]:
        if after:
            with self._folder.storage_errors(self._name, "read"):
                since = read_since(self._read, self.size, self.session_id, upto=after)
            if since is not None:
                return [event for event in since.parser.events if event.seq > after]
        parser = self.parse()
        events = parser.named()
        self._check(parser)
        return [event for event in events if event.seq > after] if after else events

    def iter_events(self) -> Iterator[Event]:
        """All events, read block by block as they are consumed. Raises DamagedError at the first damage."""
        parser = Parser(self.session_id, self._name)
        blocks = iter_blocks(self._read, size=_FIRST_BYTES)
        is_first, whole = True, True
        while whole:
            with self._folder.storage_errors(self._name, "read"):
                block, whole = next(blocks)
            if whole:
                parser.feed(block)
            else:
                parser.finish(block)
            if parser.events or not whole:
                events = parser.named() if is_first else parser.events
                is_first, parser.events = False, []
            else:
                events = []
            if parser.damages:
                parser = self.parse()  # to report every damage
                parser.named()
                self._check(parser)
            yield from events

    def head(self) -> Head | str:
        """The head as recorded in the file, or the reason why it cannot be read."""
        with self._folder.storage_errors(self._name, "read"):
            since = read_since(self._read, self.size, self.session_id)
        if since is not None:
            return head_of(apply(since.overview, *since.parser.events))
        parser = self.parse()
        events = parser.named()
        if not events or not isinstance(events[0], Metadata):
            return str(parser.damages[0])
        head = head_of(fold(events))
        return replace(head, damage=str(parser.damages[0])) if parser.damages else head

    def detach(self) -> int:
        """The open file, which the caller closes."""
        fd, self._fd = self._fd, -1
        return fd

    def close(self) -> None:
        if self._fd < 0:
            return
        self._folder.kernel.close(self._fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._folder.storage_errors(self._name, "close"):
            self.close()

    def _end_since(self, known: KnownEnd) -> JournalEnd | None:
        """The end, from what is known and what is new; None if the file may have changed in any other way."""
        before = known.state
        is_same = self._state == before
        has_grown = self._state[:2] == before[:2] and before.size < self.size <= before.size + BLOCK
        if not is_same and not has_grown:
            return None
        start = before.size - len(known.tail)
        with self._folder.storage_errors(self._name, "read"):
            data = self._read(self.size - start, start)
        if not data.startswith(known.tail) or (overview := decode_overview(known.overview)) is None:
            return None
        parser = Parser(self.session_id, "", seq=known.seq, offset=before.size)
        last = data.rfind(b"\n") + 1
        if last > len(known.tail):
            parser.feed(data[len(known.tail) : last])
        parser.finish(data[last:])
        if parser.damages or parser.has_foreign or parser.is_open_ended:
            return None
        since_checkpoint, size = known.since_checkpoint + parser.complete - before.size, known.checkpoint_size
        if parser.checkpoint is not None:
            at = data.rfind(b"\n" + CHECKPOINT, 0, last)
            end = data.find(b"\n", at + 1)
            since_checkpoint, size = parser.complete - (start + end + 1), end - at
        if parser.events:
            overview = apply(overview, *parser.events)
        is_open_ended, after, events = parser.is_open_ended, known.seq, parser.events
        return JournalEnd(
            overview, parser.complete, since_checkpoint, size, is_open_ended, after, events, continues=known
        )

    def _read(self, size: int, offset: int) -> bytes:
        """Read, but not beyond the size at the time of opening, so that every result is of one moment."""
        end, pieces = min(offset + size, self.size), []
        # A read may return less than requested, and missing bytes would be taken for a torn end.
        while offset < end and (piece := self._folder.kernel.pread(self._fd, end - offset, offset)):
            pieces.append(piece)
            offset += len(piece)
        return b"".join(pieces)

    def _check(self, parser: Parser) -> None:
        if parser.damages:
            raise DamagedError(self.session_id, parser.damages)

"""One journal, open for reading: whole, from its end, or its head for a listing. It never writes and never waits."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from segue.errors import DamagedError, SessionNotFoundError
from segue.ids import check_id
from segue.model import Metadata, apply, fold, head_of, overview_of
from segue.stores.journal.parser import Parser
from segue.stores.journal.window import iter_blocks, last_turns, read_all, read_since

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
    """What a writer must know to append."""

    overview: Overview
    complete: int
    """The offset after the last complete append."""
    since_checkpoint: int
    """Bytes appended since the last checkpoint."""
    checkpoint_size: int
    """Its bytes; 0 if there is none."""
    is_open_ended: bool
    """Whether the last line lacks its newline."""


class JournalFile:
    """A journal as it was when it was opened; later appends are not seen."""

    def __init__(self, folder: Folder, session_id: str) -> None:
        self.session_id = session_id
        self._folder = folder
        self._name = journal_name(session_id)
        try:
            self._fd = folder.open(self._name)
        except FileNotFoundError:
            raise SessionNotFoundError(session_id, folder.path) from None
        self.size = os.fstat(self._fd).st_size

    def parse(self) -> Parser:
        """Read and parse every line."""
        with self._folder.storage_errors(self._name, "read"):
            return read_all(self._read, self.session_id, self._name)

    def end(self) -> JournalEnd:
        """The state after the last append. Raises DamagedError if the end cannot be trusted."""
        with self._folder.storage_errors(self._name, "read"):
            since = read_since(self._read, self.size, self.session_id)
        if since is not None:
            overview, parser, start, size = since
            now = apply(overview, *parser.events)
            return JournalEnd(now, parser.complete, parser.complete - start, size, parser.is_open_ended)
        parser = self.parse()
        events = parser.named()
        self._check(parser)
        return JournalEnd(overview_of(fold(events)), parser.complete, parser.complete, 0, parser.is_open_ended)

    def tail(self, count: int, branch: str | None) -> tuple[Turn, ...]:
        overview, complete, *_ = self.end()
        with self._folder.storage_errors(self._name, "read"):
            found = last_turns(self._read, complete, overview, branch or overview.branch, count)
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

    def close(self) -> None:
        self._folder.kernel.close(self._fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._folder.storage_errors(self._name, "close"):
            self.close()

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

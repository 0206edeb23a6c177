"""The store over a folder of journals. The files are the only truth; nothing else here needs to survive."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from segue.clock import utc_now
from segue.durable.file_store import FileStore, released_on_error
from segue.durable.kernel import KERNEL
from segue.durable.log import Log
from segue.durable.quarantine import QUARANTINE, set_aside
from segue.errors import (
    Damage,
    DamagedError,
    ReadOnlyError,
    SessionExistsError,
    StorageError,
    UsageError,
)
from segue.formats.journal import decode_overview, encode_append
from segue.model import Metadata, accept_first, fold
from segue.store import FORMAT_VERSION, WAIT_SECONDS, Durability, Examination, Recovery
from segue.stores.journal.file import JournalFile, journal_name
from segue.stores.journal.head_cache import JournalHeadCache
from segue.stores.journal.known_ends import KnownEnds
from segue.stores.journal.recovery import salvage_journal
from segue.stores.journal.writer import JournalWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from segue.durable.kernel import Kernel
    from segue.durable.lock import WriterLock
    from segue.model import Event, Overview, Session, Turn
    from segue.stores.journal.file import JournalEnd
    from segue.stores.journal.known_ends import KnownEnd


class JournalStore(FileStore):
    """See store.Store. One file per session; locks, fragments and blobs are in hidden folders next to them."""

    scheme = "journal"
    head_cache_type = JournalHeadCache
    syncs_always = False
    append_only = True

    def __init__(
        self,
        root: str,
        *,
        kernel: Kernel = KERNEL,
        clock: Callable[[], datetime] = utc_now,
        durability: Durability = Durability.SYNCED,
    ) -> None:
        super().__init__(root, kernel=kernel, clock=clock, durability=durability)
        self._seen = KnownEnds()
        self._written = KnownEnds()
        """With the recorded ids, which only a writer may change: what a reader sees may still be undone."""

    def create(self, session_id: str, events: Sequence[Event]) -> JournalWriter:
        name = journal_name(session_id)
        numbered, _, overview = accept_first(session_id, events)
        lock = self._lock_new(session_id)
        with released_on_error(lock.release):
            fd, temporary = self.folder.begin(encode_append(numbered), name)
            with released_on_error(partial(self.folder.kernel.close, fd)):
                try:
                    self.folder.publish(temporary, name)
                except FileExistsError:
                    raise SessionExistsError(session_id) from None
            log = Log(self.folder, name, fd)
        return self._writer(session_id, log, lock, overview, since_checkpoint=log.size)

    def open(self, session_id: str, *, timeout_seconds: float = WAIT_SECONDS) -> JournalWriter:
        lock = self._acquire(session_id, timeout_seconds)
        with released_on_error(lock.release):
            self.folder.make()
            self.folder.sync_if_changed()  # the process that created the session may have been killed before this
            known = self._written.take(session_id) or self._seen.get(session_id)
            with JournalFile(self.folder, session_id, flags=os.O_RDWR | os.O_APPEND) as file:
                end = file.end(known)
                if end.overview.version > FORMAT_VERSION:
                    raise ReadOnlyError(
                        f"session {session_id} was written by a newer version (format {end.overview.version})",
                        hint="it can be read; install a newer segue to write it",
                    )
                now_known = file.known_end(end)
                log = Log(self.folder, journal_name(session_id), file.detach())
            with released_on_error(log.close):
                if end.complete < log.size:
                    set_aside(self.folder.sub(QUARANTINE), session_id, log, end.complete)
                if end.is_open_ended:
                    log.append(b"\n", sync=self._durability >= Durability.SYNCED)
        sizes = {"since_checkpoint": end.since_checkpoint, "checkpoint_size": end.checkpoint_size}
        writer = self._writer(session_id, log, lock, end.overview, **sizes)
        writer.knows(now_known, end)
        return writer

    def load(self, session_id: str) -> Session:
        examination = self._examine(session_id)
        if examination.damages or examination.session is None:
            raise DamagedError(session_id, examination.damages)
        return examination.session

    def overview(self, session_id: str) -> Overview:
        known = self._seen.get_unchanged(session_id, self.path_of(session_id))
        overview = decode_overview(known.overview) if known is not None else None
        if overview is None:
            with JournalFile(self.folder, session_id) as file:
                overview = self._end(file).overview
        return self._with_liveness(overview)

    def tail(self, session_id: str, count: int, *, branch: str | None = None) -> tuple[Turn, ...]:
        with JournalFile(self.folder, session_id) as file:
            return file.tail(count, branch, self._end(file))

    def read(self, session_id: str, *, after: int = 0) -> Iterator[Event]:
        if after:
            known = self._seen.get_unchanged(session_id, self.path_of(session_id))
            if known is not None and known.seq <= after:
                return iter(())
            with JournalFile(self.folder, session_id) as file:
                end = self._end(file)
                events = end.events if end.after <= after else file.events(after)
            return iter([event for event in events if event.seq > after])
        self.revision(session_id)  # raises NotFoundError now, and not at the first event
        return self._read_all(session_id)

    def examine(self, session_id: str) -> Examination:
        try:
            return self._examine(session_id)
        except StorageError as error:
            return Examination(session=None, damages=(Damage(journal_name(session_id), str(error)),))

    def recover(self, session_id: str) -> Recovery:
        lock = self._acquire(session_id, 0.0)
        try:
            with JournalFile(self.folder, session_id) as file:
                parser = file.parse()
            if (events := parser.named()) and isinstance(events[0], Metadata) and events[0].version > FORMAT_VERSION:
                raise ReadOnlyError(f"session {session_id} was written by a newer version", hint="it can be read")
            if not parser.damages:
                raise UsageError(f"session {session_id} is not damaged", hint="there is nothing to recover")
            kept, original = salvage_journal(self.folder, journal_name(session_id), parser, now=self._clock())
        finally:
            lock.release()
        return Recovery(session=self.load(session_id), kept=kept, damages=tuple(parser.damages), original=original)

    def _read_all(self, session_id: str) -> Iterator[Event]:
        """Block by block: a caller that stops early has read no further."""
        with JournalFile(self.folder, session_id) as file:
            yield from file.iter_events()

    def close(self) -> None:
        super().close()
        self._seen.forget()
        self._written.forget()

    def _end(self, file: JournalFile) -> JournalEnd:
        """The end of a file, for readers: the next of them reads what is new."""
        end = file.end(self._seen.get(file.session_id))
        if (known := file.known_end(end)) is not None:
            self._seen.put(file.session_id, known)
        return end

    def _remember(self, session_id: str, known: KnownEnd) -> None:
        """Remember the end that a writer leaves."""
        self._written.put(session_id, known)
        self._seen.put(session_id, known._replace(recorded=None))

    def _writer(
        self,
        session_id: str,
        log: Log,
        lock: WriterLock,
        overview: Overview,
        *,
        since_checkpoint: int,
        checkpoint_size: int = 0,
    ) -> JournalWriter:
        return JournalWriter(
            log=log,
            lock=lock,
            overview=overview,
            since_checkpoint=since_checkpoint,
            checkpoint_size=checkpoint_size,
            durability=self._durability,
            blobs=self._blobs(session_id),
            history=partial(self.read, session_id),
            remember=partial(self._remember, session_id),
        )

    def _examine(self, session_id: str) -> Examination:
        with JournalFile(self.folder, session_id) as file:
            parser = file.parse()
        events = parser.named()
        is_session = bool(events) and isinstance(events[0], Metadata)
        return Examination(
            session=self._with_liveness(fold(events)) if is_session else None,
            damages=tuple(parser.damages),
            torn_bytes=max(0, file.size - parser.complete),
        )

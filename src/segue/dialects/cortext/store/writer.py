"""The writer of a conversation: turns are appended to messages.jsonl, then session.json is replaced.

Turns alone are recorded as soon as their lines are on the disk; session.json follows, so that a program that reads only
that file finds the right count and time. An append with other events is recorded when session.json is replaced, and its
lines are marked accordingly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.closing import Closing
from segue.dialects.cortext.format import encode_turns
from segue.durable.blobs import put_blob
from segue.errors import StorageError
from segue.formats.journal import fingerprint
from segue.model import Turn, accept
from segue.store import Durability, Receipt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from segue.dialects.cortext.format import CortextDocument
    from segue.durable.folder import Folder
    from segue.durable.lock import WriterLock
    from segue.durable.log import Log
    from segue.durable.snapshot import Snapshot
    from segue.model import Event, Overview


class CortextWriter(Closing):
    """See store.Writer."""

    def __init__(
        self,
        *,
        log: Log,
        snapshot: Snapshot,
        lock: WriterLock,
        document: CortextDocument,
        is_recorded: bool,
        is_open_ended: bool,
        blobs: Folder,
        history: Callable[[], Iterable[Event]],
    ) -> None:
        self._log = log
        self._snapshot = snapshot
        self._lock = lock
        self._document = document
        self._is_recorded = is_recorded
        self._is_open_ended = is_open_ended
        self._is_midway = False  # between writing the files and recording it here
        self._blobs = blobs
        self._history = history
        self._recorded: dict[str, tuple[int, int]] | None = None  # id -> seq, fingerprint

    @property
    def overview(self) -> Overview:
        return self._document.overview

    @property
    def branch(self) -> str:
        return self.overview.branch

    def append(self, *events: Event, ids_are_new: bool = False) -> Receipt:
        self._snapshot.check()  # before the mutex, which a thread of a forked parent may have held
        with self._log.lock:
            if self._is_midway:  # a Ctrl-C came in between
                self._log.stop()
            self._log.check()
            new, seqs, overview = accept(events, self.overview, {} if ids_are_new else self._recall(), fingerprint)
            if new:
                self.settle()
                self._write(new, overview)
            else:
                self._log.sync()  # a killed writer may have written them without a sync
            if self._recorded is not None:
                self._recorded |= {event.id: (event.seq, fingerprint(event)) for event in new}
            return Receipt(seqs=seqs, durability=Durability.SYNCED)

    def settle(self) -> None:
        """Record in session.json what a crash or another program left out, before anything is added to it."""
        if not self._is_recorded:
            self._snapshot.put(self._document.encode())
            self._is_recorded = True

    def put_blob(self, data: bytes) -> str:
        self._snapshot.check()
        self._log.check()
        return put_blob(self._blobs, data)

    def close(self) -> None:
        with self._log.lock:
            self._log.close()
            self._snapshot.stop()
            self._lock.release()

    def _recall(self) -> dict[str, tuple[int, int]]:
        """Every recorded id, read once, when a caller appends events with ids of its own."""
        if self._recorded is None:
            self._recorded = {event.id: (event.seq, fingerprint(event)) for event in self._history()}
        return self._recorded

    def _write(self, new: Sequence[Event], overview: Overview) -> None:
        turns = [event for event in new if isinstance(event, Turn)]
        is_mixed = len(turns) < len(new)
        lines = encode_turns(turns, until=overview.seq if is_mixed else None)
        before = self._log.size
        if lines and self._is_open_ended:
            lines = b"\n" + lines
        document = self._document.extended(new, overview, before + len(lines))
        data = document.encode()
        if lines:
            self._log.append(lines)
        self._is_midway = True
        try:
            self._snapshot.put(data, sync=is_mixed)
        except BaseException:
            self._take_back(before)
            self._is_midway = False
            raise
        self._document = document
        self._is_open_ended = self._is_open_ended and not lines
        self._is_midway = False

    def _take_back(self, size: int) -> None:
        """Undo lines whose session.json could not be replaced."""
        if self._log.size > size:
            try:
                self._log.truncate(size)
            except StorageError:
                self._log.stop("an append could not be undone")

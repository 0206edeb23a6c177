"""The writer of a journal. An append: number, encode, one write, one sync, acknowledge."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec.structs import replace

from segue.closing import Closing
from segue.durable.blobs import put_blob
from segue.errors import SegueError
from segue.formats.journal import encode_append, encode_checkpoint, encode_event, encode_overview, fingerprint
from segue.model import Turn, accept, apply, apply_turns, check_event
from segue.model.acceptance import copy_for_overview
from segue.store import Durability, Receipt
from segue.stores.journal.known_ends import TAIL_BYTES, FileState, KnownEnd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from segue.durable.folder import Folder
    from segue.durable.lock import WriterLock
    from segue.durable.log import Log
    from segue.model import Event, Overview
    from segue.stores.journal.file import JournalEnd
    from segue.stores.journal.known_ends import Recorded

CHECKPOINT_EVERY_BYTES = 4096
"""So that the last 8 KB of nearly every journal contain all that a listing or a writer needs."""

CHECKPOINT_SHARE = 4
"""A large checkpoint is due only after this many times its size was appended since the last one."""


def _due_after(size: int) -> int:
    """After how many bytes the next checkpoint is due, if the last one has this size."""
    return max(CHECKPOINT_EVERY_BYTES, CHECKPOINT_SHARE * size)


class JournalWriter(Closing):
    """See store.Writer."""

    def __init__(
        self,
        *,
        log: Log,
        lock: WriterLock,
        overview: Overview,
        since_checkpoint: int,
        checkpoint_size: int,
        durability: Durability,
        blobs: Folder,
        history: Callable[[], Iterable[Event]],
        remember: Callable[[KnownEnd], None],
    ) -> None:
        self._log = log
        self._lock = lock
        self._overview = overview
        self._uncounted: list[Turn] = []  # recorded, and not in the overview yet: counted on demand
        self._accounted = log.size
        self._since_checkpoint = since_checkpoint
        self._checkpoint_size = checkpoint_size
        self._checkpoint_due = _due_after(checkpoint_size)
        self._durability = durability
        self._is_synced = durability >= Durability.SYNCED
        self._blobs = blobs
        self._history = history
        self._recorded: Recorded = {}  # once _complete
        self._complete = False
        self._remember = remember
        self._opened: KnownEnd | None = None
        self._has_failed = False  # in any way: then nothing that is known here is remembered

    def knows(self, opened: KnownEnd | None, end: JournalEnd) -> None:
        """Take over what is known about the journal from the writer before, which spares reading the recorded ids."""
        self._opened = opened
        if end.continues is not None and (recorded := end.continues.recorded) is not None:
            recorded.update({event.id: (event.seq, fingerprint(event)) for event in end.events})
            self._recorded, self._complete = recorded, True

    @property
    def overview(self) -> Overview:
        with self._log.lock:
            return self._counted()

    @property
    def branch(self) -> str:
        return self._overview.branch

    def append(self, *events: Event, ids_are_new: bool = False) -> Receipt:
        with self._log.lock:
            if self._log.size != self._accounted:  # a Ctrl-C came between the write and our record of it
                self._log.stop()
            self._has_failed, had_failed = True, self._has_failed
            if ids_are_new and len(events) == 1 and isinstance(turn := events[0], Turn):
                receipt = self._append_turn(turn)
            else:
                receipt = self._append_all(events, ids_are_new=ids_are_new)
            self._has_failed = had_failed
            return receipt

    def _append_turn(self, turn: Turn) -> Receipt:
        """The fast path for one new turn, which is nearly every append of a conversation."""
        check_event(turn, self._overview)
        turn = replace(turn, seq=self._overview.seq + len(self._uncounted) + 1)
        line = encode_event(turn)
        size = self._since_checkpoint + len(line)
        if size >= self._checkpoint_due:
            self._write(line, apply(self._counted(), turn))
        else:
            self._log.append(line, sync=self._is_synced)
            self._since_checkpoint = size
            self._uncounted.append(turn)
            self._accounted = self._log.size
        if self._complete:
            self._recorded[turn.id] = (turn.seq, fingerprint(turn))
        return Receipt(seqs=(turn.seq,), durability=self._durability)

    def _append_all(self, events: tuple[Event, ...], *, ids_are_new: bool) -> Receipt:
        recorded = self._recorded if ids_are_new else self._recall()
        new, seqs, overview = accept(events, self._counted(), recorded, fingerprint, copy=copy_for_overview)
        if new:
            self._write(encode_append(new), overview)
        else:
            self._log.check()
            if self._is_synced:
                self._log.sync()  # a writer that was killed may have written them without a sync
        if self._complete:
            self._recorded |= {event.id: (event.seq, fingerprint(event)) for event in new}
        return Receipt(seqs=seqs, durability=self._durability)

    def _recall(self) -> Recorded:
        """Read every recorded id, once, when a caller appends events with ids of its own."""
        if not self._complete:
            self._recorded = {event.id: (event.seq, fingerprint(event)) for event in self._history()}
            self._complete = True
        return self._recorded

    def _counted(self) -> Overview:
        if self._uncounted:
            self._overview = apply_turns(self._overview, self._uncounted)
            self._uncounted = []
        return self._overview

    def _write(self, lines: bytes, overview: Overview) -> None:
        leaving = overview.status not in {self._overview.status, "active"}
        if leaving or self._since_checkpoint + len(lines) >= self._checkpoint_due:
            checkpoint = encode_checkpoint(overview)
            self._log.append(lines + checkpoint, sync=self._is_synced)
            self._checkpoint_size = len(checkpoint)
            self._checkpoint_due = _due_after(len(checkpoint))
            self._since_checkpoint = 0
        else:
            self._log.append(lines, sync=self._is_synced)
            self._since_checkpoint += len(lines)
        self._overview = overview
        self._accounted = self._log.size

    def put_blob(self, data: bytes) -> str:
        self._log.check()
        return put_blob(self._blobs, data)

    def close(self) -> None:
        with self._log.lock:
            if self._log.fd >= 0 and not self._has_failed and self._log.size == self._accounted:
                with suppress(SegueError, OSError):
                    self._remember_end()  # while we hold the lock
            self._log.close()
            self._lock.release()

    def _remember_end(self) -> None:
        known, state = self._opened, FileState.of(os.fstat(self._log.fd))
        if known is None or known.state != state:
            overview = self._counted()
            tail = self._log.read(max(0, state.size - TAIL_BYTES))
            sizes = self._since_checkpoint, self._checkpoint_size
            known = KnownEnd(state, encode_overview(overview), overview.seq, *sizes, tail)
        if state.size == self._log.size:
            self._remember(known._replace(recorded=self._recorded if self._complete else None))

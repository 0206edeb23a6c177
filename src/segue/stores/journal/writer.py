"""The one writer of a journal: number, encode, one write, one sync, acknowledge."""

from __future__ import annotations

import hashlib
from copy import deepcopy
from typing import TYPE_CHECKING

from msgspec.structs import replace

from segue.errors import ConflictError
from segue.formats.journal import encode_append, encode_checkpoint, encode_event, fingerprint
from segue.model import Turn, apply, check_event
from segue.store import Durability, Receipt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import TracebackType
    from typing import Self

    from segue.durable.folder import Folder
    from segue.durable.lock import WriterLock
    from segue.durable.log import Log
    from segue.model import Event, Overview

CHECKPOINT_EVERY_BYTES = 4096
"""So that the last 8 KB of nearly every journal say all that a listing or a writer needs."""

CHECKPOINT_SHARE = 4
"""A checkpoint is due when this many times its size was appended since the last one, however large it is by now."""


class JournalWriter:
    """See store.Writer."""

    def __init__(
        self,
        *,
        log: Log,
        lock: WriterLock,
        overview: Overview,
        since_checkpoint: int,
        durability: Durability,
        blobs: Folder,
        history: Callable[[], Iterable[Event]],
    ) -> None:
        self._log = log
        self._lock = lock
        self._overview = overview
        self._since_checkpoint = since_checkpoint
        self._checkpoint_size = 0
        self._durability = durability
        self._blobs = blobs
        self._history = history
        self._recorded: dict[str, tuple[int, int]] = {}  # id -> seq, fingerprint; once _complete
        self._complete = False

    @property
    def overview(self) -> Overview:
        return self._overview

    def append(self, *events: Event, fresh: bool = False) -> Receipt:
        with self._log.lock:
            if fresh and len(events) == 1:
                return self._append_one(events[0])
            return self._append_all(events, fresh=fresh)

    def _append_one(self, event: Event) -> Receipt:
        """The path of every turn of a conversation."""
        overview = self._overview
        check_event(event, overview)
        event = _own(event, overview.seq + 1)
        self._write(encode_event(event), apply(overview, event))
        if self._complete:
            self._recorded[event.id] = (event.seq, fingerprint(event))
        return Receipt(seqs=(event.seq,), durability=self._durability)

    def _append_all(self, events: tuple[Event, ...], *, fresh: bool) -> Receipt:
        new, seqs = self._sort_out(events, fresh=fresh)
        overview = self._overview
        for event in new:
            check_event(event, overview)
            overview = apply(overview, event)
        if new:
            self._write(encode_append(new), overview)
        else:
            self._log.check()
            if self._durability >= Durability.SYNCED:
                self._log.sync()  # a writer that was killed may have written them without
        if self._complete:
            self._recorded |= {event.id: (event.seq, fingerprint(event)) for event in new}
        return Receipt(seqs=seqs, durability=self._durability)

    def _sort_out(self, events: tuple[Event, ...], *, fresh: bool) -> tuple[list[Event], tuple[int, ...]]:
        """Those of the events that are new, numbered, and the seq that each of all has or will have."""
        if not fresh:
            self._recall()
        new: list[Event] = []
        seqs: list[int] = []
        coming: dict[str, tuple[int, int]] = {}
        for event in events:
            known = self._recorded.get(event.id) or coming.get(event.id)
            if known is None:
                new.append(_own(event, self._overview.seq + len(new) + 1))
                coming[event.id] = known = (new[-1].seq, fingerprint(event))
            elif known[1] != fingerprint(event):
                raise ConflictError(f"session {self._overview.id} holds another event with the id {event.id}")
            seqs.append(known[0])
        return new, tuple(seqs)

    def _recall(self) -> None:
        """Learn every id there is, once, when somebody brings ids of their own."""
        if not self._complete:
            self._recorded = {event.id: (event.seq, fingerprint(event)) for event in self._history()}
            self._complete = True

    def _write(self, lines: bytes, overview: Overview) -> None:
        size = len(lines)
        due = max(CHECKPOINT_EVERY_BYTES, CHECKPOINT_SHARE * self._checkpoint_size)
        leaving = overview.status not in {self._overview.status, "active"}
        if self._since_checkpoint + size >= due or leaving:
            checkpoint = encode_checkpoint(overview)
            self._log.append(lines + checkpoint, sync=self._durability >= Durability.SYNCED)
            self._checkpoint_size, self._since_checkpoint = len(checkpoint), 0
        else:
            self._log.append(lines, sync=self._durability >= Durability.SYNCED)
            self._since_checkpoint += size
        self._overview = overview

    def put_blob(self, data: bytes) -> str:
        self._log.check()
        digest = hashlib.sha256(data).hexdigest()
        self._blobs.make()
        try:
            self._blobs.create(digest, data)
        except FileExistsError:
            if self._blobs.read(digest) != data:
                self._blobs.replace(digest, data)
            else:
                self._blobs.sync()  # a writer that was killed may have left its name unsynced
        return f"sha256:{digest}"

    def close(self) -> None:
        with self._log.lock:
            self._log.close()
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _own(event: Event, seq: int) -> Event:
    """The event with its number, as a value of ours: a later checkpoint repeats all but the turns."""
    return replace(event if isinstance(event, Turn) else deepcopy(event), seq=seq)

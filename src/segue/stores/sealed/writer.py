"""The writer of a sealed file. An append: number, render, replace the whole file, acknowledge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic

from segue.closing import Closing
from segue.durable.blobs import put_blob
from segue.model import accept, content_of
from segue.store import Durability, Receipt
from segue.stores.sealed.document import Written

if TYPE_CHECKING:
    from collections.abc import Callable

    from segue.durable.folder import Folder
    from segue.durable.lock import WriterLock
    from segue.durable.snapshot import Snapshot
    from segue.model import Event, Overview


class SealedWriter(Closing, Generic[Written]):
    """See store.Writer."""

    def __init__(
        self,
        *,
        snapshot: Snapshot,
        lock: WriterLock,
        document: Written,
        blobs: Folder,
        extend: Callable[[Written, list[Event], Overview], Written],
    ) -> None:
        self._snapshot = snapshot
        self._lock = lock
        self._document = document
        self._blobs = blobs
        self._extend = extend
        self._recorded = {event.id: (event.seq, content_of(event)) for event in document.events}

    @property
    def overview(self) -> Overview:
        return self._document.overview

    @property
    def branch(self) -> str:
        return self.overview.branch

    def append(self, *events: Event, ids_are_new: bool = False) -> Receipt:  # noqa: ARG002 - every id is in memory
        self._snapshot.check()  # before its mutex, which a thread of a forked parent may have held
        with self._snapshot.lock:
            new, seqs, overview = accept(events, self.overview, self._recorded, content_of)
            if new:
                document = self._extend(self._document, new, overview)
                self._snapshot.put(document.encode())
                self._document = document
                self._recorded |= {event.id: (event.seq, content_of(event)) for event in new}
            return Receipt(seqs=seqs, durability=Durability.SYNCED)

    def put_blob(self, data: bytes) -> str:
        self._snapshot.check()
        return put_blob(self._blobs, data)

    def close(self) -> None:
        self._snapshot.stop()
        self._lock.release()

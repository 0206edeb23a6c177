"""The store over a folder of Soleur's files. Files are the truth; everything else here can be lost."""

from __future__ import annotations

import hashlib
from copy import deepcopy
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

from msgspec.structs import replace

from segue.clock import utc_now
from segue.durable.blobs import put_blob
from segue.durable.kernel import KERNEL, Kernel
from segue.durable.shelf import Shelf, keep_original, released_on_error
from segue.durable.snapshot import Snapshot, signature_of
from segue.errors import (
    Damage,
    DamagedError,
    NotFoundError,
    ReadOnlyError,
    SessionExistsError,
    StorageError,
    UsageError,
)
from segue.formats.soleur import LAYOUT_VERSION, Document, Reading, begin, read
from segue.model import check_beginning, fold
from segue.store import FORMAT_VERSION, WAIT_SECONDS, Capabilities, Durability, Examination, Recovery
from segue.stores.soleur.listing import SoleurListing
from segue.stores.soleur.writer import SoleurWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from segue.durable.lock import WriterLock
    from segue.model import Event, Overview, Session, Turn


class SoleurStore(Shelf):
    """See store.Store. One file a session, replaced whole by every append; locks and blobs beside them.

    A file that is replaced unsynced could be lost whole, so every append is synced, whatever durability is asked for.
    """

    scheme = "soleur"
    listing_type = SoleurListing

    def __init__(self, root: str, *, kernel: Kernel = KERNEL, clock: Callable[[], datetime] = utc_now) -> None:
        super().__init__(root, kernel=kernel, clock=clock)

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(durability=Durability.SYNCED, shared=True, can_be_damaged=True)

    @staticmethod
    def new_id(label: str, now: datetime, entropy: bytes) -> str:  # noqa: ARG004 - as Soleur names its sessions
        return str(UUID(bytes=entropy[:16], version=4))

    def create(self, session_id: str, events: Sequence[Event]) -> SoleurWriter:
        name = self._file_name(session_id)
        check_beginning(session_id, events)
        numbered = [replace(deepcopy(event), seq=seq) for seq, event in enumerate(events, start=1)]
        document = begin(session_id, numbered)
        data = document.encode()
        lock = self._claim(session_id)
        with released_on_error(lock.release):
            try:
                self.folder.create(name, data)
            except FileExistsError:
                raise SessionExistsError(session_id) from None
            return self._writer(session_id, lock, document, data, signature_of(self.folder, name))

    def open(self, session_id: str, *, timeout_seconds: float = WAIT_SECONDS) -> SoleurWriter:
        lock = self._acquire(session_id, timeout_seconds)
        with released_on_error(lock.release):
            self.folder.make()
            self.folder.sync()  # whoever wrote the session may have been killed before this
            signature = signature_of(self.folder, self._file_name(session_id))
            data = self._read(session_id)
            reading = self._understand(session_id, data)
            document = _sound(session_id, reading)
            _check_version(session_id, document)
            self._keep_context(session_id, reading)
            return self._writer(session_id, lock, document, data, signature)

    def load(self, session_id: str) -> Session:
        return self._concluded(fold(self._document(session_id).events))

    def overview(self, session_id: str) -> Overview:
        return self._concluded(self._document(session_id).overview)

    def tail(self, session_id: str, count: int, *, branch: str | None = None) -> tuple[Turn, ...]:
        if count < 0:
            raise UsageError(f"cannot give the last {count} turns")
        session = self.load(session_id)
        path = session.path(branch or session.branch)
        return path[max(0, len(path) - count) :]

    def read(self, session_id: str, *, after: int = 0) -> Iterator[Event]:
        return (event for event in self._document(session_id).events if event.seq > after)

    def get_blob(self, session_id: str, name: str) -> bytes:
        try:
            return super().get_blob(session_id, name)
        except NotFoundError:
            context = self._understand(session_id, self._read(session_id)).context
            if context and name == f"sha256:{hashlib.sha256(context).hexdigest()}":
                return context  # another program put it in the file itself
            raise

    def examine(self, session_id: str) -> Examination:
        try:
            reading = self._understand(session_id, self._read(session_id))
        except StorageError as error:
            return Examination(session=None, damages=(Damage(self._file_name(session_id), str(error)),))
        session = fold(reading.document.events) if reading.document is not None else None
        return Examination(session=session and self._concluded(session), damages=reading.damages)

    def recover(self, session_id: str) -> Recovery:
        name = self._file_name(session_id)
        lock = self._acquire(session_id, 0.0)
        try:
            reading = self._understand(session_id, self._read(session_id))
            document = reading.document
            if document is not None:
                _check_version(session_id, document)
            if not reading.damages:
                raise UsageError(f"session {session_id} is not damaged", hint="there is nothing to recover")
            if document is None:
                raise DamagedError(session_id, reading.damages)
            self._keep_context(session_id, reading)
            original = keep_original(self.folder, name)
            self.folder.replace(name, document.renumbered().encode())
        finally:
            lock.release()
        return Recovery(
            session=self.load(session_id),
            kept=len(document.records),
            damages=reading.damages,
            original=self.folder.path_of(original),
        )

    def _writer(
        self, session_id: str, lock: WriterLock, document: Document, data: bytes, signature: tuple[int, ...]
    ) -> SoleurWriter:
        snapshot = Snapshot(self.folder, self._file_name(session_id), data, signature)
        return SoleurWriter(
            snapshot=snapshot,
            lock=lock,
            document=document,
            blobs=self._blobs(session_id),
            get_blob=partial(self.get_blob, session_id),
        )

    def _keep_context(self, session_id: str, reading: Reading) -> None:
        """What another program put in the file itself is a blob as soon as the file is ours to write."""
        if reading.context:
            put_blob(self._blobs(session_id), reading.context)

    def _read(self, session_id: str) -> bytes:
        try:
            return self.folder.read(self._file_name(session_id))
        except FileNotFoundError:
            raise self._missing(session_id) from None

    def _understand(self, session_id: str, data: bytes) -> Reading:
        return read(data, session_id, self._file_name(session_id))

    def _document(self, session_id: str) -> Document:
        return _sound(session_id, self._understand(session_id, self._read(session_id)))


def _sound(session_id: str, reading: Reading) -> Document:
    if reading.damages or reading.document is None:
        raise DamagedError(session_id, reading.damages)
    return reading.document


def _check_version(session_id: str, document: Document) -> None:
    if document.overview.version > FORMAT_VERSION or document.version > LAYOUT_VERSION:
        raise ReadOnlyError(
            f"session {session_id} was written by a newer version",
            hint="it can be read; install a newer segue to write it",
        )

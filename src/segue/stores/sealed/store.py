"""The store over a folder of sealed files. The files are the only truth; nothing else here needs to survive."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Generic

from segue.durable.file_store import FileStore, keep_original, released_on_error
from segue.durable.snapshot import Snapshot, read_signature
from segue.errors import Damage, DamagedError, ReadOnlyError, SessionExistsError, StorageError, UsageError
from segue.model import accept_first, fold
from segue.store import FORMAT_VERSION, WAIT_SECONDS, Examination, Recovery
from segue.stores.sealed.document import Written
from segue.stores.sealed.writer import SealedWriter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import ClassVar

    from segue.durable.lock import WriterLock
    from segue.model import Event, Overview, Session, Turn
    from segue.stores.sealed.document import ParsedFile


class SealedStore(FileStore, Generic[Written]):
    """See store.Store. One file per session, replaced whole by every append; locks and blobs are next to them."""

    layout_version: ClassVar[int]
    """The version of the layout that this code writes; a file of a newer one can be read but not written."""

    @abstractmethod
    def _begin(self, session_id: str, events: Sequence[Event]) -> Written:
        """The file of a new session with these events."""

    @abstractmethod
    def _parse(self, session_id: str, data: bytes) -> ParsedFile[Written]:
        """Parse a file."""

    @abstractmethod
    def _extend(self, document: Written, events: Sequence[Event], overview: Overview) -> Written:
        """The file with more events; `overview` is the session after them."""

    def _settle(self, session_id: str, reading: ParsedFile[Written]) -> None:
        """Prepare a file that another program may have written, before we write it."""

    def create(self, session_id: str, events: Sequence[Event]) -> SealedWriter[Written]:
        name = self._file_name(session_id)
        document = self._begin(session_id, accept_first(session_id, events).new)
        data = document.encode()
        lock = self._lock_new(session_id)
        with released_on_error(lock.release):
            try:
                self.folder.create(name, data)
            except FileExistsError:
                raise SessionExistsError(session_id) from None
            return self._writer(session_id, lock, document, data, read_signature(self.folder, name))

    def open(self, session_id: str, *, timeout_seconds: float = WAIT_SECONDS) -> SealedWriter[Written]:
        lock = self._acquire(session_id, timeout_seconds)
        with released_on_error(lock.release):
            self.folder.make()
            self.folder.sync()  # the process that wrote the session may have been killed before this
            signature = read_signature(self.folder, self._file_name(session_id))
            data = self._read(session_id)
            reading = self._parse(session_id, data)
            document = _sound(session_id, reading)
            self._check_version(document)
            self._settle(session_id, reading)
            return self._writer(session_id, lock, document, data, signature)

    def load(self, session_id: str) -> Session:
        return self._with_liveness(fold(self._document(session_id).events))

    def overview(self, session_id: str) -> Overview:
        return self._with_liveness(self._document(session_id).overview)

    def tail(self, session_id: str, count: int, *, branch: str | None = None) -> tuple[Turn, ...]:
        return self.load(session_id).tail(count, branch=branch)

    def read(self, session_id: str, *, after: int = 0) -> Iterator[Event]:
        return (event for event in self._document(session_id).events if event.seq > after)

    def examine(self, session_id: str) -> Examination:
        try:
            reading = self._parse(session_id, self._read(session_id))
        except StorageError as error:
            return Examination(session=None, damages=(Damage(self._file_name(session_id), str(error)),))
        session = fold(reading.document.events) if reading.document is not None else None
        return Examination(session=session and self._with_liveness(session), damages=reading.damages)

    def recover(self, session_id: str) -> Recovery:
        name = self._file_name(session_id)
        lock = self._acquire(session_id, 0.0)
        try:
            reading = self._parse(session_id, self._read(session_id))
            document = reading.document
            if document is not None:
                self._check_version(document)
            if not reading.damages:
                raise UsageError(f"session {session_id} is not damaged", hint="there is nothing to recover")
            if document is None:
                raise DamagedError(session_id, reading.damages)
            self._settle(session_id, reading)
            original = keep_original(self.folder, name)
            self.folder.replace(name, document.renumbered().encode())
        finally:
            lock.release()
        return Recovery(
            session=self.load(session_id),
            kept=len(document.events),
            damages=reading.damages,
            original=self.folder.path_of(original),
        )

    def _writer(
        self, session_id: str, lock: WriterLock, document: Written, data: bytes, signature: tuple[int, ...]
    ) -> SealedWriter[Written]:
        snapshot = Snapshot(self.folder, self._file_name(session_id), data, signature)
        return SealedWriter(
            snapshot=snapshot,
            lock=lock,
            document=document,
            blobs=self._blobs(session_id),
            extend=self._extend,
        )

    def _read(self, session_id: str) -> bytes:
        try:
            return self.folder.read(self._file_name(session_id))
        except FileNotFoundError:
            raise self._not_found(session_id) from None

    def _document(self, session_id: str) -> Written:
        return _sound(session_id, self._parse(session_id, self._read(session_id)))

    def _check_version(self, document: Written) -> None:
        if document.overview.version > FORMAT_VERSION or document.version > self.layout_version:
            raise ReadOnlyError(
                f"session {document.overview.id} was written by a newer version",
                hint="it can be read; install a newer segue to write it",
            )


def _sound(session_id: str, reading: ParsedFile[Written]) -> Written:
    if reading.damages or reading.document is None:
        raise DamagedError(session_id, reading.damages)
    return reading.document

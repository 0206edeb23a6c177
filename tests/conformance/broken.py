"""Journal stores with one planted fault each, and the chapter of the suite that must notice it."""

from __future__ import annotations

import errno
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from msgspec.structs import replace

from segue.durable.folder import Folder
from segue.durable.lock import WriterLock
from segue.durable.trash import FileTrash
from segue.errors import Damage, DamagedError, NotFoundError, SegueError
from segue.formats.journal import BadLineError, Checkpoint, decode_line
from segue.model import Record, StatusChanged, Turn, Unknown, fold
from segue.store import WAIT_SECONDS, Durability, Examination, Owner, Receipt, Recovery
from segue.stores.journal import JournalStore
from segue.stores.journal.writer import JournalWriter
from segue.testing import conformance as chapters
from segue.testing.events import metadata
from segue.testing.harness_journal import JournalHarness
from tests.support.answering_store import ReferenceQueries

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.durable.log import Log
    from segue.model import Event, Head, Overview, Session
    from segue.queries import Filters, ListedSession


class Faulty(JournalStore):
    """Has a writer of its own kind."""

    writer_type: type[JournalWriter] = JournalWriter

    def _writer(self, session_id: str, log: Log, lock: WriterLock, overview: Overview, **sizes: int) -> JournalWriter:
        writer = super()._writer(session_id, log, lock, overview, **sizes)
        writer.__class__ = self.writer_type
        return writer


class ForgetfulWriter(JournalWriter):
    def append(self, *events: Event, ids_are_new: bool = False) -> Receipt:
        kept = (
            super().append(*events[:-1], ids_are_new=ids_are_new)
            if len(events) > 1
            else super().append(*events, ids_are_new=ids_are_new)
        )
        missing = len(events) - len(kept.seqs)
        return Receipt(seqs=(*kept.seqs, *[kept.seqs[-1] + 1] * missing), durability=kept.durability)


class ForgetsTheLastEvent(Faulty):
    writer_type = ForgetfulWriter


class HalfHeartedWriter(JournalWriter):
    def append(self, *events: Event, ids_are_new: bool = False) -> Receipt:
        receipts = [super(HalfHeartedWriter, self).append(event, ids_are_new=ids_are_new) for event in events]
        seqs = tuple(receipt.seqs[0] for receipt in receipts)
        return Receipt(seqs=seqs, durability=self._durability)


class RecordsHalfAnAppend(Faulty):
    writer_type = HalfHeartedWriter


class ReorderingWriter(JournalWriter):
    def append(self, *events: Event, ids_are_new: bool = False) -> Receipt:
        receipt = super().append(
            *sorted(events, key=lambda event: getattr(event, "timestamp", 0)), ids_are_new=ids_are_new
        )
        return Receipt(seqs=tuple(sorted(receipt.seqs)), durability=receipt.durability)


class OrdersByTheClock(Faulty):
    writer_type = ReorderingWriter


class DoublingWriter(JournalWriter):
    def append(self, *events: Event, ids_are_new: bool = False) -> Receipt:  # noqa: ARG002 - believes that all are
        return super().append(*events, ids_are_new=True)


class DoublesOnRetry(Faulty):
    writer_type = DoublingWriter


class HastyWriter(JournalWriter):
    def append(self, *events: Event, ids_are_new: bool = False) -> Receipt:
        self._is_synced = False
        return super().append(*events, ids_are_new=ids_are_new)


class AcknowledgesBeforeSync(Faulty):
    writer_type = HastyWriter


class BoastingWriter(JournalWriter):
    def append(self, *events: Event, ids_are_new: bool = False) -> Receipt:
        receipt = super().append(*events, ids_are_new=ids_are_new)
        return Receipt(seqs=receipt.seqs, durability=Durability.REPLICATED)


class PromisesTooMuch(Faulty):
    writer_type = BoastingWriter


class StubbornWriter(JournalWriter):
    def append(self, *events: Event, ids_are_new: bool = False) -> Receipt:
        try:
            return super().append(*events, ids_are_new=ids_are_new)
        except SegueError:
            self._log._stopped = ""
            raise


class GoesOnAfterAFailedSync(Faulty):
    writer_type = StubbornWriter


class DroppingWriter(JournalWriter):
    def append(self, *events: Event, ids_are_new: bool = False) -> Receipt:
        return super().append(
            *[e if isinstance(e, Unknown) else replace(e, extra={}) for e in events], ids_are_new=ids_are_new
        )


class DropsUnknownFields(Faulty):
    writer_type = DroppingWriter


class DeletesByPrefix(JournalStore):
    def delete(self, session_id: str, *, revision: str | None = None) -> None:
        super().delete(session_id, revision=revision)
        for other in list(self.ids()):
            if other.startswith(session_id):
                super().delete(other)


class CreatesOnOpen(JournalStore):
    def open(self, session_id: str, *, timeout_seconds: float = WAIT_SECONDS) -> JournalWriter:
        try:
            return super().open(session_id, timeout_seconds=timeout_seconds)
        except NotFoundError:
            return self.create(session_id, [metadata(session_id)])


class WritesOnRead(JournalStore):
    def load(self, session_id: str) -> Session:
        session = super().load(session_id)
        self.folder.replace(".last", session_id.encode())
        return session


class GuessesTheRevision(JournalStore):
    def revision(self, session_id: str) -> str:
        return f"{self._stat(session_id).st_size // 1000}"


class ForgetsBranches(JournalStore):
    def tail(self, session_id: str, count: int, *, branch: str | None = None) -> tuple[Turn, ...]:
        found = tuple(event for event in self.read(session_id) if isinstance(event, Turn))
        chosen = tuple(turn for turn in found if turn.branch == (branch or self.load(session_id).branch))
        return chosen[max(0, len(chosen) - count) :]


class ListsOnlyTheReadable(JournalStore):
    def heads(self) -> Iterator[Head]:
        return (head for head in super().heads() if not head.damage)


class ListsFromMemory(JournalStore):
    _first: list[Head] | None = None

    def heads(self) -> Iterator[Head]:
        if self._first is None:
            self._first = list(super().heads())
        return iter(self._first)


class RecordsTheInterruption(JournalStore):
    def load(self, session_id: str) -> Session:
        session = super().load(session_id)
        if session.status == "interrupted" and self.owner(session_id) is None:
            with self.open(session_id) as writer:
                writer.append(StatusChanged(status="interrupted", timestamp=self._clock(), id=secrets.token_hex(8)))
        return session


class NeverConcludes(JournalStore):
    def examine(self, session_id: str) -> Examination:
        examination = super().examine(session_id)
        return replace(examination, session=fold(self.read(session_id)) if not examination.damages else None)


class SkipsTheLock(JournalStore):
    def _try_acquire(self, session_id: str, timeout_seconds: float) -> WriterLock | Owner:
        name = f"{session_id}.{secrets.token_hex(4)}.lock"
        return WriterLock.acquire(self._locks, name, timeout_seconds=timeout_seconds, since=self._clock())


class AsksByTakingTheLock(JournalStore):
    def owner(self, session_id: str) -> Owner | None:
        found = super().owner(session_id)
        lock = self._try_acquire(session_id, 0.0) if found is None and self._locks.exists() else None
        if isinstance(lock, WriterLock):
            lock.release()
        return found


class LetsErrorsOfTheSystemThrough(JournalStore):
    def open(self, session_id: str, *, timeout_seconds: float = WAIT_SECONDS) -> JournalWriter:
        try:
            return super().open(session_id, timeout_seconds=timeout_seconds)
        except SegueError as error:
            raise OSError(errno.EBUSY, str(error)) from error


class SplitsWithSplitlines(JournalStore):
    def read(self, session_id: str, *, after: int = 0) -> Iterator[Event]:
        self.revision(session_id)
        text = self.folder.read(f"{session_id}.jsonl").decode()
        try:
            records = [decode_line(line.encode()).record for line in text.splitlines()]
        except BadLineError as error:
            raise DamagedError(session_id, [Damage(session_id, str(error))]) from None
        return iter([record for record in records if not isinstance(record, Checkpoint) and record.seq > after])


class SwallowsDamage(JournalStore):
    def examine(self, session_id: str) -> Examination:
        return replace(super().examine(session_id), damages=())


class RecoversInPlace(JournalStore):
    def recover(self, session_id: str) -> Recovery:
        recovery = super().recover(session_id)
        Path(recovery.original).unlink()
        return recovery


class ForgetsTheTitleWhenReopened(JournalStore):
    def open(self, session_id: str, *, timeout_seconds: float = WAIT_SECONDS) -> JournalWriter:
        writer = super().open(session_id, timeout_seconds=timeout_seconds)
        writer._overview = replace(writer._overview, title="")
        return writer


class WritesToNewerVersions(JournalStore):
    def open(self, session_id: str, *, timeout_seconds: float = WAIT_SECONDS) -> JournalWriter:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("segue.stores.journal.store.FORMAT_VERSION", 2**31)
            return super().open(session_id, timeout_seconds=timeout_seconds)


class BelievesItsBlobs(JournalStore):
    def get_blob(self, session_id: str, name: str) -> bytes:
        try:
            return super().get_blob(session_id, name)
        except DamagedError:
            return self._blobs(session_id).read(name.removeprefix("sha256:"))


class LeavesBlobsBehind(JournalStore):
    def delete(self, session_id: str, *, revision: str | None = None) -> None:
        moved = f"{self.folder.path}/.away"
        blobs = self._blobs(session_id)
        if blobs.exists():
            self.folder.kernel.rename(blobs.path, moved)
        super().delete(session_id, revision=revision)
        if Folder(moved).exists():
            self.folder.kernel.rename(moved, blobs.path)


class Shredder(FileTrash):
    def put(self, session_id: str, *, revision: str | None = None) -> str:
        key = super().put(session_id, revision=revision)
        self.erase(key)
        return key


class ShredsWhatIsTrashed(Faulty):
    @property
    def trash(self) -> FileTrash | None:
        self._trash.__class__ = Shredder
        return self._trash


class ForgetsTheNamesOfRecords(JournalStore):
    """Its overview is that of the events since the last checkpoint."""

    def overview(self, session_id: str) -> Overview:
        overview = super().overview(session_id)
        since = list(self.read(session_id, after=max(0, overview.seq - 30)))
        return replace(overview, records={name: one for name, one in overview.records.items() if one in since})


class KeepsWhatWasRemoved(JournalStore):
    def overview(self, session_id: str) -> Overview:
        overview = super().overview(session_id)
        named = {event.name: event for event in self.read(session_id) if isinstance(event, Record) and event.name}
        return replace(overview, records=named)


class CountsRecordsAsTurns(JournalStore):
    def tail(self, session_id: str, count: int, *, branch: str | None = None) -> tuple[Turn, ...]:
        wanted = branch or self.overview(session_id).branch
        spoken = [one for one in self.read(session_id) if isinstance(one, Turn | Record)]
        last = spoken[max(0, len(spoken) - count) :]
        return tuple(one for one in last if isinstance(one, Turn) and one.branch == wanted)


class Case(NamedTuple):
    store: type[JournalStore]
    chapter: type[chapters.Chapter]


class CarelessQueries(ReferenceQueries):
    def list(self, filters: Filters, limit: int | None = None) -> Iterator[ListedSession]:
        return super().list(replace(filters, agent=None, status=None), limit)


class ListsWhatDoesNotMatch(JournalStore):
    @property
    def queries(self) -> CarelessQueries:  # type: ignore[override]
        return CarelessQueries(self)


CASES = (
    Case(DeletesByPrefix, chapters.IdentityChapter),
    Case(CreatesOnOpen, chapters.IdentityChapter),
    Case(ForgetsTheLastEvent, chapters.AppendChapter),
    Case(RecordsHalfAnAppend, chapters.AppendChapter),
    Case(DoublesOnRetry, chapters.AppendChapter),
    Case(OrdersByTheClock, chapters.OrderChapter),
    Case(WritesOnRead, chapters.ReadingChapter),
    Case(GuessesTheRevision, chapters.ReadingChapter),
    Case(ForgetsBranches, chapters.BranchesChapter),
    Case(ListsOnlyTheReadable, chapters.ListingChapter),
    Case(ListsFromMemory, chapters.ListingChapter),
    Case(ListsWhatDoesNotMatch, chapters.QueriesChapter),
    Case(ForgetsTheNamesOfRecords, chapters.RecordsChapter),
    Case(KeepsWhatWasRemoved, chapters.RecordsChapter),
    Case(CountsRecordsAsTurns, chapters.RecordsChapter),
    Case(RecordsTheInterruption, chapters.LifecycleChapter),
    Case(NeverConcludes, chapters.LifecycleChapter),
    Case(SkipsTheLock, chapters.LocksChapter),
    Case(AsksByTakingTheLock, chapters.LocksChapter),
    Case(LetsErrorsOfTheSystemThrough, chapters.ErrorsChapter),
    Case(GoesOnAfterAFailedSync, chapters.ErrorsChapter),
    Case(SplitsWithSplitlines, chapters.TextChapter),
    Case(SwallowsDamage, chapters.DamageChapter),
    Case(RecoversInPlace, chapters.DamageChapter),
    Case(ForgetsTheTitleWhenReopened, chapters.ReopeningChapter),
    Case(DropsUnknownFields, chapters.UnknownDataChapter),
    Case(WritesToNewerVersions, chapters.VersionsChapter),
    Case(AcknowledgesBeforeSync, chapters.DurabilityChapter),
    Case(PromisesTooMuch, chapters.DurabilityChapter),
    Case(BelievesItsBlobs, chapters.BlobsChapter),
    Case(LeavesBlobsBehind, chapters.BlobsChapter),
    Case(ShredsWhatIsTrashed, chapters.TrashChapter),
)


def harness_type(store_type: type[JournalStore]) -> type[JournalHarness]:
    return type(f"{store_type.__name__}Harness", (JournalHarness,), {"store_type": store_type})

"""The index: follows its sources by reading what has changed, answers from what it knows, and may be lost at any time.

It is never the truth. A catalog that is broken, of another make, or gone is made anew; one that somebody else is
writing is used as it is; where there is no place for a file, it lives in memory. Every answer is of one moment.
"""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from segue.clock import booted_at, utc_now
from segue.errors import DamagedError, NotFoundError, SegueError, StorageError, unforeseen
from segue.index.database import BROKEN, PATIENCE_SECONDS, Database, has_no_place, is_busy
from segue.index.entry import Filters, SearchHit, conditions, entry_of, to_number
from segue.index.fts_query import expression
from segue.index.health import find_damage, is_due, note_check, sum_of
from segue.index.source import IndexedSession, IndexedText, ReadPosition
from segue.index.statements import query
from segue.model import EPOCH, Head

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from datetime import datetime
    from types import TracebackType
    from typing import Self

    from segue.durable.folder import Folder
    from segue.index.entry import IndexEntry
    from segue.index.source import SessionRef, Source

T = TypeVar("T")

BATCH = 200
"""Sessions in one transaction: what a crash costs, and how long others wait."""
BATCH_CHARACTERS = 16 << 20
"""And text: what memory holds of it."""
_LARGEST = 1 << 62
_BEGIN, _END = "\x02", "\x03"
_CLEAN = {0: " ", ord(_BEGIN): " ", ord(_END): " "}


class Refreshed(Struct, frozen=True, kw_only=True):
    """What following the sources came to."""

    seen: int = 0
    read: int = 0
    gone: int = 0
    failed: tuple[tuple[str, SegueError], ...] = ()
    """Sources that could not be looked at, and why; what was known of them is kept."""
    is_stale: bool = False
    """Whether somebody else was writing, so that the answers may be a moment old."""


class Index:
    """One file in a cache folder (None for memory alone)."""

    def __init__(
        self,
        folder: Folder | None,
        *,
        patience_seconds: float = PATIENCE_SECONDS,
        clock: Callable[[], datetime] = utc_now,
        notify: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`tell` hears why a broken one is made anew."""
        self._database = Database(folder, patience_seconds=patience_seconds, notify=notify)
        self._clock = clock
        self._followed: tuple[Sequence[Source], bool] = ((), False)

    @property
    def is_shared(self) -> bool:
        """Whether another catalog on the same folder sees what this one has read."""
        return self._database.is_shared

    def refresh(
        self, sources: Sequence[Source], *, words: bool = True, notify: Callable[[int], None] = lambda _: None
    ) -> Refreshed:
        """Read what is new or has changed since, forget what is gone; `tell` hears how many were read so far.

        Without `words` only what a listing shows is read, where a source can do so; a later search reads the rest.
        """
        self._followed = (sources, words)
        try:
            self._check_now_and_then()
            return self._refresh(sources, words, notify)
        except BROKEN as error:
            self._begin_again(error)
            return self._refresh(sources, words, notify)

    def note(self, source: Source, id: str) -> None:
        """Take up what a listing shows of a session that was just written; whatever stands in the way, it is no error.

        Whoever refreshes next makes it good.
        """
        with suppress(sqlite3.DatabaseError, SegueError):
            found = source.look(id)
            if found is None:
                self._forget(source, [id])
            else:
                self._take(source, [found], words=False)

    def erase(self, source: str, id: str) -> None:
        """Forget a session so that none of its text is left in the file; if that cannot be, begin a new file.

        What was removed before is gone already: a connection overwrites what it removes. Left are the words in the
        search index, which go when its parts are merged, and the log, which is cut off.
        """
        try:
            row = self._connection.execute(query("find"), (source, id)).fetchone()
            if row is not None:
                with self._connection:
                    self._connection.execute("BEGIN IMMEDIATE")
                    self._forget_pieces(row[0], everything=True)
                    self._connection.execute(query("forget_session"), (row[0],))
            self._connection.execute(query("merge_words"))
            is_blocked = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        except sqlite3.DatabaseError:
            is_blocked = True
        if is_blocked:
            self._database.make_anew()

    def entries(self, filters: Filters | None = None, *, limit: int | None = None) -> list[IndexEntry]:
        """The last active first."""
        condition, values = conditions(filters or Filters())
        statement = query("listed").format(filters=condition)
        most = _LARGEST if limit is None else min(limit, _LARGEST)
        return self._answer(lambda: [entry_of(row) for row in self._ask(statement, values | {"limit": most})])

    def search(
        self, text: str, filters: Filters | None = None, *, limit: int | None = 20, unfinished: bool = False
    ) -> list[SearchHit]:
        """The best first; each session once, with the place that matches best.

        The last word of an `unfinished` text stands for all that begins so. UsageError if there is no word in it.
        """
        words = expression(text, unfinished=unfinished)
        condition, values = conditions(filters or Filters(), pieces=True)
        statement = query("matches").format(filters=condition)
        values |= {"words": words, "limit": _LARGEST if limit is None else min(limit, _LARGEST)}
        return self._answer(lambda: self._hits(statement, values))

    def said(self, entry: IndexEntry, *, first: int = 0, branch: str = "", limit: int = 6) -> list[IndexedText]:
        """The last turns of a session, or those from a place on, as they were when it was read; in order."""
        statement = query("said").format(order="ASC" if first else "DESC")
        values = {"source": entry.source, "id": entry.id, "first": first, "branch": branch, "limit": limit}
        found = self._answer(lambda: [IndexedText(**row) for row in self._ask(statement, values)])
        return sorted(found, key=lambda piece: piece.seq)

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def _connection(self) -> sqlite3.Connection:
        return self._database.connection

    def _check_now_and_then(self) -> None:
        now = self._clock()
        if is_due(self._connection, now, booted_at()):
            if damage := find_damage(self._connection):
                self._database.make_anew(damage)
            note_check(self._connection, now)

    def _begin_again(self, error: Exception) -> None:
        if has_no_place(error):
            self._database.move_to_memory()
        else:
            self._database.make_anew(str(error))

    def _refresh(self, sources: Sequence[Source], words: bool, notify: Callable[[int], None]) -> Refreshed:  # noqa: FBT001
        seen = read = gone = 0
        failed: list[tuple[str, SegueError]] = []
        is_stale = False
        try:
            for source in sources:
                rows = self._connection.execute(query("known"), (source.name,))
                known = {id: (revision, is_read, is_active) for id, revision, is_read, is_active in rows}
                try:
                    found = list(source.scan())
                except SegueError as error:
                    failed.append((source.name, error))
                    continue
                except Exception as error:  # noqa: BLE001 - one odd place costs only itself
                    failed.append((source.name, DamagedError(source.name, [unforeseen(error, source.name)])))
                    continue
                seen += len(found)
                wanted = words or not source.can_preview
                changed = [one for one in found if _is_changed(source, one, known.get(one.id), words=wanted)]
                for at in range(0, len(changed), BATCH):
                    read += self._take(source, changed[at : at + BATCH], words=wanted)
                    notify(read)
                gone += self._forget(source, known.keys() - {one.id for one in found})
        except sqlite3.OperationalError as error:
            if not is_busy(error):
                raise
            is_stale = True
        return Refreshed(seen=seen, read=read, gone=gone, failed=tuple(failed), is_stale=is_stale)

    def _take(self, source: Source, found: Sequence[SessionRef], *, words: bool) -> int:
        """Read some sessions before each transaction, so that nobody waits for our reading."""
        records: list[tuple[SessionRef, IndexedSession]] = []
        gone: list[str] = []
        count = characters = 0
        for one in found:
            try:
                record = self._read(source, one.id, words=words)
            except NotFoundError:
                gone.append(one.id)
                continue
            records.append((one, record))
            characters += sum(len(piece.text) for piece in record.pieces)
            if characters >= BATCH_CHARACTERS:
                count += self._put_all(source, records, words=words)
                records, characters = [], 0
        self._forget(source, gone)
        return count + self._put_all(source, records, words=words)

    def _read(self, source: Source, id: str, *, words: bool) -> IndexedSession:
        known = self._mark(source.name, id)
        try:
            if not words and source.can_preview:
                return source.preview(id)
            return source.read(id, known=known)
        except NotFoundError:
            raise
        except Exception as error:  # noqa: BLE001 - one odd session costs only itself
            reason = str(error if isinstance(error, SegueError) else unforeseen(error, id))
            return IndexedSession(head=Head(id=id, created_at=EPOCH, updated_at=EPOCH, damage=reason))

    def _put_all(self, source: Source, records: Sequence[tuple[SessionRef, IndexedSession]], *, words: bool) -> int:
        is_read = words or not source.can_preview
        with self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            for one, record in records:
                self._put(source.name, one, record, is_read=is_read)
        return len(records)

    def _mark(self, source: str, id: str) -> ReadPosition | None:
        row = self._connection.execute(query("find"), (source, id)).fetchone()
        return None if row is None else ReadPosition(row[1], row[2])

    def _put(self, source: str, one: SessionRef, record: IndexedSession, *, is_read: bool) -> None:
        head = record.head
        # A preview does not change how far it was read.
        mark = record.mark if is_read else self._mark(source, one.id) or record.mark
        values = {
            "source": source,
            "id": one.id,
            "revision": one.revision,
            "is_read": int(is_read),
            "seq": mark.seq,
            "mark": mark.id,
            "tool": record.tool,
            "agent": head.agent,
            "title": head.title,
            "status": head.status,
            "branch": head.branch,
            "project": record.project,
            "folder": record.folder,
            "summary": record.summary,
            "handed_to": record.handed_to,
            "handed_from": record.handed_from,
            "tags": "".join(f"\n{tag}\n" for tag in head.tags),
            "turn_count": head.turn_count if record.is_counted else None,
            "created_at": to_number(head.created_at),
            "updated_at": to_number(head.updated_at),
            "damage": head.damage,
        }
        row = {name: _clean(value) for name, value in values.items()}
        (number,) = self._connection.execute(query("put"), {**row, "sum": sum_of(row.values())}).fetchone()
        if is_read:
            self._forget_pieces(number, everything=not record.is_rest)
            self._add_pieces(number, record.pieces)

    def _add_pieces(self, session: int, pieces: Iterable[IndexedText]) -> None:
        last = self._connection.execute(query("last_piece")).fetchone()[0]
        rows = (
            (session, one.kind, _clean(one.seq), _clean(one.branch), _clean(one.role), _clean(one.text))
            for one in pieces
        )
        self._connection.executemany(query("add_piece"), ((*row, sum_of(row)) for row in rows))
        self._connection.execute(query("index_pieces"), (session, last))

    def _forget(self, source: Source, ids: Collection[str]) -> int:
        if not ids:
            return 0
        with self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            for id in ids:
                row = self._connection.execute(query("find"), (source.name, id)).fetchone()
                if row is not None:
                    self._forget_pieces(row[0], everything=True)
                    self._connection.execute(query("forget_session"), (row[0],))
        return len(ids)

    def _forget_pieces(self, session: int, *, everything: bool) -> None:
        for name in ("forget_words", "forget_pieces"):
            self._connection.execute(query(name), (session, everything))

    def _hit(self, words: str, piece: int, matches: int) -> SearchHit:
        values = {"words": words, "piece": piece, "begin": _BEGIN, "end": _END}
        row = self._ask(query("shown"), values)[0]
        return SearchHit(
            entry=entry_of(row),
            kind=row["kind"],
            seq=row["seq"],
            branch=row["branch"],
            role=row["role"],
            snippet=_spans(row["snippet"]),
            matches=matches,
        )

    def _answer(self, ask: Callable[[], T]) -> T:
        """What is asked for; where the index is broken, of one made anew from the same sources."""
        try:
            return ask()
        except BROKEN as error:
            if is_busy(error):
                raise StorageError("the index is being written", hint="try again") from None
            self._begin_again(error)
        try:
            self._refresh(*self._followed, lambda _: None)
            return ask()
        except BROKEN as error:
            raise StorageError(f"the index cannot be made ({error})", hint="try again") from None

    def _hits(self, statement: str, values: dict[str, object]) -> list[SearchHit]:
        """In one read transaction, since these are several questions: others may write all the while."""
        self._connection.execute("BEGIN")
        try:
            found = self._ask(statement, values)
            return [self._hit(str(values["words"]), row["piece"], row["matches"]) for row in found]
        finally:
            self._connection.rollback()

    def _ask(self, statement: str, values: dict[str, object]) -> list[sqlite3.Row]:
        cursor = self._connection.cursor()
        cursor.row_factory = sqlite3.Row
        return cursor.execute(statement, values).fetchall()


def _is_changed(source: Source, one: SessionRef, known: tuple[str, bool, bool] | None, *, words: bool) -> bool:
    """An active session may have lost its writer, and then nothing in its files says so."""
    if known is None:
        return True
    revision, is_read, is_active = known
    if revision != one.revision or (words and not is_read):
        return True
    return is_active and not source.is_alive(one.id)


def _clean(value: object) -> object:
    """SQLite has no place for halves of characters and for large numbers, and the marks of a snippet must be ours."""
    if isinstance(value, int):
        return max(-_LARGEST, min(value, _LARGEST))
    if not isinstance(value, str):
        return value
    return value.encode("utf-8", "replace").decode().translate(_CLEAN)


def _spans(snippet: str) -> tuple[tuple[str, bool], ...]:
    first, *marked = snippet.split(_BEGIN)
    spans = [(first, False)]
    for piece in marked:
        found, _, rest = piece.partition(_END)
        spans += [(found, True), (rest, False)]
    return tuple((text, is_found) for text, is_found in spans if text)

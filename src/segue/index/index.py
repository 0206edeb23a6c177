"""The index: it reads what has changed in its sources, answers from its tables, and may be lost at any time.

It is never the truth. An index that is damaged, missing or of another version is rebuilt; one that another process is
writing is used as it is; where no file can be written, it is in memory. Each answer is of one moment.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from segue.clock import booted_at, utc_now
from segue.closing import Closing
from segue.errors import DamagedError, NotFoundError, SegueError, StorageError, unforeseen
from segue.formats.fts_query import fts_query
from segue.ids import short_ends, short_ids
from segue.index.answers import Answers
from segue.index.database import BROKEN, TIMEOUT_SECONDS, Database, is_busy, is_unwritable
from segue.index.entry import LARGEST, clean, to_microseconds
from segue.index.health import checksum, find_damage, is_check_due, record_check
from segue.index.refresh import RefreshResult, is_changed, scan
from segue.index.source import IndexedSession, ReadPosition
from segue.index.statements import query
from segue.model import EPOCH, Head, Usage, parse_usage
from segue.queries import Filters

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from datetime import datetime

    from segue.durable.folder import Folder
    from segue.index.entry import Copy, IndexEntry, SearchHit
    from segue.index.merging import MergedAnswers
    from segue.index.source import SessionRef, Source
    from segue.links import Links
    from segue.queries import IndexedText

T = TypeVar("T")

BATCH = 200
"""Sessions per transaction: this bounds what a crash costs, and how long other processes wait."""
BATCH_CHARACTERS = 16 << 20
"""Characters of text in memory at a time."""
_MANY = 2000
"""Ids from which reading all costs less than asking about each."""


class Index(Closing):
    """The index in a cache folder, or in memory if the folder is None.

    With `links`, sessions of one conversation are one entry; without them, every session is.
    """

    def __init__(
        self,
        folder: Folder | None,
        *,
        links: Links | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
        clock: Callable[[], datetime] = utc_now,
        notify: Callable[[str], None] = lambda _: None,
        sources: Sequence[Source] = (),
    ) -> None:
        """`notify` gets the reason when a damaged index is rebuilt.

        `sources` that answer by themselves are asked even before the first refresh.
        """
        self._database = Database(folder, timeout_seconds=timeout_seconds, notify=notify)
        self._clock = clock
        self._links = links
        self._sources: tuple[Sequence[Source], bool] = ((), False)
        self._answering = {source.name: source for source in sources if source.queries is not None}

    @property
    def is_shared(self) -> bool:
        """Whether another index on the same folder sees what this one has read."""
        return self._database.is_shared

    def refresh(
        self, sources: Sequence[Source], *, with_text: bool = True, notify: Callable[[int], None] = lambda _: None
    ) -> RefreshResult:
        """Read sessions that are new or have changed, and remove those that are gone.

        `notify` gets the number of sessions read so far. With `with_text=False`, only what a listing shows is read,
        where the source supports it; a later search reads the text.
        """
        self._sources = (sources, with_text)
        self._answering = {source.name: source for source in sources if source.queries is not None}
        try:
            self._check_regularly()
            return self._refresh(sources, with_text, notify)
        except BROKEN as error:
            self._rebuild(error)
            return self._refresh(sources, with_text, notify)

    def update(self, source: Source, id: str) -> None:
        """Index what a listing shows of a session that was just written.

        A failure is not an error: the next refresh repairs it.
        """
        if source.queries is not None:
            return
        with suppress(sqlite3.DatabaseError, SegueError):
            ref = source.find(id)
            if ref is None:
                self._remove(source, [id])
            else:
                self._read_sessions(source, [ref], with_text=False)

    def erase(self, source: str, id: str) -> None:
        """Remove a session so that none of its text is left in the file; if that fails, begin a new file.

        SQLite overwrites deleted rows. Words also remain in the search index until its segments are merged, and in
        the write-ahead log until it is truncated, so both are done here.
        """
        try:
            row = self._connection.execute(query("find"), (source, id)).fetchone()
            if row is not None:
                with self._connection:
                    self._connection.execute("BEGIN IMMEDIATE")
                    self._remove_texts(row[0], everything=True)
                    self._connection.execute(query("forget_session"), (row[0],))
            self._connection.execute(query("merge_words"))
            is_blocked = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        except sqlite3.DatabaseError:
            is_blocked = True
        if is_blocked:
            self._database.rebuild()

    def entries(self, filters: Filters | None = None, *, limit: int | None = None) -> list[IndexEntry]:
        """The conversations that match the filters, the last active first."""
        wanted, most = filters or Filters(), _limit(limit)
        if (merged := self._merged(wanted)) is not None:
            return merged.entries(wanted, most)
        return self._answer(lambda answers: answers.entries(wanted, most, answers.conversations(wanted)))

    def candidates(self, text: str, filters: Filters) -> list[IndexEntry]:
        """The conversations that a text may mean by an id or a name, the last active first; usually all of them.

        Sources that answer by themselves may have very many: of these, it is a bounded number.
        """
        if (merged := self._merged(filters)) is not None:
            return merged.candidates(text, filters)
        return self.entries(filters)

    def short_ids(self, ids: Collection[str], sources: Sequence[str]) -> dict[str, str]:
        """Each id, as short as it is still found among all sessions of these sources."""
        known = self._answer(lambda answers: answers.ids(sources)).union(ids)
        if self._answering:
            texts = {part for id in ids for part in (id, *short_ends(id))}
            for name, source in self._answering.items():
                if name in sources and source.queries is not None:
                    is_many = len(ids) > _MANY
                    known |= {ref.id for ref in source.scan()} if is_many else source.queries.near_ids(texts, 2)
        return short_ids(known, only=ids)

    def search(
        self,
        text: str,
        filters: Filters | None = None,
        *,
        limit: int | None = 20,
        unfinished: bool = False,
        turns_first: bool = False,
    ) -> list[SearchHit]:
        """The conversations that match, the best first, each with its best match.

        The last word of an `unfinished` text matches as a prefix. With `turns_first`, a turn is returned instead of a
        title if both match. UsageError if the text has no word.
        """
        words, most, wanted = fts_query(text, unfinished=unfinished), _limit(limit), filters or Filters()
        if (merged := self._merged(wanted)) is not None:
            return merged.hits(text, words, wanted, most, unfinished=unfinished, turns_first=turns_first)
        return self._answer(
            lambda answers: answers.hits(words, wanted, most, answers.conversations(wanted), turns_first=turns_first)
        )

    def count(self, text: str, filters: Filters | None = None, *, unfinished: bool = False) -> int:
        """How many conversations a search without a limit finds."""
        words, wanted = fts_query(text, unfinished=unfinished), filters or Filters()
        if (merged := self._merged(wanted)) is not None:
            return merged.count(text, words, wanted, unfinished=unfinished)
        return self._answer(lambda answers: answers.count(words, wanted, answers.conversations(wanted)))

    def turns(self, entry: IndexEntry | Copy, *, first: int = 0, branch: str = "", limit: int = 6) -> list[IndexedText]:
        """The last turns of a session, or those from `first` on, as they were indexed; in order."""
        if (source := self._answering.get(entry.source)) is not None and source.queries is not None:
            return list(source.queries.turns(entry.id, first=first, branch=branch, limit=limit))
        return self._answer(lambda answers: answers.turns(entry, first, branch, limit))

    def find_record(self, source: str, id: str, *, agent: str | None = None) -> list[tuple[str, int]]:
        """The sessions of a source that may have a record with this id, each with its seq, as of the last refresh."""
        return self._answer(lambda answers: answers.find_record(source, id, agent))

    def close(self) -> None:
        self._database.close()

    def _merged(self, filters: Filters) -> MergedAnswers | None:
        """The answers of the index and of other sources; None if the index alone has all."""
        if not self._answering:
            return None
        from segue.index.merging import MergedAnswers

        chosen = filters.sources or self._answering
        found = {name: one.queries for name, one in self._answering.items() if name in chosen and one.queries}
        return MergedAnswers(self._answer, found, self._links) if found else None

    @property
    def _connection(self) -> sqlite3.Connection:
        return self._database.connection

    def _check_regularly(self) -> None:
        now = self._clock()
        if is_check_due(self._connection, now, booted_at()):
            if damage := find_damage(self._connection):
                self._database.rebuild(damage)
            record_check(self._connection, now)

    def _rebuild(self, error: Exception) -> None:
        if is_unwritable(error):
            self._database.move_to_memory()
        else:
            self._database.rebuild(str(error))

    def _refresh(self, sources: Sequence[Source], with_text: bool, notify: Callable[[int], None]) -> RefreshResult:  # noqa: FBT001
        seen = read = gone = 0
        failed: list[tuple[str, SegueError]] = []
        is_stale = False
        try:
            for source in sources:
                rows = self._connection.execute(query("known"), (source.name,))
                known = {id: (revision, is_read, is_active) for id, revision, is_read, is_active in rows}
                try:
                    found = scan(source)
                except SegueError as error:
                    failed.append((source.name, error))
                    self._answering.pop(source.name, None)
                    continue
                except Exception as error:  # noqa: BLE001 - one broken source affects only itself
                    failed.append((source.name, DamagedError(source.name, [unforeseen(error, source.name)])))
                    continue
                seen += len(found)
                reads_text = with_text or not source.can_preview
                changed = [ref for ref in found if is_changed(source, ref, known.get(ref.id), with_text=reads_text)]
                for at in range(0, len(changed), BATCH):
                    read += self._read_sessions(source, changed[at : at + BATCH], with_text=reads_text)
                    notify(read)
                gone += self._remove(source, known.keys() - {ref.id for ref in found})
        except sqlite3.OperationalError as error:
            if not is_busy(error):
                raise
            is_stale = True
        return RefreshResult(seen=seen, read=read, gone=gone, failed=tuple(failed), is_stale=is_stale)

    def _read_sessions(self, source: Source, refs: Sequence[SessionRef], *, with_text: bool) -> int:
        """Read sessions before each transaction, so that no other process waits while we read."""
        batch: list[tuple[SessionRef, IndexedSession]] = []
        gone: list[str] = []
        count = characters = 0
        for ref in refs:
            try:
                session = self._read(source, ref.id, with_text=with_text)
            except NotFoundError:
                gone.append(ref.id)
                continue
            batch.append((ref, session))
            is_large = not isinstance(session.texts, tuple)
            characters += BATCH_CHARACTERS if is_large else sum(len(text.text) for text in session.texts)
            if characters >= BATCH_CHARACTERS:
                count += self._put_all(source, batch, with_text=with_text)
                batch, characters = [], 0
        self._remove(source, gone)
        return count + self._put_all(source, batch, with_text=with_text)

    def _read(self, source: Source, id: str, *, with_text: bool) -> IndexedSession:
        known = self._position(source.name, id)
        try:
            if not with_text and source.can_preview:
                return source.preview(id)
            return source.read(id, known=known)
        except NotFoundError:
            raise
        except Exception as error:  # noqa: BLE001 - one broken session affects only itself
            reason = str(error if isinstance(error, SegueError) else unforeseen(error, id))
            return IndexedSession(head=Head(id=id, created_at=EPOCH, updated_at=EPOCH, damage=reason))

    def _put_all(self, source: Source, batch: Sequence[tuple[SessionRef, IndexedSession]], *, with_text: bool) -> int:
        is_read = with_text or not source.can_preview
        with self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            for ref, session in batch:
                self._put(source.name, ref, session, is_read=is_read)
        return len(batch)

    def _position(self, source: str, id: str) -> ReadPosition | None:
        row = self._connection.execute(query("find"), (source, id)).fetchone()
        return None if row is None else ReadPosition(row[1], row[2])

    def _usage(self, source: str, id: str, session: IndexedSession) -> str:
        """The totals as JSON: those of the session, added to the known ones if it is an update."""
        if session.usage is not None and not session.is_update:
            return json.dumps(session.usage.as_json())
        row = self._connection.execute(query("find"), (source, id)).fetchone()
        known = parse_usage(json.loads(row[3])) if row is not None else Usage()
        return json.dumps((known + (session.usage or Usage())).as_json())

    def _put(self, source: str, ref: SessionRef, session: IndexedSession, *, is_read: bool) -> None:
        head = session.head
        # A preview does not change how far it was read.
        position = session.position if is_read else self._position(source, ref.id) or session.position
        values = {
            "source": source,
            "id": ref.id,
            "revision": ref.revision,
            "is_read": int(is_read),
            "seq": position.seq,
            "mark": position.id,
            "tool": session.tool,
            "agent": head.agent,
            "title": head.title,
            "status": head.status,
            "branch": head.branch,
            "project": session.project,
            "folder": session.folder,
            "summary": session.summary,
            "launch": session.launch,
            "tags": "".join(f"\n{tag}\n" for tag in head.tags),
            "turn_count": head.turn_count if session.is_counted else None,
            "git_branch": session.git_branch,
            "usage": self._usage(source, ref.id, session),
            "has_usage": int(session.usage is not None),
            "created_at": to_microseconds(head.created_at),
            "updated_at": to_microseconds(head.updated_at),
            "damage": head.damage,
        }
        row = {name: clean(value) for name, value in values.items()}
        (number,) = self._connection.execute(query("put"), {**row, "sum": checksum(row.values())}).fetchone()
        if is_read:
            self._remove_texts(number, everything=not session.is_update)
            self._add_texts(number, session.texts)
            rows = ((number, seq, clean(id)) for id, seq in session.records)
            self._connection.executemany(query("add_record"), ((*row, checksum(row)) for row in rows))

    def _add_texts(self, session: int, texts: Iterable[IndexedText]) -> None:
        last = self._connection.execute(query("last_piece")).fetchone()[0]
        rows = (
            (session, text.kind, *map(clean, (text.seq, text.turn, text.branch, text.role, text.text)))
            for text in texts
        )
        self._connection.executemany(query("add_piece"), ((*row, checksum(row)) for row in rows))
        self._connection.execute(query("index_pieces"), (session, last))

    def _remove(self, source: Source, ids: Collection[str]) -> int:
        if not ids:
            return 0
        with self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            for id in ids:
                row = self._connection.execute(query("find"), (source.name, id)).fetchone()
                if row is not None:
                    self._remove_texts(row[0], everything=True)
                    self._connection.execute(query("forget_session"), (row[0],))
        return len(ids)

    def _remove_texts(self, session: int, *, everything: bool) -> None:
        for name in ("forget_words", "forget_pieces", "forget_records"):
            self._connection.execute(query(name), (session, everything))

    def _answer(self, ask: Callable[[Answers], T]) -> T:
        """Ask the index; if it is damaged, rebuild it from the same sources and ask again."""
        try:
            return self._ask(ask)
        except BROKEN as error:
            if is_busy(error):
                raise StorageError("the index is being written", hint="try again") from None
            self._rebuild(error)
        try:
            self._refresh(*self._sources, lambda _: None)
            return self._ask(ask)
        except BROKEN as error:
            raise StorageError(f"the index cannot be built ({error})", hint="try again") from None

    def _ask(self, ask: Callable[[Answers], T]) -> T:
        """Run all queries of an answer in one read transaction, as other processes may write meanwhile."""
        self._connection.execute("BEGIN")
        try:
            return ask(Answers(self._connection, self._links))
        finally:
            self._connection.rollback()


def _limit(limit: int | None) -> int:
    return LARGEST if limit is None else min(limit, LARGEST)

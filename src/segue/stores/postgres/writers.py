"""The writers of a store: a session is created or taken over, its lease renewed while it is open, and released."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from segue.errors import ReadOnlyError, SegueError, SessionExistsError, SessionLockedError, StorageError
from segue.formats.journal import decode_overview, encode_event
from segue.ids import check_id
from segue.model import Turn, accept_first, parse_usage, total_usage
from segue.store import FORMAT_VERSION
from segue.stores.postgres.columns import event_columns, listed_columns
from segue.stores.postgres.failures import LostAnswerError
from segue.stores.postgres.lease import Heartbeat, forget, leave, leaving, new_claim
from segue.stores.postgres.reading import Sizes
from segue.stores.postgres.writer import PostgresWriter

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from segue.model import Event, Overview, Usage
    from segue.stores.postgres.ends import Ends
    from segue.stores.postgres.lease import Claim
    from segue.stores.postgres.migrations import Place
    from segue.stores.postgres.tables import Tables

_RELEASE_SECONDS = 1.0
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.005, 0.25
_PAGES_AT_ONCE = 10
"""How much of a session is indexed before it is the turn of the next one."""
_BEATS_PER_LEASE = 3
_MOST_INDEXED = 1000
_ATTEMPTS = 3
"""How often a session is created again when the answer was lost."""


class Writers:
    def __init__(self, tables: Tables, ends: Ends) -> None:
        self._tables = tables
        self._ends = ends
        self._indexed_at: dict[int, float] = {}  # by key: when its words were indexed last
        self._due: dict[int, int] = {}  # by key: the space of closed sessions whose words are to be indexed
        self._open: dict[UUID, PostgresWriter] = {}
        every = tables.address.lease_seconds / _BEATS_PER_LEASE
        self._heartbeat = Heartbeat(self._renew, every, name="segue-lease")
        self._indexer = Heartbeat(self._index_all, every, name="segue-words")

    def create(self, session_id: str, events: Sequence[Event]) -> PostgresWriter:
        check_id(session_id)
        numbered, _, overview = accept_first(session_id, events)
        place = self._tables.place_to_write(creates=True)
        claim = new_claim()
        usage = total_usage(event for event in numbered if isinstance(event, Turn))
        last = len(numbered) - 1
        bodies = [encode_event(event, continues=at < last) for at, event in enumerate(numbered)]
        values = {
            "id": session_id,
            "created_at": overview.created_at,
            "version": overview.version,
            "seq": overview.seq,
            **self._claim_values(place, claim),
            **listed_columns(overview, usage),
            **event_columns(numbered, bodies),
        }
        with leaving(claim):
            row = self._create(session_id, values, claim)
        if row is None:
            raise SessionExistsError(session_id)
        return self._writer(
            place, row, claim, overview, usage, sizes=Sizes(0, sum(map(len, bodies)), last + 1), unindexed=last + 1
        )

    def _create(self, session_id: str, values: dict[str, Any], claim: Claim) -> tuple[Any, ...] | None:
        """The key and the fence of the new session; None if there is one with this id."""
        doing, statement = f"create session {session_id}", self._tables.statements.create
        lost: LostAnswerError | None = None
        for _ in range(_ATTEMPTS):
            try:
                rows = self._tables.connections.execute(doing, statement, values, retry=False)
                if rows or lost is None:
                    return rows[0] if rows else None
                row = self._tables.find(session_id, must_exist=False)
                return (row.key, row.fence) if row is not None and row.holder.token == claim.token else None
            except LostAnswerError as error:
                # It may still be running. The same statement again waits for it, and one of the two finds the other.
                lost = error
            except StorageError as error:  # if an attempt was lost, nobody can be asked what became of it
                raise lost or error from None
        assert lost is not None  # noqa: S101 - every attempt was lost
        raise lost

    def open(self, session_id: str, timeout_seconds: float) -> PostgresWriter:
        self._tables.place_of(session_id)
        place = self._tables.place_to_write()
        claim = new_claim()
        with leaving(claim):
            key, fence, seq, usage, checkpoint, last, _ = self._take(session_id, place, claim, timeout_seconds)
        try:
            known = self._ends.known(session_id, key, seq, (checkpoint, last))
            overview = decode_overview(known.overview) if known is not None else None
            if known is not None and overview is not None:
                sizes = known.sizes
            else:
                overview, _, _, sizes = self._ends.read(session_id)
            row = key, fence, checkpoint
            return self._writer(place, row, claim, overview, parse_usage(usage), sizes=sizes)
        except BaseException:
            self._end_lease({"space": place.space, "key": key, "token": claim.token})
            raise

    def _take(self, session_id: str, place: Place, claim: Claim, timeout_seconds: float) -> tuple[Any, ...]:
        """Become the writer as soon as nobody else is: the key, the fence, the seq and the usage."""
        values = {"id": session_id, "version": FORMAT_VERSION, **self._claim_values(place, claim)}
        deadline, pause = time.monotonic() + timeout_seconds, _FIRST_PAUSE_SECONDS
        gone = [claim.token]  # if the answer is lost, the statement is repeated and meets itself
        while True:
            rows = self._tables.ask(f"open session {session_id}", self._tables.statements.take, **values, gone=gone)
            if rows:
                return rows[0]
            row = self._tables.find(session_id)
            if row.version > FORMAT_VERSION:
                raise ReadOnlyError(
                    f"session {session_id} was written by a newer version (format {row.version})",
                    hint="it can be read; install a newer segue to write it",
                )
            holder = row.holder
            if holder.is_leased and not holder.is_alive:
                gone += holder.gone
                continue
            if time.monotonic() >= deadline and holder.is_leased:
                raise SessionLockedError(session_id, pid=holder.pid, host=holder.host, since=holder.since)
            time.sleep(min(pause, max(deadline - time.monotonic(), _FIRST_PAUSE_SECONDS)))
            pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)

    def _writer(
        self,
        place: Place,
        row: Sequence[Any],
        claim: Claim,
        overview: Overview,
        usage: Usage,
        *,
        sizes: Sizes,
        unindexed: int = 0,
    ) -> PostgresWriter:
        writer = PostgresWriter(
            connections=self._tables.connections,
            statements=self._tables.statements,
            place=self._tables.url,
            space=place.space,
            key=row[0],
            fence=row[1],
            token=claim.token,
            lease_seconds=self._tables.address.lease_seconds,
            overview=overview,
            usage=usage,
            sizes=sizes,
            checkpoint_hash=row[2] if len(row) > 2 else None,  # noqa: PLR2004 - one that was created has none
            unindexed=unindexed,
            on_close=self._release,
        )
        self._heartbeat.start()
        self._indexer.start()
        self._open[writer.token] = writer
        return writer

    def _release(self, writer: PostgresWriter) -> None:
        """End the lease. If the server cannot be reached, it ends by itself, and the search reads what has no words."""
        self._heartbeat.stop()
        self._indexer.stop()
        self._open.pop(writer.token, None)
        if (known := writer.known_end) is not None and not writer.is_stopped:
            self._ends.remember(writer.overview.id, known)
        # Where the server has been waited for in vain already, it is not worth another wait.
        if self._end_lease(writer.values, seconds=_RELEASE_SECONDS if writer.is_stopped else None):
            with suppress(SegueError):
                self._index_closed(writer)

    def _end_lease(self, values: dict[str, Any], *, seconds: float | None = None) -> bool:
        """Whether the server could be told."""
        leave(values["token"])
        statement = self._tables.statements.release
        with suppress(SegueError):
            self._tables.connections.execute("release a session", statement, values, retry=True, seconds=seconds)
            forget(values["token"])
            return True
        return False

    def _index_all(self) -> None:
        """Called by a thread of its own: a session whose words have to wait delays no lease."""
        for writer in self._living():
            with suppress(SegueError):
                self._index(writer)
        while self._due:
            key, space = self._due.popitem()
            with suppress(SegueError):
                self._index_session(space, key)

    def _index(self, writer: PostgresWriter) -> None:
        """Add the words of what was recorded to the index. A search reads what is not there yet."""
        if writer.unindexed:
            writer.unindexed = 0
            self._index_session(writer.space, writer.key)

    def _index_closed(self, writer: PostgresWriter) -> None:
        """Index the words at once, or a little later by the indexer if the session was closed a moment ago already.

        A program that opens a session for each call would do it each time. If it ends before the indexer comes, a
        search finds the words all the same, and indexes them.
        """
        last = self._indexed_at.get(writer.key)
        if writer.unindexed and last is not None and time.monotonic() - last < self._indexer.every_seconds:
            self._due[writer.key] = writer.space
        else:
            self._index(writer)

    def forget_words(self) -> None:
        """Leave the words that are to be indexed to the next search."""
        self._due.clear()

    def _index_session(self, space: int, key: int) -> None:
        from segue.stores.postgres.indexing import index_words

        if len(self._indexed_at) >= _MOST_INDEXED:
            self._indexed_at.clear()
        self._indexed_at[key] = time.monotonic()
        index_words(self._tables, space, key, pages=_PAGES_AT_ONCE)

    def _living(self) -> list[PostgresWriter]:
        """The open writers of this process: a child must not keep alive what its parent had."""
        return [writer for writer in list(self._open.values()) if writer.pid == os.getpid()]

    def _renew(self) -> None:
        """Renew the leases of all writers; called by the heartbeat."""
        writers = self._living()
        for space in {writer.values["space"] for writer in writers}:
            values = {
                "space": space,
                "keys": [writer.key for writer in writers],
                "tokens": [writer.token for writer in writers],
                "lease": self._tables.address.lease_seconds,
            }
            with suppress(SegueError):  # the next beat tries again; what was lost meanwhile, the next append finds out
                self._tables.connections.execute(
                    "renew leases",
                    self._tables.statements.renew,
                    values,
                    retry=True,
                    seconds=self._tables.address.lease_seconds / _BEATS_PER_LEASE,
                )

    def _claim_values(self, place: Place, claim: Claim) -> dict[str, Any]:
        return {"space": place.space, "lease": self._tables.address.lease_seconds, **claim._asdict()}

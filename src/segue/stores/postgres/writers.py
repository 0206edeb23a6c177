"""The writers of a store: a session is created or taken over, its lease renewed while it is open, and released."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from segue.errors import ReadOnlyError, SegueError, SessionExistsError, SessionLockedError
from segue.formats.journal import encode_event
from segue.ids import check_id
from segue.model import Turn, accept_first, parse_usage, total_usage
from segue.store import FORMAT_VERSION
from segue.stores.postgres.columns import event_columns, listed_columns
from segue.stores.postgres.failures import LostAnswerError
from segue.stores.postgres.lease import Heartbeat, new_claim
from segue.stores.postgres.writer import PostgresWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from uuid import UUID

    from segue.model import Event, Overview, Usage
    from segue.stores.postgres.lease import Claim, Holder
    from segue.stores.postgres.migrations import Place
    from segue.stores.postgres.tables import Tables

_RELEASE_SECONDS = 1.0
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.005, 0.25
_PAGES_AT_ONCE = 10
"""How much of a session is indexed before the leases are renewed again."""


class Writers:
    def __init__(self, tables: Tables, read_end: Callable[[str], tuple[Overview, Holder, int, int]]) -> None:
        self._tables = tables
        self._read_end = read_end
        self._open: dict[int, PostgresWriter] = {}
        self._abandoned: list[UUID] = []
        """The tokens of closed writers whose leases could not be ended: no one else has them."""
        self._heartbeat = Heartbeat(self._beat, tables.address.lease_seconds / 3)

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
        rows = self._create(session_id, values, claim)
        if not rows:
            raise SessionExistsError(session_id)
        return self._writer(
            place, rows[0], claim, overview, usage, since_checkpoint=sum(map(len, bodies)), unindexed=len(numbered)
        )

    def _create(self, session_id: str, values: dict[str, Any], claim: Claim) -> list[tuple[Any, ...]]:
        """The key and the fence of the new session; nothing if there is one with this id."""
        doing, statement = f"create session {session_id}", self._tables.statements.create
        try:
            return self._tables.connections.execute(doing, statement, values, retry=False)
        except LostAnswerError:
            # It may still be running. The same statement again waits for it, and one of the two finds the other.
            rows = self._tables.connections.execute(doing, statement, values, retry=False)
            row = self._tables.find(session_id, must_exist=False)
            return [(row.key, row.fence)] if row is not None and row.holder.token == claim.token else rows

    def open(self, session_id: str, timeout_seconds: float) -> PostgresWriter:
        self._tables.place_of(session_id)
        place = self._tables.place_to_write()
        claim = new_claim()
        key, fence, _, usage = self._take(session_id, place, claim, timeout_seconds)
        try:
            overview, _, size, _ = self._read_end(session_id)
            return self._writer(place, (key, fence), claim, overview, parse_usage(usage), since_checkpoint=size)
        except BaseException:
            with suppress(SegueError):
                self._tables.ask(
                    "release", self._tables.statements.release, space=place.space, key=key, token=claim.token
                )
            raise

    def _take(self, session_id: str, place: Place, claim: Claim, timeout_seconds: float) -> tuple[Any, ...]:
        """Become the writer as soon as nobody else is: the key, the fence, the seq and the usage."""
        values = {"id": session_id, "version": FORMAT_VERSION, **self._claim_values(place, claim)}
        deadline, pause = time.monotonic() + timeout_seconds, _FIRST_PAUSE_SECONDS
        # If the answer is lost, the statement is repeated and meets itself.
        gone = [claim.token, *self._abandoned]
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
        since_checkpoint: int,
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
            since_checkpoint=since_checkpoint,
            unindexed=unindexed,
            on_close=self._release,
        )
        self._open[writer.key] = writer
        self._heartbeat.start()
        return writer

    def _release(self, writer: PostgresWriter) -> None:
        """End the lease. If the server cannot be reached, it ends by itself, and the search reads what has no words."""
        self._heartbeat.stop()
        if self._open.get(writer.key) is writer:
            del self._open[writer.key]
        try:
            self._end_lease(writer)
        except SegueError:
            self._abandoned.append(writer.token)
        else:
            with suppress(SegueError):
                self._index(writer)

    def _end_lease(self, writer: PostgresWriter) -> None:
        statement = self._tables.statements.release
        # Where the server has been waited for in vain already, it is not worth another wait.
        seconds = _RELEASE_SECONDS if writer.is_stopped else None
        self._tables.connections.execute("release a session", statement, writer.values, retry=True, seconds=seconds)

    def _beat(self) -> None:
        self._renew()
        for writer in list(self._open.values()):
            with suppress(SegueError):
                self._index(writer)

    def _index(self, writer: PostgresWriter) -> None:
        """Add the words of what was recorded to the index. A search reads what is not there yet."""
        from segue.stores.postgres.indexing import index_words

        if writer.unindexed:
            writer.unindexed = 0
            index_words(self._tables, writer.space, writer.key, pages=_PAGES_AT_ONCE)

    def _renew(self) -> None:
        """Renew the leases of all writers; called by the heartbeat."""
        writers = list(self._open.values())
        for space in {writer.values["space"] for writer in writers}:
            values = {
                "space": space,
                "keys": [writer.key for writer in writers],
                "tokens": [writer.token for writer in writers],
                "lease": self._tables.address.lease_seconds,
            }
            with suppress(SegueError):  # the next beat tries again; what was lost meanwhile, the next append finds out
                self._tables.ask("renew leases", self._tables.statements.renew, **values)

    def _claim_values(self, place: Place, claim: Claim) -> dict[str, Any]:
        return {"space": place.space, "lease": self._tables.address.lease_seconds, **claim._asdict()}

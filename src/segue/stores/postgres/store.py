"""Sessions in Postgres, for many machines. The tables are in `schema/schema.sql`."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from segue.clock import utc_now
from segue.errors import (
    Damage,
    DamagedError,
    NotFoundError,
    ReadOnlyError,
    SessionNotFoundError,
    UsageError,
)
from segue.ids import check_id, new_session_id
from segue.model import fold, own_turn_ranges
from segue.store import FORMAT_VERSION, WAIT_SECONDS, Capabilities, Durability, Examination, Recovery
from segue.stores.postgres.address import parse_address
from segue.stores.postgres.administration import PostgresAdministration
from segue.stores.postgres.bulk import PostgresBulk
from segue.stores.postgres.columns import head_of_row
from segue.stores.postgres.ends import Ends
from segue.stores.postgres.queries import PostgresQueries
from segue.stores.postgres.reading import Records, turns_of, with_metadata
from segue.stores.postgres.tables import Tables, changed_meanwhile
from segue.stores.postgres.trash import PostgresTrash
from segue.stores.postgres.verification import derived_damages
from segue.stores.postgres.writers import Writers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from segue.model import Event, Head, Overview, Session, Turn
    from segue.store import Owner
    from segue.stores.postgres.tables import Row
    from segue.stores.postgres.writer import PostgresWriter


class PostgresStore:
    """See store.Store."""

    new_id = staticmethod(new_session_id)

    def __init__(
        self,
        path: str,
        *,
        clock: Callable[[], datetime] = utc_now,  # noqa: ARG002 - leases are in the time of the server
        durability: Durability = Durability.SYNCED,  # noqa: ARG002 - the server decides, and the receipt says it
    ) -> None:
        self.tables = Tables(parse_address(path))
        self.trash = PostgresTrash(self.tables)
        self.bulk = PostgresBulk(self.tables)
        self.administration = PostgresAdministration(self.tables)
        self._statements = self.tables.statements
        self._ends = Ends(self.tables, lambda session_id: self.examine(session_id).damages)
        self._writers = Writers(self.tables, self._ends)
        self.queries = PostgresQueries(self.tables, self.overview)

    @property
    def url(self) -> str:
        return self.tables.address.url

    @property
    def capabilities(self) -> Capabilities:
        connections = self.tables.connections
        if connections.achieved is None:
            ((achieved,),) = self.tables.ask("look at its settings", self._statements.achieved)
            connections.achieved = Durability(achieved)
        return Capabilities(
            durability=connections.achieved, shared=True, can_be_damaged=True, append_only=True, lists_from_columns=True
        )

    def path_of(self, session_id: str) -> str:
        return check_id(session_id)

    def size_bytes(self) -> int:
        return self.administration.size_bytes()

    # ── Writing ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def create(self, session_id: str, events: Sequence[Event]) -> PostgresWriter:
        return self._writers.create(session_id, events)

    def open(self, session_id: str, *, timeout_seconds: float = WAIT_SECONDS) -> PostgresWriter:
        return self._writers.open(session_id, timeout_seconds)

    # ── Reading ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def load(self, session_id: str) -> Session:
        row = self.tables.find(session_id)
        session, damages, _ = self._whole(session_id, row)
        if damages and self._is_replaced(session_id, row):
            return self.load(session_id)
        if damages or session is None:
            raise DamagedError(session_id, damages)
        return _with_liveness(session, row)

    def overview(self, session_id: str) -> Overview:
        overview, holder, *_ = self._ends.read(session_id)
        return overview if overview.status != "active" or holder.is_alive else replace(overview, status="interrupted")

    def tail(self, session_id: str, count: int, *, branch: str | None = None) -> tuple[Turn, ...]:
        overview, _, key, *_ = self._ends.read(session_id)
        place = self.tables.place_of(session_id)
        found: list[Turn] = []
        damages: list[Damage] = []
        for name, (low, high) in own_turn_ranges(overview, branch or overview.branch, count).items():
            values: dict[str, object] = {
                "skip": overview.branches[name].own - high,
                "count": high - low,
                "branch": name,
            }
            # What was appended since the overview was read is not counted.
            values |= {"space": place.space, "key": key, "upto": overview.seq}
            rows = self.tables.ask(f"read session {session_id}", self._statements.tail, **values)
            if len(rows) != high - low or not self._is_whole(session_id, place.space, key, rows):
                damages.append(Damage(f"branch {name}", "some of its turns are missing"))
            found = turns_of(rows, damages) + found
        if damages:
            if self.tables.find(session_id).key != key:  # deleted while it was read, or replaced
                return self.tail(session_id, count, branch=branch)
            raise DamagedError(session_id, self.examine(session_id).damages or damages)
        return tuple(found)

    def _is_whole(self, session_id: str, space: int, key: int, rows: Sequence[tuple[Any, ...]]) -> bool:
        """Whether no event is missing between the first and the last row."""
        low, high = (rows[0][0], rows[-1][0]) if rows else (1, 0)
        if high - low + 1 == len(rows):
            return True
        statement = self._statements.count_events
        [(count,)] = self.tables.ask(f"read session {session_id}", statement, space=space, key=key, low=low, high=high)
        return bool(high - low + 1 == count)

    def read(self, session_id: str, *, after: int = 0) -> Iterator[Event]:
        return self._read(session_id, self.tables.find(session_id), max(after, 0))

    def _read(self, session_id: str, row: Row, after: int) -> Iterator[Event]:
        records = Records(session_id, after=min(after, row.seq))
        for rows in self.tables.pages(session_id, row, after):
            events = records.feed(rows)
            if records.damages:
                raise DamagedError(session_id, records.damages)
            yield from events
        records.finish(row.seq)
        if records.damages:
            if self._is_replaced(session_id, row):
                message = f"session {session_id} was deleted while it was read, and there is another one"
                raise SessionNotFoundError(session_id, self.url, message=message)
            raise DamagedError(session_id, records.damages)

    def examine(self, session_id: str) -> Examination:
        session, damages, _, row = self._examine(session_id)
        return Examination(session=session and _with_liveness(session, row), damages=tuple(damages))

    def _examine(self, session_id: str) -> tuple[Session | None, list[Damage], list[Event], Row]:
        row, derived = self.tables.find_derived(session_id)
        session, damages, events = self._whole(session_id, row)
        if damages and self._is_replaced(session_id, row):
            return self._examine(session_id)
        if session is not None and not damages:
            values = {"space": self.tables.place_of(session_id).space, "key": row.key, "upto": row.seq}
            columns = self.tables.ask(f"read session {session_id}", self._statements.columns, **values)
            damages = derived_damages(derived, session, events, columns)
        return session, damages, events, row

    def _is_replaced(self, session_id: str, row: Row) -> bool:
        """Whether it was deleted and created again while it was read; NotFoundError if it was only deleted."""
        return self.tables.find(session_id).key != row.key

    def _whole(self, session_id: str, row: Row) -> tuple[Session | None, list[Damage], list[Event]]:
        records = Records(session_id)
        events = [event for rows in self.tables.pages(session_id, row) for event in records.feed(rows)]
        records.finish(row.seq)
        if not events:
            return None, records.damages or [_EMPTY], []
        named = with_metadata(events, records.damages, session_id, version=row.version, head=self.head)
        return fold(named), records.damages, named

    def revision(self, session_id: str) -> str:
        return self.tables.find(session_id).revision

    def changed_at(self, session_id: str) -> None:
        self.tables.find(session_id)

    def mark_changed(self, session_id: str, moment: datetime) -> None:  # noqa: ARG002 - there is nothing to mark
        self.tables.find(session_id)

    def ids(self) -> Iterator[str]:
        return iter([id for (id,) in self.tables.rows(self._statements.ids)])

    def revisions(self) -> Iterator[tuple[str, str]]:
        return iter([(id, f"{key}-{seq}") for id, key, seq in self.tables.rows(self._statements.revisions)])

    def heads(self) -> Iterator[Head]:
        return iter([head_of_row(row) for row in self.tables.rows(self._statements.heads)])

    def head(self, session_id: str) -> Head:
        place = self.tables.place_of(session_id)
        for row in self.tables.ask(
            f"read session {session_id}", self._statements.head, space=place.space, id=session_id
        ):
            return head_of_row(row)
        raise SessionNotFoundError(session_id, self.url)

    def owner(self, session_id: str) -> Owner | None:
        check_id(session_id)
        row = self.tables.find(session_id, must_exist=False)
        return row.holder.owner if row is not None and row.holder.is_alive else None

    def get_blob(self, session_id: str, name: str) -> bytes:
        digest = check_id(name.removeprefix("sha256:"), what="blob name")
        row, place = self.tables.find(session_id), self.tables.place_of(session_id)
        rows = self.tables.ask(
            f"read a blob of session {session_id}",
            self._statements.blob,
            space=place.space,
            key=row.key,
            name=name,
        )
        if not rows:
            raise NotFoundError(f"session {session_id} has no blob {name}", hint="restore the session from a backup")
        data = bytes(rows[0][0])
        if hashlib.sha256(data).hexdigest() != digest:
            reason = "it does not match its name: some of its bytes changed"
            raise DamagedError(session_id, [Damage(f"blob {name}", reason)])
        return data

    # ── Deleting, repairing ──────────────────────────────────────────────────────────────────────────────────────────

    def delete(self, session_id: str, *, revision: str | None = None) -> None:
        row = self.tables.find_free(session_id, revision=revision)
        if not self.tables.delete(f"delete session {session_id}", row.key, row.seq, row.holder):
            self.tables.find_free(session_id, revision=row.revision)
            raise changed_meanwhile(session_id)

    def has_remains(self, session_id: str) -> bool:
        return self.tables.find(check_id(session_id), must_exist=False) is not None

    def scope_file(self, session_id: str) -> None:
        """There are no files."""

    def sweep(self) -> None:
        """Nothing is ever left over: what is not committed is not there."""

    def recover(self, session_id: str) -> Recovery:
        row = self.tables.find_free(session_id)
        if row.version > FORMAT_VERSION:
            raise ReadOnlyError(f"session {session_id} was written by a newer version", hint="it can be read")
        session, damages, events, row = self._examine(session_id)
        if not damages:
            raise UsageError(f"session {session_id} is not damaged", hint="there is nothing to recover")
        if session is None:
            raise DamagedError(session_id, damages)
        numbered = [replace(event, seq=seq) for seq, event in enumerate(events, start=1)]
        original = self.trash.replace(session_id, row, numbered)
        kept = sum(event.id != "event-1" or event.seq > 1 for event in numbered)
        return Recovery(session=self.load(session_id), kept=kept, damages=tuple(damages), original=original)

    def close(self) -> None:
        self._writers.forget_words()
        self.tables.connections.close()


def _with_liveness(session: Session, row: Row) -> Session:
    is_dead = session.status == "active" and not row.holder.is_alive
    return replace(session, status="interrupted") if is_dead else session


_EMPTY = Damage("event 1", "it is empty", line=1)

"""The harness of the Postgres store: real faults of a real server, by SQL of its own."""

from __future__ import annotations

import errno
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

import psycopg
from msgspec.structs import replace
from psycopg import sql

from segue.errors import SegueError
from segue.formats.journal import encode_event
from segue.model import Turn, fold, overview_of, total_usage
from segue.store import Durability
from segue.stores.postgres.address import parse_address
from segue.stores.postgres.columns import event_columns, listed_columns
from segue.stores.postgres.connections import Connections
from segue.stores.postgres.migrations import create_tables
from segue.stores.postgres.store import PostgresStore
from segue.testing.harness import Harness

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from segue.model import Event
    from segue.store import Store, Writer

_STATES = {
    errno.EIO: "58030",
    errno.ENOSPC: "53100",
    errno.EDQUOT: "53100",
    errno.EROFS: "25006",
    errno.EACCES: "42501",
    errno.ENODEV: "58000",
}
"""What the server reports for an error of its operating system."""

_FAULTS = """
    CREATE SEQUENCE {s}.faults;
    CREATE FUNCTION {s}.fail() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        -- A sequence is not rolled back, so that only the first statement fails.
        IF nextval('{s}.faults') = 1 THEN
            RAISE EXCEPTION 'could not write: a fault of the harness' USING ERRCODE = TG_ARGV[0];
        END IF;
        RETURN NULL;
    END $$
"""
_FAIL_WRITE = "CREATE TRIGGER fails_write BEFORE INSERT ON {s}.%s FOR EACH STATEMENT EXECUTE FUNCTION {s}.fail(%s)"
_FAIL_SYNC = (
    "CREATE CONSTRAINT TRIGGER fails_sync AFTER INSERT OR UPDATE OF seq ON {s}.sessions"
    " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION {s}.fail(%s)"
)

_TABLES = """
    SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace(%s) AND relkind IN ('r', 'p')
    AND NOT relispartition ORDER BY relname
"""
_BACKGROUND = frozenset({"lease_until", "words_seq", "words_due"})
"""The columns that a living writer changes at any time, without being asked."""


class PostgresHarness(Harness):
    """See Harness. The location is one schema of a database, which the store itself makes.

    A power cut is no more than a kill here: the tests of faults kill a server of their own. One of the server that
    all tests share would disturb the others, and take longer than the test.
    """

    def __init__(self, url: str, *, direct_url: str | None = None, durability: Durability = Durability.SYNCED) -> None:
        """The harness itself uses the `direct_url`, if the store is to reach its server in another way."""
        super().__init__()
        self.durability = durability
        self.address = parse_address(direct_url or url)
        self._path = url.partition(":")[2]
        self._stores: list[_WatchedStore] = []

    def make(self) -> Store:
        store = _WatchedStore(self._path, clock=self.clock, durability=self.durability)
        self._stores.append(store)
        return store

    @property
    def elsewhere(self) -> tuple[str, ...]:
        return "segue.stores.postgres:PostgresStore", self._path

    def close(self) -> None:
        """Close every writer that a test left open, and all connections."""
        for store in self._stores:
            store.close_all()
        self._stores.clear()
        if "_connection" in vars(self):
            self._connection.close()
            del self._connection

    def clear(self) -> None:
        """Make the location empty again, without the time that new tables take."""
        self._run("DROP FUNCTION IF EXISTS {s}.fail CASCADE; DROP SEQUENCE IF EXISTS {s}.faults")
        for table in self._tables():
            if table not in {"migrations", "spaces"}:
                self._run(f"DELETE FROM {{s}}.{table}")  # noqa: S608 - the names are our own

    def snapshot(self) -> Mapping[str, object]:
        """Every row that is stored, except the words for the search, which are written when there is time."""
        found: dict[str, object] = {}
        for table in self._tables():
            if table != "words":
                found |= self._rows(table)
        return found

    def kill(self) -> None:
        """End the leases, and take from the writers of this process what they need to write or to renew them."""
        self.expire_leases()
        if self._tables():
            self._run("UPDATE {s}.sessions SET owner_token = gen_random_uuid(), fence = fence + 1")

    def expire_leases(self) -> None:
        """Let the time pass after which the writers have lost their sessions, unless they renew their leases."""
        if self._tables():
            self._run("UPDATE {s}.sessions SET lease_until = clock_timestamp() WHERE lease_until IS NOT NULL")

    def power_cut(self) -> None:
        self.kill()

    def plant(self, store: Store, session_id: str, events: Sequence[Event]) -> None:  # noqa: ARG002 - the rows are enough
        self._prepare()
        numbered = [replace(event, seq=seq) for seq, event in enumerate(events, start=1)]
        overview = overview_of(fold(numbered))
        usage = total_usage(event for event in numbered if isinstance(event, Turn))
        head = {
            "space": 0,
            "id": session_id,
            "created_at": overview.created_at,
            "version": overview.version,
            "seq": overview.seq,
            **listed_columns(overview, usage),
        }
        ((key,),) = self._insert("sessions", head, "key")
        columns = event_columns(numbered, [encode_event(event) for event in numbered])
        names = {"seq": "seqs", "id": "ids", "kind": "kinds", "branch": "branches", "body": "bodies"}
        for at in range(len(numbered)):
            row = {name: columns[plural][at] for name, plural in names.items()}  # type: ignore[index]
            self._insert("events", {"space": 0, "session": key, **row}, "seq")

    def damage(self, session_id: str, event_id: str) -> None:
        self._flip("events", "body", "length({column}) / 2", session_id, event_id)

    def damage_blob(self, session_id: str, name: str) -> None:
        self._flip("blobs", "data", "0", session_id, name)

    def tear(self, session_id: str, event: Event) -> None:
        """Insert the event, and lose the connection before the commit."""
        with self._connect() as connection:
            connection.autocommit = False
            connection.execute(
                self._text(
                    "INSERT INTO {s}.events (space, session, seq, id, kind, body)"
                    " SELECT space, key, seq + 1, %s, 'turn', %s FROM {s}.sessions WHERE id = %s AND trash_key IS NULL"
                ),
                (event.id, encode_event(replace(event, seq=1)), session_id),
            )
            self._run("SELECT pg_terminate_backend(%s, 10000)", connection.info.backend_pid)
            connection.close()

    def fail_write(self, error_number: int) -> None:
        self._arm()
        for table in ("events", "blobs"):
            self._run(_FAIL_WRITE % (table, _STATES[error_number]))

    def fail_sync(self, error_number: int) -> None:
        """Let the next commit fail.

        A server that cannot sync its log never reports that its disk is full: it restarts, since it cannot know what
        is stored.
        """
        self._arm()
        state = _STATES[error_number]
        self._run(_FAIL_SYNC % (_STATES[errno.EIO] if state == _STATES[errno.ENOSPC] else state))

    # ── Inside ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _connect(self) -> psycopg.Connection:
        waits_not = "-c lock_timeout=10s"
        return psycopg.connect(
            self.address.conninfo, autocommit=True, application_name="segue-harness", options=waits_not
        )

    @cached_property
    def _connection(self) -> psycopg.Connection:
        return self._connect()

    def _text(self, statement: str) -> str:
        return statement.replace("{s}", sql.Identifier(self.address.schema).as_string(None))

    def _run(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        cursor = self._connection.execute(self._text(statement), values or None)
        return cursor.fetchall() if cursor.description else []

    def _insert(self, table: str, row: Mapping[str, object], returning: str) -> list[tuple[Any, ...]]:
        places = ", ".join(["%s"] * len(row))
        statement = f"INSERT INTO {{s}}.{table} ({', '.join(row)}) VALUES ({places}) RETURNING {returning}"  # noqa: S608
        return self._run(statement, *row.values())

    def _flip(self, table: str, column: str, offset: str, session_id: str, name: str) -> None:
        at = offset.format(column=column)
        id = "id" if table == "events" else "name"
        changed = self._run(
            f"UPDATE {{s}}.{table} SET {column} = set_byte({column}, {at}, get_byte({column}, {at}) # 1)"  # noqa: S608
            f" WHERE {id} = %s AND session = (SELECT key FROM {{s}}.sessions WHERE id = %s AND trash_key IS NULL)"
            " RETURNING 1",
            name,
            session_id,
        )
        assert changed, f"{session_id} has no {name} to damage"

    def _prepare(self) -> None:
        """Make the tables, for a fault or a session that comes before the store has made them."""
        if not self._tables():
            connections = Connections(self.address)
            create_tables(connections, self.address)
            connections.close()

    def _arm(self) -> None:
        self._prepare()
        self._run("DROP FUNCTION IF EXISTS {s}.fail CASCADE; DROP SEQUENCE IF EXISTS {s}.faults")
        self._run(_FAULTS)

    def _tables(self) -> list[str]:
        return [name for (name,) in self._run(_TABLES, self.address.schema)]

    def _rows(self, table: str) -> dict[str, object]:
        """By the place of each row, which changes whenever it is written; that of a session does for its lease too."""
        place = "key::text" if table == "sessions" else "tableoid::regclass || ' ' || ctid"
        cursor = self._connection.execute(self._text(f"SELECT {place}, * FROM {{s}}.{table}"))  # noqa: S608
        names = [column.name for column in cursor.description or ()]
        leased = {key for (key,) in self._run("SELECT key::text FROM {s}.sessions WHERE lease_until > now()")}
        return {
            f"{table} {row[0]}": _split(row, names, left_out=_BACKGROUND if row[0] in leased else frozenset())
            for row in cursor
        }


class _WatchedStore(PostgresStore):
    """Remembers its writers, so that none outlives the test: each renews its lease until it is closed."""

    def __init__(self, *args: Any, **options: Any) -> None:  # noqa: ANN401 - those of the store
        super().__init__(*args, **options)
        self._made: list[Writer] = []

    def create(self, session_id: str, events: Sequence[Event]) -> Any:  # noqa: ANN401
        writer = super().create(session_id, events)
        self._made.append(writer)
        return writer

    def open(self, session_id: str, **options: Any) -> Any:  # noqa: ANN401
        writer = super().open(session_id, **options)
        self._made.append(writer)
        return writer

    def close_all(self) -> None:
        for writer in self._made:
            with suppress(SegueError):
                writer.close()
        self.close()


def _split(row: Sequence[Any], names: Sequence[str], *, left_out: frozenset[str]) -> tuple[object, ...]:
    """The columns, and last the bytes among them."""
    values = {name: value for name, value in zip(names[1:], row[1:], strict=True) if name not in left_out}
    content = [bytes(value) for value in values.values() if isinstance(value, bytes)]
    others = {name: value for name, value in values.items() if not isinstance(value, bytes)}
    return str(others), content[0] if content else b""

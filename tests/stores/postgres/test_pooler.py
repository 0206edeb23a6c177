"""Through PgBouncer in transaction mode, with fewer server processes than clients: nothing counts on having its own."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import psycopg
import pytest

from segue.library import Library
from segue.stores.postgres import PostgresStore
from segue.testing.events import every_kind, metadata, turn, turns
from tests.support.pgbouncer import PgBouncer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.postgres import PostgresServer

pytestmark = pytest.mark.needs("pgbouncer")


@pytest.fixture
def bouncer(postgres_server: PostgresServer) -> Iterator[PgBouncer]:
    """With a single server process for everyone: a second one that is needed at the same time never comes."""
    with PgBouncer(postgres_server, pool_size=1) as bouncer:
        yield bouncer


STATE = {
    # The name is that of each client, by the pooler; those of plpgsql appear when it is loaded.
    "settings": "SELECT name, setting FROM pg_settings WHERE name !~ '^(application_name|plpgsql[.])'",
    "prepared statements": "SELECT name, statement FROM pg_prepared_statements",
    "locks": "SELECT objid FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()",
    "temporary tables": "SELECT relname FROM pg_class WHERE relpersistence = 't'",
    "channels": "SELECT pg_listening_channels()",
    "cursors": "SELECT name FROM pg_cursors WHERE name <> ''",
}


def state_of(bouncer: PgBouncer) -> dict[str, list[tuple[object, ...]]]:
    """All that a client could leave in the one server process for the next."""
    with psycopg.connect(bouncer.dsn(), autocommit=True, prepare_threshold=None) as connection:
        return {name: connection.execute(statement).fetchall() for name, statement in STATE.items()}


def use_everything(store: PostgresStore, session_id: str) -> None:
    with store.create(session_id, [metadata(session_id)]) as writer:
        writer.append(turn(1), ids_are_new=True)
        writer.append(*turns(2, 150))
        writer.append(*every_kind())
        writer.append(turn(1))
        name = writer.put_blob(b"an image")
    assert store.get_blob(session_id, name) == b"an image"
    with store.open(session_id) as writer:
        writer.append(turn(151), ids_are_new=True)
    assert store.load(session_id).turns
    assert len(store.tail(session_id, 5, branch="main")) == 5
    assert store.examine(session_id).damages == ()
    assert session_id in {head.id for head in Library(store).list()}
    Library(store).search("login")
    store.trash.restore(store.trash.put(session_id))
    store.delete(session_id)


def test_nothing_is_left_in_the_server_process_for_the_next_client(bouncer: PgBouncer, postgres_schema: str) -> None:
    before = state_of(bouncer)
    store = PostgresStore(bouncer.url(postgres_schema, timeout="10s"))
    use_everything(store, "session")
    store.close()
    after = state_of(bouncer)
    assert {name: set(after[name]) ^ set(before[name]) for name in STATE} == {name: set() for name in STATE}


def test_many_clients_share_one_server_process(bouncer: PgBouncer, postgres_schema: str) -> None:
    """Several stores, each with threads and writers of its own, whose statements alternate."""
    stores = [PostgresStore(bouncer.url(postgres_schema, timeout="30s")) for _ in range(3)]
    with ThreadPoolExecutor(6) as threads:
        work = [
            threads.submit(use_everything, store, f"session-{at}-{number}")
            for at, store in enumerate(stores)
            for number in range(2)
        ]
    for one in work:
        one.result()
    assert [list(store.ids()) for store in stores] == [[], [], []]
    for store in stores:
        store.close()


def test_two_writers_alternate_on_one_server_process(bouncer: PgBouncer, postgres_schema: str) -> None:
    one, two = (PostgresStore(bouncer.url(postgres_schema)) for _ in range(2))
    with one.create("one", [metadata("one")]) as first, two.create("two", [metadata("two")]) as second:
        for number in range(10):
            assert first.append(turn(number), ids_are_new=True).seqs == (number + 2,)
            assert second.append(turn(number), ids_are_new=True).seqs == (number + 2,)
        assert (owner := one.owner("two")) is not None
        assert owner == two.owner("two")
    assert one.owner("one") is one.owner("two") is None
    assert [event.id for event in one.read("two")] == [event.id for event in two.read("two")]
    one.close()
    two.close()


def test_the_server_shows_who_its_clients_are(bouncer: PgBouncer, postgres_schema: str) -> None:
    def name_of(store: PostgresStore) -> str:
        with store.tables.connections.use("ask") as connection:
            return str(connection.execute("SHOW application_name", prepare=False).fetchall()[0][0])

    plain = PostgresStore(bouncer.url(postgres_schema))
    named = PostgresStore(bouncer.url(postgres_schema, application_name="nightly"))
    assert [name_of(plain), name_of(named), name_of(plain)] == ["segue", "nightly", "segue"]
    plain.close()
    named.close()

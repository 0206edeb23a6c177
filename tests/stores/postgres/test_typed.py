"""Values in binary form: what the server stores is what the driver itself would have sent."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from segue.stores.postgres import PostgresStore
from segue.stores.postgres.columns import time_columns
from segue.testing.conformance.chapter import ID, create_session
from segue.testing.events import turn
from tests.support.pgbouncer import PgBouncer

if TYPE_CHECKING:
    from segue.testing.harness_postgres import PostgresHarness
    from tests.support.postgres import PostgresServer

TIMES = [
    datetime(2026, 11, 16, 14, 59, 59, 999999, tzinfo=UTC),
    datetime(2030, 1, 1, 0, 15, 30, 1, tzinfo=timezone(timedelta(hours=5, minutes=30))),
    datetime(2031, 7, 1, 12, 0, 0, tzinfo=timezone(-timedelta(hours=3, minutes=17))),
]
EARLY = datetime(1969, 7, 20, 20, 17, 40, 5, tzinfo=UTC)
COLUMNS = "SELECT updated_at, recent_at, turn_count, seq FROM {}.sessions"


@pytest.mark.parametrize("moment", TIMES)
def test_a_turn_leaves_its_time_in_the_columns_as_any_other_event(
    moment: datetime, postgres_harness: PostgresHarness, postgres_server: PostgresServer
) -> None:
    store = postgres_harness.make()
    assert isinstance(store, PostgresStore)
    with create_session(store) as writer:
        writer.append(replace(turn(1), timestamp=moment), ids_are_new=True)
        found = postgres_server.execute(COLUMNS.format(store.tables.address.schema))
        expected = time_columns(moment)
        assert found == [(expected["updated_at"], expected["recent_at"], 1, 2)]


def test_a_turn_of_the_past_does_not_turn_the_clock_back(
    postgres_harness: PostgresHarness, postgres_server: PostgresServer
) -> None:
    store = postgres_harness.make()
    assert isinstance(store, PostgresStore)
    with create_session(store) as writer:
        before = writer.overview.updated_at
        writer.append(replace(turn(1), timestamp=EARLY), ids_are_new=True)
        [(updated_at, recent_at, *_)] = postgres_server.execute(COLUMNS.format(store.tables.address.schema))
        assert (updated_at, recent_at) == tuple(time_columns(before).values())


@pytest.mark.needs("pgbouncer")
def test_ids_that_no_column_holds_come_back_through_a_pooler_too(
    postgres_server: PostgresServer, postgres_schema: str
) -> None:
    ids = ["null \0 inside", "half \ud83d a pair", "json:looks escaped", "naïve “quotes” 🎈"]
    with PgBouncer(postgres_server) as bouncer:
        for url in (postgres_server.url(postgres_schema), bouncer.url(postgres_schema)):
            store = PostgresStore(url.removeprefix("postgresql:"))
            with store.open(ID) if store.has_remains(ID) else create_session(store) as writer:
                for id in ids:
                    writer.append(replace(turn(1), id=f"{id} {writer.overview.seq}"), ids_are_new=True)
            assert [event.id.rpartition(" ")[0] for event in store.read(ID, after=1)][-len(ids) :] == ids
            store.close()


def test_a_rollback_on_the_same_connection_makes_no_append_fail(postgres_harness: PostgresHarness) -> None:
    store = postgres_harness.make()
    assert isinstance(store, PostgresStore)
    with create_session(store) as writer:
        writer.append(turn(1), ids_are_new=True)
        with store.tables.connections.use("roll back") as connection:
            connection.execute("SELECT 1")
            with connection.transaction(force_rollback=True):
                connection.execute("SELECT 2")
        assert writer.append(turn(2), ids_are_new=True).seqs == (3,)

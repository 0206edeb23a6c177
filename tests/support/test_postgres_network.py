"""What is between a client and its server breaks as it claims to: the proxy, the standby, the pooler."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import psycopg
import pytest

from tests.support.pgbouncer import PgBouncer
from tests.support.postgres import wait_until
from tests.support.postgres_proxy import LoopbackProxy, Moment, Way
from tests.support.postgres_standby import StandbyPair

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.postgres import PostgresServer


@pytest.fixture
def table(postgres_server: PostgresServer, postgres_schema: str) -> str:
    postgres_server.execute(f"CREATE SCHEMA {postgres_schema}")
    postgres_server.execute(f"CREATE TABLE {postgres_schema}.kept (word text)")
    return f"{postgres_schema}.kept"


@pytest.fixture
def proxy(postgres_server: PostgresServer) -> Iterator[LoopbackProxy]:
    with LoopbackProxy(postgres_server) as proxy:
        yield proxy


def words(server: PostgresServer, table: str) -> list[object]:
    return [word for (word,) in server.execute(f"SELECT word FROM {table} ORDER BY word")]  # noqa: S608 - our own name


def insert(connection: psycopg.Connection, table: str, word: str) -> None:
    connection.execute(f"INSERT INTO {table} VALUES ('{word}') RETURNING repeat('answer', 100)")  # noqa: S608


def connect(place: LoopbackProxy | PgBouncer) -> psycopg.Connection:
    return psycopg.connect(place.dsn(), autocommit=True)


CARRIED_OUT = {
    Moment.BEFORE_REQUEST: [],
    Moment.INSIDE_REQUEST: [],
    Moment.BEFORE_ANSWER: ["one"],
    Moment.INSIDE_ANSWER: ["one"],
}


@pytest.mark.parametrize("moment", Moment)
def test_a_connection_breaks_at_the_moment_that_was_asked_for(
    proxy: LoopbackProxy, postgres_server: PostgresServer, table: str, moment: Moment
) -> None:
    with connect(proxy) as connection:
        connection.execute("SELECT 'one'")
        proxy.strike(moment, containing=b"INSERT")
        with pytest.raises(psycopg.OperationalError):
            insert(connection, table, "one")
        proxy.wait_for_strike()
        assert connection.broken
    assert words(postgres_server, table) == CARRIED_OUT[moment]
    with connect(proxy) as connection:
        insert(connection, table, "two")
    assert words(postgres_server, table) == [*CARRIED_OUT[moment], "two"]


def test_requests_pass_before_the_one_that_breaks(
    proxy: LoopbackProxy, postgres_server: PostgresServer, table: str
) -> None:
    with connect(proxy) as connection:
        proxy.strike(Moment.BEFORE_REQUEST, containing=b"INSERT", after=2)
        for word in ("one", "two"):
            insert(connection, table, word)
        with pytest.raises(psycopg.OperationalError):
            insert(connection, table, "three")
    assert words(postgres_server, table) == ["one", "two"]


@pytest.mark.parametrize("moment", Moment)
def test_a_connection_that_falls_silent_goes_on_where_it_stopped(
    proxy: LoopbackProxy, postgres_server: PostgresServer, table: str, moment: Moment
) -> None:
    with connect(proxy) as connection:
        proxy.strike(moment, containing=b"INSERT", cut=False)
        thread = threading.Thread(target=insert, args=(connection, table, "one"))
        thread.start()
        proxy.wait_for_strike()
        assert thread.is_alive()
        assert words(postgres_server, table) == CARRIED_OUT[moment]
        proxy.resume()
        thread.join()
        assert words(postgres_server, table) == ["one"]


def test_a_black_hole_holds_every_connection_and_every_new_one(
    proxy: LoopbackProxy, postgres_server: PostgresServer, table: str
) -> None:
    with connect(proxy) as connection:
        proxy.hold()
        thread = threading.Thread(target=insert, args=(connection, table, "one"))
        thread.start()
        with pytest.raises(psycopg.OperationalError, match="timeout"):
            psycopg.connect(f"{proxy.dsn()} connect_timeout=2")
        assert thread.is_alive()
        assert words(postgres_server, table) == []
        proxy.resume()
        thread.join()
    assert words(postgres_server, table) == ["one"]


def test_one_direction_can_be_held_alone(proxy: LoopbackProxy, postgres_server: PostgresServer, table: str) -> None:
    with connect(proxy) as connection:
        proxy.hold(Way.TO_CLIENT)
        thread = threading.Thread(target=insert, args=(connection, table, "one"))
        thread.start()
        wait_until(lambda: words(postgres_server, table) == ["one"])
        assert thread.is_alive()
        proxy.resume()
        thread.join()


def test_connections_are_cut_and_refused_and_accepted_again(proxy: LoopbackProxy) -> None:
    with connect(proxy) as connection:
        proxy.cut()
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
    with connect(proxy) as connection:
        proxy.refuse()
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
    with pytest.raises(psycopg.OperationalError, match="refused"):
        connect(proxy)
    proxy.accept()
    with connect(proxy) as connection:
        assert connection.execute("SELECT 1").fetchall() == [(1,)]


def test_a_connection_is_cut_after_exactly_so_many_bytes(proxy: LoopbackProxy) -> None:
    with connect(proxy) as connection:
        proxy.cut_after(100_000, Way.TO_CLIENT)
        received: list[object] = []
        with pytest.raises(psycopg.OperationalError):
            received.extend(connection.cursor().stream("SELECT repeat('x', 989) FROM generate_series(1, 1000)"))
        proxy.wait_for_strike()
        # 11 bytes are about each row, and some before the first.
        assert len(received) == 99


def test_what_the_primary_acknowledged_is_on_the_standby_when_the_primary_is_destroyed() -> None:
    with StandbyPair() as pair:
        pair.primary.execute("CREATE TABLE kept (number int)")
        for number in range(20):
            pair.primary.execute("INSERT INTO kept VALUES (%s)", [number])
        assert pair.primary.execute("SHOW synchronous_standby_names") == [("standby",)]
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            pair.standby.execute("INSERT INTO kept VALUES (99)")
        pair.destroy_primary()
        assert not pair.primary.data.exists()
        pair.promote()
        pair.standby.execute("INSERT INTO kept VALUES (20)")
        assert [number for (number,) in pair.standby.execute("SELECT number FROM kept")] == list(range(21))


@pytest.mark.needs("pgbouncer")
def test_the_pooler_gives_each_statement_to_another_server_process(postgres_server: PostgresServer) -> None:
    with PgBouncer(postgres_server) as pooler, connect(pooler) as one, connect(pooler) as two:
        ask = "SELECT pg_backend_pid()"
        with one.transaction():
            mine = one.execute(ask, prepare=False).fetchone()
            assert one.execute(ask, prepare=False).fetchone() == mine
            assert two.execute(ask, prepare=False).fetchone() != mine
        assert mine != (one.info.backend_pid,)
        seen = {connection.execute(ask, prepare=False).fetchone() for connection in (one, two, one, two)}
        assert len(seen) > 1

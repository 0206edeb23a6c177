"""What happens to the server: killed and restarted under load, a full disk, transactions that it rolls back."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from datetime import UTC, datetime, timedelta
from functools import partial

import psycopg
import pytest
from psycopg import sql

from segue.errors import DiskFullError
from segue.stores.postgres.store import PostgresStore
from tests.support.journals import metadata, turn
from tests.support.postgres import PostgresServer, wait_until
from tests.support.postgres_ledger import check_continues, check_ledger
from tests.support.postgres_load import Load
from tests.support.postgres_small_disk import small_disk_server
from tests.support.processes import Crew

WRITERS = 4
APPENDS_BETWEEN_KILLS = 5
HOUR = 1


@pytest.mark.parametrize("kills", [2, pytest.param(30, marks=pytest.mark.long)])
def test_a_server_that_is_killed_under_load_loses_nothing_and_doubles_nothing(kills: int) -> None:
    with PostgresServer.create() as server, ExitStack() as stack:
        url = server.url("talks")
        store = PostgresStore(url)
        loads = [stack.enter_context(Load(url, f"talk-{number}")) for number in range(WRITERS)]
        for _ in range(kills):
            for load in loads:
                load.wait_for(len(load.receipts) + APPENDS_BETWEEN_KILLS)
            server.kill_9()
            server.start()
        for load in loads:
            load.wait_for(len(load.receipts) + APPENDS_BETWEEN_KILLS)
            load.stop()
        for load in loads:
            check_ledger(store, load.session_id, [[id] for id in load.ids], before=["m-1"], about=load.session_id)
            check_continues(store, load.session_id)
        store.close()


@pytest.mark.needs("mounting")
def test_a_full_disk_costs_nothing_that_was_acknowledged() -> None:
    with small_disk_server() as server:
        store = PostgresStore(server.url("talks"))
        acknowledged: list[list[str]] = []
        for session_id in ("talk", "old"):
            store.create(session_id, [metadata(session_id)]).close()
        with store.open("talk") as writer:
            server.fill()
            full: DiskFullError | None = None
            while full is None:
                event = turn(len(acknowledged), "x" * 3000, id=f"before-{len(acknowledged)}")
                try:
                    writer.append(event, ids_are_new=True)
                except DiskFullError as error:
                    full = error
                else:
                    acknowledged.append([event.id])
            for number in range(5):  # no later receipt hides it, and none is given for half an append
                with pytest.raises(DiskFullError):
                    writer.append(*[turn(number, "y" * 30_000, id=f"full-{number}-{part}") for part in range(3)])
            with pytest.raises(DiskFullError):
                writer.put_blob(b"z" * (1 << 20))
            with pytest.raises(DiskFullError):
                store.create("new", [metadata("new"), turn(1, "x" * 300_000)])
            check_ledger(store, "talk", acknowledged, before=["m-1"])
            assert {head.id for head in store.heads()} == {"talk", "old"}
            server.make_room()
            writer.append(turn(1, "x" * 3000, id="after"), ids_are_new=True)
        acknowledged.append(["after"])
        check_ledger(store, "talk", acknowledged, before=["m-1"])
        check_continues(store, "talk")
        store.delete("old")
        store.close()


def test_transactions_that_the_server_rolls_back_to_be_repeated_are_repeated(postgres_url: str) -> None:
    """All begin with an empty database. Renewals and listings of each meet the appends of the others."""
    url = f"{postgres_url}&options=-c%20default_transaction_isolation%3Dserializable"
    stores = [PostgresStore(url) for _ in range(WRITERS)]
    stopped = threading.Event()

    def disturb(store: PostgresStore) -> None:
        while not stopped.is_set():
            store._writers._renew()
            list(store.heads())

    def write(number: int) -> list[list[str]]:
        store, session_id = stores[number], f"talk-{number}"
        done = []
        with store.create(session_id, [metadata(session_id)]) as writer:
            for at in range(15):
                ids = [f"{session_id}.{at}.{part}" for part in range(at % 3 + 1)]
                writer.append(*[turn(at, id=id) for id in ids], ids_are_new=True)
                done.append(ids)
        return done

    with ThreadPoolExecutor(2 * WRITERS) as pool:
        disturbing = [pool.submit(disturb, store) for store in stores]
        try:
            acknowledged = [future.result() for future in [pool.submit(write, number) for number in range(WRITERS)]]
        finally:
            stopped.set()
        assert [future.result() for future in disturbing] == [None] * WRITERS
    for number, appends in enumerate(acknowledged):
        check_ledger(stores[0], f"talk-{number}", appends, before=["m-1"])
        check_continues(stores[0], f"talk-{number}")
    for store in stores:
        store.close()


def test_an_append_that_the_server_rolls_back_in_a_deadlock_is_recorded_once(
    postgres_url: str, postgres_server: PostgresServer
) -> None:
    """Another client has the key of the next event, and wants the row of the session, which the append has."""
    store = PostgresStore(f"{postgres_url}&options=-c%20deadlock_timeout%3D500ms")
    schema = sql.Identifier(store.tables.address.schema)
    update = sql.SQL("UPDATE {}.sessions SET title = 'theirs' WHERE id = 'talk'").format(schema)
    appends: list[list[str]] = []
    was_rolled_back = False
    with store.create("talk", [metadata("talk")]) as writer, ThreadPoolExecutor(1) as pool:
        while not was_rolled_back:  # at once, unless this machine is very slow
            ids = [f"ours-{len(appends)}"]
            with postgres_server.connect() as rival:
                rival.execute("SET deadlock_timeout = '5s'")
                rival.execute("BEGIN")
                rival.execute(INSERT.format(schema, len(appends) + 2))
                appending = pool.submit(writer.append, turn(1, id=ids[0]), ids_are_new=True)
                wait_until(partial(is_waited_for, postgres_server, rival))
                with suppress(psycopg.errors.DeadlockDetected):
                    rival.execute(update)
                    was_rolled_back = True
                rival.execute("ROLLBACK")
            assert appending.result(60).seqs == (len(appends) + 2,)
            appends.append(ids)
    check_ledger(store, "talk", appends, before=["m-1"])
    check_continues(store, "talk")
    store.close()


INSERT = sql.SQL(
    "INSERT INTO {0}.events (space, session, seq, id, kind, body)"
    " SELECT 0, key, {1}, 'theirs', 'turn', '' FROM {0}.sessions WHERE id = 'talk'"
)


def is_waited_for(server: PostgresServer, client: psycopg.Connection) -> bool:
    statement = "SELECT 1 FROM pg_stat_activity WHERE %s = ANY (pg_blocking_pids(pid))"
    return bool(server.execute(statement, [client.info.backend_pid]))


def test_the_clock_of_a_client_dates_its_events_and_decides_nothing(postgres_url: str) -> None:
    """One is an hour ahead and one an hour behind; they write in turns, and each finds the lease of the other."""
    store = PostgresStore(postgres_url)
    store.create("talk", [metadata("talk")]).close()
    acknowledged = []
    with Crew("tests.support.postgres_workers") as ahead, Crew("tests.support.postgres_workers") as behind:
        for number in range(6):
            one, two, hours = (ahead, behind, HOUR) if number % 2 else (behind, ahead, -HOUR)
            assert one.ask("set_clock", hours=hours) == {}
            assert one.ask("open_writer", url=postgres_url, session_id="talk") == {}
            assert two.ask("open_writer", url=postgres_url, session_id="talk", timeout=0)["error"] == (
                "SessionLockedError"
            )
            assert one.ask("append", ids=[f"t-{number}"]) == {}
            acknowledged.append([f"t-{number}"])
            assert one.ask("close_writer") == {}
    check_ledger(store, "talk", acknowledged, before=["m-1"])
    now = datetime.now(UTC)
    times = [event.timestamp for event in store.load("talk").turns]
    assert all((time > now) == bool(number % 2) for number, time in enumerate(times))
    assert all(abs(abs(time - now) - timedelta(hours=HOUR)) < timedelta(minutes=30) for time in times)
    check_continues(store, "talk")
    store.close()


def test_a_lease_is_as_long_for_a_client_whose_clock_is_an_hour_off(postgres_url: str) -> None:
    """What it records about itself comes from the server."""
    store = PostgresStore(postgres_url)
    store.create("talk", [metadata("talk")]).close()
    with Crew("tests.support.postgres_workers") as ahead:
        ahead.ask("set_clock", hours=HOUR)
        ahead.ask("open_writer", url=postgres_url, session_id="talk")
        owner = store.owner("talk")
        assert owner is not None
        assert owner.since is not None
        assert abs(owner.since - datetime.now(UTC)) < timedelta(minutes=30)
        ahead.ask("close_writer")
    assert store.owner("talk") is None
    store.close()

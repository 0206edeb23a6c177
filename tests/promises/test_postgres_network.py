"""What a network and its servers do to an append: terminated, black-holed, held back. Nothing is doubled or guessed."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg import sql

from segue.errors import StorageError
from segue.stores.postgres.failures import LostAnswerError
from segue.stores.postgres.store import PostgresStore
from tests.support.journals import metadata, turn
from tests.support.postgres import wait_until
from tests.support.postgres_ledger import check_continues, check_ledger
from tests.support.postgres_proxy import LoopbackProxy, Moment, Way

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.store import Receipt, Writer
    from tests.support.postgres import PostgresServer

GATE = 4711
"""The advisory lock at which commits wait."""
SENT = turn(90, "z" * 50)
"""The turn whose append meets the fault."""
PATIENT, IMPATIENT = "20s", "1500ms"


@pytest.fixture
def store(postgres_url: str) -> Iterator[PostgresStore]:
    """The store of those who look."""
    store = PostgresStore(postgres_url)
    store.create("talk", [metadata("talk")]).close()
    yield store
    store.close()


@pytest.fixture
def proxy(postgres_server: PostgresServer) -> Iterator[LoopbackProxy]:
    with LoopbackProxy(postgres_server) as proxy:
        yield proxy


@contextmanager
def writer_through(proxy: LoopbackProxy, store: PostgresStore, timeout: str) -> Iterator[Writer]:
    through = PostgresStore(proxy.url(store.tables.address.schema, timeout=timeout, application_name="doomed"))
    with through.open("talk") as writer:
        writer.append(turn(1, id="first"), ids_are_new=True)
        yield writer
    through.close()


class Append:
    """An append in a thread of its own, that meets a fault."""

    def __init__(self, writer: Writer) -> None:
        self.receipt: Receipt | None = None
        self.error: StorageError | None = None
        self._thread = threading.Thread(target=self._run, args=(writer,))
        self._thread.start()

    def _run(self, writer: Writer) -> None:
        try:
            self.receipt = writer.append(SENT, ids_are_new=True)
        except StorageError as error:
            self.error = error

    def finish(self) -> None:
        self._thread.join()


def check(store: PostgresStore, append: Append) -> None:
    """The outcome is what the caller was told; if nobody knows, the same ids can be appended again."""
    append.finish()
    about = str(append.error)
    acknowledged = [["first"]]
    if append.receipt is not None:
        acknowledged.append([SENT.id])
    elif isinstance(append.error, LostAnswerError):
        assert "may or may not" in append.error.hint
        with store.open("talk", timeout_seconds=60) as writer:
            assert writer.append(SENT).seqs == (3,), about
        acknowledged.append([SENT.id])
    acknowledged.append(list(check_continues(store, "talk", waits=True, about=about)))
    check_ledger(store, "talk", acknowledged, before=["m-1"], about=about)


def terminate(server: PostgresServer) -> int:
    """`pg_terminate_backend` for every connection of the writer; how many there were."""
    statement = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'doomed'"
    return len(server.execute(statement))


def test_a_connection_that_is_terminated_before_an_append_is_not_noticed(
    postgres_server: PostgresServer, proxy: LoopbackProxy, store: PostgresStore
) -> None:
    with writer_through(proxy, store, PATIENT) as writer:
        assert terminate(postgres_server)
        append = Append(writer)
        append.finish()
    assert append.receipt is not None
    check(store, append)


@contextmanager
def gate(server: PostgresServer, store: PostgresStore) -> Iterator[psycopg.Connection]:
    """While it is closed, no append can commit: its commit is under way, and waits."""
    schema = sql.Identifier(store.tables.address.schema)
    function = sql.SQL(
        "CREATE FUNCTION {}.pass() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN PERFORM pg_advisory_xact_lock_shared({}); RETURN NULL; END $$"
    )
    trigger = sql.SQL(
        "CREATE CONSTRAINT TRIGGER gate AFTER UPDATE OF seq ON {0}.sessions DEFERRABLE INITIALLY DEFERRED"
        " FOR EACH ROW EXECUTE FUNCTION {0}.pass()"
    )
    with server.connect() as keeper:
        keeper.execute(function.format(schema, GATE))
        keeper.execute(trigger.format(schema))
        keeper.execute("SELECT pg_advisory_lock(%s)", [GATE])
        yield keeper


def waiting(server: PostgresServer) -> set[object]:
    """The processes whose commits wait at the gate."""
    statement = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid = %s AND NOT granted"
    return {pid for (pid,) in server.execute(statement, [GATE])}


@pytest.mark.parametrize("times", [1, 2, 3])
def test_an_append_that_is_terminated_during_its_commit_is_recorded_once_or_not_at_all(
    postgres_server: PostgresServer, proxy: LoopbackProxy, store: PostgresStore, times: int
) -> None:
    ended: set[object] = set()
    with writer_through(proxy, store, PATIENT) as writer, gate(postgres_server, store) as keeper:
        append = Append(writer)
        for _ in range(times):
            wait_until(lambda: bool(waiting(postgres_server) - ended))
            ended.update(waiting(postgres_server))
            terminate(postgres_server)
        keeper.execute("SELECT pg_advisory_unlock(%s)", [GATE])
        append.finish()
        assert append.receipt is not None or times == 3
    assert append.error is None or "nothing was recorded" in str(append.error)
    check(store, append)


QUICK = {("cut", moment) for moment in Moment} | {("silent", Moment.BEFORE_REQUEST), ("silent", Moment.BEFORE_ANSWER)}
ENDS = [
    pytest.param(moment, how, marks=() if (how, moment) in QUICK else pytest.mark.long)
    for how in ("cut", "silent")
    for moment in Moment
]


@pytest.mark.parametrize(("moment", "is_cut"), ENDS)
def test_a_connection_that_ends_around_a_commit_leaves_the_append_once(
    proxy: LoopbackProxy, store: PostgresStore, moment: Moment, is_cut: str
) -> None:
    """Silent connections come to life again later, and deliver what they had."""
    with writer_through(proxy, store, PATIENT if is_cut == "cut" else IMPATIENT) as writer:
        proxy.strike(moment, containing=SENT.content.encode(), cut=is_cut == "cut")
        append = Append(writer)
        proxy.wait_for_strike()
        append.finish()
        assert append.receipt is not None, append.error
        proxy.resume()
    check(store, append)


def names(ways: tuple[Way, ...]) -> str:
    return " and ".join(way.value for way in ways)


@pytest.mark.parametrize(
    "ways",
    [pytest.param((Way.TO_SERVER,), marks=pytest.mark.long), (Way.TO_CLIENT,), (Way.TO_SERVER, Way.TO_CLIENT)],
    ids=names,
)
def test_a_network_that_swallows_everything_ends_in_an_error_that_is_true_also_after_it_delivers(
    postgres_server: PostgresServer, proxy: LoopbackProxy, store: PostgresStore, ways: tuple[Way, ...]
) -> None:
    with writer_through(proxy, store, IMPATIENT) as writer:
        proxy.hold(*ways)
        append = Append(writer)
        append.finish()
        assert isinstance(append.error, LostAnswerError)
        with pytest.raises(StorageError):
            writer.append(turn(91), ids_are_new=True)
        proxy.resume()
        wait_until(lambda: not is_busy(postgres_server))
    check(store, append)


def is_busy(server: PostgresServer) -> bool:
    statement = "SELECT 1 FROM pg_stat_activity WHERE application_name = 'doomed' AND state = 'active'"
    return bool(server.execute(statement))


def test_a_network_that_comes_back_in_time_is_not_noticed(proxy: LoopbackProxy, store: PostgresStore) -> None:
    with writer_through(proxy, store, PATIENT) as writer:
        proxy.hold()
        append = Append(writer)
        proxy.resume()
        append.finish()
    assert append.receipt is not None
    check(store, append)

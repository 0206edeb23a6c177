"""One writer by a lease: who was silent for too long is told who has the session now, and writes nothing more."""

from __future__ import annotations

import os
import signal
import socket
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace
from psycopg import sql

from segue.errors import SessionLockedError, StorageError, TakenOverError
from segue.model import TitleChanged
from segue.stores.postgres import lease
from segue.stores.postgres.failures import LostAnswerError
from segue.stores.postgres.lease import Heartbeat
from segue.stores.postgres.store import PostgresStore
from tests.support.journals import START, metadata, turn
from tests.support.postgres import wait_until
from tests.support.postgres_breaks import Breaks, cut
from tests.support.postgres_ledger import check_continues, check_ledger
from tests.support.postgres_proxy import LoopbackProxy, Moment
from tests.support.processes import NOBODY, Crew

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.postgres import PostgresServer

SHORT = "2s"


@pytest.fixture
def store(postgres_url: str) -> Iterator[PostgresStore]:
    """With the usual lease: its heartbeat comes later than the end of the test."""
    store = PostgresStore(postgres_url)
    store.create("talk", [metadata("talk")]).close()
    yield store
    store.close()


@pytest.fixture
def url(store: PostgresStore) -> str:
    """Of the same sessions, with a short lease."""
    return f"{store.url}&lease={SHORT}"


@pytest.fixture
def other() -> Iterator[Crew]:
    """Another process."""
    with Crew("tests.support.postgres_workers") as other:
        yield other


def stop(process: Crew) -> None:
    os.kill(process.pid, signal.SIGSTOP)


def wake(process: Crew) -> None:
    os.kill(process.pid, signal.SIGCONT)


def lease_of(store: PostgresStore, session_id: str = "talk") -> object:
    """When it ends, by the clock of the server."""
    return ask(store, "SELECT lease_until FROM {s}.sessions WHERE id = %(id)s AND trash_key IS NULL", id=session_id)


def ask(store: PostgresStore, statement: str, **values: object) -> object:
    rows = store.tables.ask("look", statement.replace("{s}", store.tables.address.schema), **values)
    return rows[0][0] if rows else None


@pytest.mark.parametrize(
    "end", [pytest.param("it writes", marks=pytest.mark.long), "it has written nothing yet", "it has left"]
)
def test_a_stopped_writer_that_wakes_up_is_told_who_took_over_and_writes_nothing_more(
    store: PostgresStore, url: str, other: Crew, end: str
) -> None:
    is_released = end == "it has left"
    assert other.ask("open_writer", url=url, session_id="talk") == {}
    assert other.ask("append", ids=["old-1"]) == {}
    with pytest.raises(SessionLockedError) as locked:
        store.open("talk", timeout_seconds=0)
    assert locked.value.pid == other.pid
    stop(other)
    try:
        writer = store.open("talk", timeout_seconds=60)
        recorded = [] if end == "it has written nothing yet" else [["new-1"]]
        for ids in recorded:
            writer.append(turn(1, id=ids[0]), ids_are_new=True)
        if is_released:
            writer.close()
    finally:
        wake(other)
    for id in ("old-2", "old-3"):
        answer = other.ask("append", ids=[id])
        assert answer.get("error") == "TakenOverError", answer
        assert (answer["pid"], answer["host"]) == (os.getpid(), socket.gethostname())
    assert other.ask("close_writer") == {}
    if not is_released:
        assert store.owner("talk") is not None, "the old writer has ended the lease of the new one"
        writer.append(turn(2, id="new-2"), ids_are_new=True)
        writer.close()
        recorded.append(["new-2"])
    check_ledger(store, "talk", [["old-1"], *recorded], before=["m-1"])
    check_continues(store, "talk")


def test_a_writer_that_was_silent_for_longer_than_its_lease_goes_on_if_nobody_took_over(
    store: PostgresStore, url: str, other: Crew
) -> None:
    other.ask("open_writer", url=url, session_id="talk")
    stop(other)
    try:
        assert store.head("talk").status == "active"
        wait_until(lambda: store.owner("talk") is None)
        assert store.head("talk").status == "interrupted"
    finally:
        wake(other)
    assert other.ask("append", ids=["old-1"]) == {}
    assert store.owner("talk") is not None
    assert other.ask("close_writer") == {}
    check_ledger(store, "talk", [["old-1"]], before=["m-1"])


def test_a_lease_is_renewed_while_a_model_answers_for_longer_than_it_lasts(store: PostgresStore, url: str) -> None:
    with PostgresStore(url).open("talk") as writer:
        first = lease_of(store)
        leases = {first}

        def has_outlived_the_first() -> bool:
            leases.add(lease_of(store))
            return len(leases) > 4

        wait_until(has_outlived_the_first)
        with pytest.raises(SessionLockedError):
            store.open("talk", timeout_seconds=0)
        writer.append(turn(1), ids_are_new=True)
    assert store.owner("talk") is None


def test_the_heartbeat_of_a_writer_does_not_renew_the_lease_of_the_next(store: PostgresStore) -> None:
    later = PostgresStore(store.url)
    old = store.open("talk")
    expire(store)
    with later.open("talk", timeout_seconds=0):
        before = lease_of(later)
        store._writers._renew()
        assert lease_of(later) == before
        with pytest.raises(TakenOverError):
            old.append(turn(1), ids_are_new=True)
    old.close()


def expire(store: PostgresStore) -> None:
    """As if the writer had been silent for long, but for its heartbeat, which comes later than the next statement."""
    ask(store, "UPDATE {s}.sessions SET lease_until = clock_timestamp()")


def test_a_renewal_that_arrives_after_the_end_of_its_writer_does_not_lock_the_session(store: PostgresStore) -> None:
    writer = store.open("talk")
    writer.close()
    store._writers._open[writer.token] = writer  # as a heartbeat that was on its way
    store._writers._renew()
    assert store.owner("talk") is None
    check_continues(store, "talk")


def test_one_session_that_is_locked_by_somebody_delays_no_lease_of_another(
    store: PostgresStore, postgres_server: PostgresServer
) -> None:
    lock = sql.SQL("SELECT 1 FROM {}.sessions WHERE id = 'talk' FOR UPDATE")
    with (
        store.open("talk"),
        store.create("second", [metadata("second")]),
        postgres_server.connect() as administrator,
        administrator.transaction(),
    ):
        administrator.execute(lock.format(sql.Identifier(store.tables.address.schema)))
        before = lease_of(store, "second")
        store._writers._renew()
        assert lease_of(store, "second") != before


def test_no_failure_ends_the_heartbeat() -> None:
    beats: list[int] = []

    def beat() -> None:
        beats.append(1)
        raise RuntimeError("a bug, or no memory")

    heartbeat = Heartbeat(beat, 0.001, name="test")
    heartbeat.start()
    wait_until(lambda: len(beats) > 2)
    heartbeat.stop()


def test_a_child_process_does_not_keep_the_sessions_of_its_parent(store: PostgresStore) -> None:
    with store.open("talk"):
        before = lease_of(store)
        child = os.fork()
        if child == 0:
            try:
                store._writers._renew()
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        assert lease_of(store) == before


def test_what_is_closed_without_a_network_can_be_opened_again_at_once(
    store: PostgresStore, postgres_server: PostgresServer
) -> None:
    """The server could not be told, but this process knows that nobody writes; others wait for the end of the lease."""
    with LoopbackProxy(postgres_server) as proxy:
        through = PostgresStore(proxy.url(store.tables.address.schema, timeout="200ms"))
        writer = through.open("talk")
        proxy.refuse()
        writer.close()
        proxy.accept()
        assert lease_of(store) is not None
        assert through.owner("talk") is None
        check_continues(through, "talk")
        through.close()


def test_a_session_that_was_deleted_and_restored_is_not_written_by_its_old_writer(store: PostgresStore) -> None:
    old = store.open("talk")
    expire(store)
    store.trash.restore(store.trash.put("talk"))
    with pytest.raises(StorageError):
        old.append(turn(1, id="old"), ids_are_new=True)
    old.close()
    check_ledger(store, "talk", [], before=["m-1"])
    check_continues(store, "talk")


def test_two_servers_that_gave_the_same_fence_to_two_writers_let_one_of_them_write(store: PostgresStore) -> None:
    """A server that fails over to one without the last commits forgets a takeover, and its number with it."""
    lost = store.open("talk")
    ask(store, "UPDATE {s}.sessions SET fence = fence - 1, lease_until = NULL")
    with store.open("talk", timeout_seconds=0) as writer:
        assert writer._fence == lost._fence
        with pytest.raises(TakenOverError):
            lost.append(turn(1, id="lost"), ids_are_new=True)
        writer.append(turn(2, id="new"), ids_are_new=True)
    lost.close()
    check_ledger(store, "talk", [["new"]], before=["m-1"])


def test_a_statement_that_arrives_late_is_not_recorded_after_its_error(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests that the network holds back for longer than the caller waits, and then delivers."""
    late: list[tuple[object, ...]] = []
    connections = store.tables.connections
    commit = connections.commit

    def hold_back(doing: str, statement: object, values: object, *, retry: bool) -> object:
        if not retry:
            late.append((doing, statement, values))
            raise LostAnswerError("the network is silent", hint="it may or may not have been carried out")
        return commit(doing, statement, values, retry=retry)  # type: ignore[arg-type]

    writer = store.open("talk")
    with monkeypatch.context() as patched:
        patched.setattr(connections, "commit", hold_back)
        with pytest.raises(StorageError) as refused:
            writer.append(turn(1, id="refused"), ids_are_new=True)
    assert "nothing was recorded" in str(refused.value)
    assert len(late) == 3
    for doing, statement, values in late:
        assert commit(doing, statement, values, retry=False)[0] == []  # type: ignore[arg-type]
    writer.close()
    check_ledger(store, "talk", [], before=["m-1"])
    check_continues(store, "talk")


def test_an_append_that_was_recorded_before_its_writer_lost_the_session_gets_its_receipt(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its answer is lost, and by the time the server can be asked another process has taken over."""
    connections = store.tables.connections
    commit = connections.commit
    later = PostgresStore(store.url)
    writers = []

    def lose_the_answer(doing: str, statement: object, values: object, *, retry: bool) -> object:
        answer = commit(doing, statement, values, retry=retry)  # type: ignore[arg-type]
        if not retry:
            expire(store)
            writers.append(later.open("talk", timeout_seconds=0))
            raise LostAnswerError("the network is silent", hint="it may or may not have been carried out")
        return answer

    old = store.open("talk")
    with monkeypatch.context() as patched:
        patched.setattr(connections, "commit", lose_the_answer)
        assert old.append(turn(1, id="recorded"), ids_are_new=True).seqs == (2,)
    with pytest.raises(TakenOverError):
        old.append(turn(2, id="refused"), ids_are_new=True)
    old.close()
    writers[0].close()
    check_ledger(store, "talk", [["recorded"]], before=["m-1"])


@pytest.mark.parametrize("write", ["turn", "blob"])
def test_a_repeated_statement_that_arrives_late_does_not_end_its_own_writer(store: PostgresStore, write: str) -> None:
    """The question about a lost answer was itself repeated, and the first one advances the fence after the second."""
    with store.open("talk") as writer:
        for _ in range(2):
            store.tables.ask("arrive late", store.tables.statements.advance_fence, **writer.values)
            if write == "turn":
                writer.append(turn(1), turn(2))
            else:
                name = writer.put_blob(b"a picture")
                assert store.get_blob("talk", name) == b"a picture"
    check_continues(store, "talk")


def test_a_session_that_is_opened_with_a_lost_answer_keeps_what_was_counted(store: PostgresStore) -> None:
    counted = replace(turn(1), extra={"usage": {"input_tokens": 7, "cached_tokens": 5}})
    with store.open("talk") as writer:
        writer.append(counted)
    before = ask(store, "SELECT usage FROM {s}.sessions")
    assert before
    with Breaks(cut) as breaks:
        for step in range(1, 12):
            breaks.arm(step, "answered")
            writer = store.open("talk", timeout_seconds=0)
            breaks.disarm()
            writer.append(TitleChanged(title=f"title {step}", timestamp=START, id=f"title-{step}"))
            writer.close()
            assert ask(store, "SELECT usage FROM {s}.sessions") == before, step


def test_a_process_of_another_user_that_the_machine_hides_is_not_taken_for_dead() -> None:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:  # as root, the parent must be one that may not be signalled
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            os.write(writing, str(lease._is_hidden(1)).encode())
        finally:
            os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with open(reading, "rb") as pipe:
        assert pipe.read() == b"True"
    assert not lease._is_hidden(child)


@pytest.mark.long
def test_a_lease_is_renewed_in_time_though_its_connection_died_silently(
    store: PostgresStore, postgres_server: PostgresServer
) -> None:
    with LoopbackProxy(postgres_server) as proxy:
        through = PostgresStore(proxy.url(store.tables.address.schema, lease="6s"))
        with through.open("talk") as writer:
            proxy.strike(Moment.BEFORE_REQUEST, containing=writer.token.bytes, cut=False)
            proxy.wait_for_strike()
            before = lease_of(store)

            def is_renewed() -> bool:
                assert store.owner("talk") is not None
                return lease_of(store) != before

            wait_until(is_renewed)
        through.close()


def test_a_session_that_was_created_without_an_answer_can_be_opened_at_once(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every answer is lost: the error reports it, and this process knows that nobody has the session."""
    connections, create = store.tables.connections, store.tables.statements.create
    execute = connections.execute

    def lose_the_answer(doing: str, statement: str, values: dict[str, object], *, retry: bool) -> object:
        answer = execute(doing, statement, values, retry=retry)
        if statement == create:
            raise LostAnswerError("the network is silent", hint="it may or may not have been carried out")
        return answer

    with monkeypatch.context() as patched:
        patched.setattr(connections, "execute", lose_the_answer)
        with pytest.raises(LostAnswerError):
            store.create("new", [metadata("new")])
    assert store.owner("new") is None
    check_ledger(store, "new", [check_continues(store, "new")], before=["m-1"])

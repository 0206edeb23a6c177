from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest

from segue.errors import MissingExtraError, SegueError, StorageError
from segue.stores.postgres import connections as module
from segue.stores.postgres.address import parse_address
from segue.stores.postgres.connections import Connections
from segue.stores.postgres.failures import ConnectError, LostAnswerError, StatementError
from tests.support.pgbouncer import PgBouncer
from tests.support.postgres import DATABASE, PostgresServer, free_port, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

MY_PID = "SELECT pg_backend_pid()"


@pytest.fixture
def connect(postgres_server: PostgresServer) -> Iterator[Callable[..., Connections]]:
    """Connections to the server of the run, with options of the URL."""
    opened: list[Connections] = []

    def make(**options: str) -> Connections:
        opened.append(Connections(parse_address(f"{postgres_server.url()}&{urlencode(options)}")))
        return opened[-1]

    yield make
    for one in opened:
        one.close()


@pytest.fixture
def counter(postgres_server: PostgresServer, postgres_schema: str) -> str:
    """A sequence, which counts what was tried: it is not rolled back."""
    postgres_server.execute(f"CREATE SCHEMA {postgres_schema}")
    postgres_server.execute(f"CREATE SEQUENCE {postgres_schema}.tries")
    return f"{postgres_schema}.tries"


def tries(server: PostgresServer, counter: str) -> int:
    (row,) = server.execute("SELECT pg_sequence_last_value(%s::regclass)", [counter])
    return int(str(row[0]))


def server_process(connections: Connections) -> int:
    (row,) = connections.execute("ask", MY_PID, retry=True)
    return int(row[0])


def count(server: PostgresServer, application: str) -> int:
    (row,) = server.execute("SELECT count(*) FROM pg_stat_activity WHERE application_name = %s", [application])
    return int(str(row[0]))


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    """A server process that answers nothing while its connection stays open, as if the network swallowed it all."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


# ── Opening and closing ──────────────────────────────────────────────────────────────────────────────────────────────


def test_nothing_is_opened_before_the_first_use_and_closing_is_not_the_end(
    connect: Callable[..., Connections], postgres_server: PostgresServer
) -> None:
    connections = connect(application_name="opening")
    assert count(postgres_server, "opening") == 0
    connections.execute("ask", "SELECT 1", retry=True)
    assert count(postgres_server, "opening") == 1
    connections.close()
    wait_until(lambda: count(postgres_server, "opening") == 0)
    assert connections.execute("ask", "SELECT %s::int + 1", (1,), retry=False) == [(2,)]


def test_a_connection_in_use_is_closed_when_it_is_returned_to_a_closed_store(
    connect: Callable[..., Connections], postgres_server: PostgresServer
) -> None:
    connections = connect(application_name="returned")
    with connections.use("ask") as connection:
        connections.close()
        assert connection.execute("SELECT 1").fetchall() == [(1,)]
    wait_until(lambda: count(postgres_server, "returned") == 0)


def test_one_connection_serves_one_thread_and_values_come_back_as_bytes(connect: Callable[..., Connections]) -> None:
    connections = connect()
    before = server_process(connections)
    rows = connections.execute("ask", "SELECT %(body)s::bytea, now()", {"body": b"\0\xff"}, retry=False)
    assert rows[0][0] == b"\0\xff"
    assert connections.execute("change", "SET LOCAL lock_timeout = 1", retry=False) == []
    assert server_process(connections) == before


def test_the_name_of_the_application_is_segue_unless_the_url_has_another(connect: Callable[..., Connections]) -> None:
    name = "SELECT current_setting('application_name')"
    assert connect().execute("ask", name, retry=True) == [("segue",)]
    assert connect(application_name="fleet").execute("ask", name, retry=True) == [("fleet",)]


def test_statements_are_prepared_on_a_direct_connection(connect: Callable[..., Connections]) -> None:
    with connect().use("ask") as connection:
        connection.execute("SELECT 2")
        assert connection.execute("SELECT statement FROM pg_prepared_statements").fetchall()[0] == ("SELECT 2",)


def test_threads_share_the_connections_and_wait_for_one_at_most_until_the_deadline(
    connect: Callable[..., Connections], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MOST_CONNECTIONS", 2)
    connections = connect(timeout="500ms")
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(server_process(connections))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(found)) <= 2
    with (
        connections.use("ask"),
        connections.use("ask"),
        pytest.raises(StorageError, match=r"all 2 connections to .* are in use"),
    ):
        server_process(connections)
    assert server_process(connections) in found


def test_an_unused_connection_is_closed_after_a_while(
    connect: Callable[..., Connections], postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    connections = connect(application_name="unused")
    with connections.use("ask"), connections.use("ask"):
        pass
    assert count(postgres_server, "unused") == 2
    monkeypatch.setattr(module, "_IDLE_SECONDS", 0.0)
    connections.execute("ask", "SELECT 1", retry=True)
    wait_until(lambda: count(postgres_server, "unused") <= 1)


# ── Lost connections ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_connection_that_was_closed_meanwhile_is_replaced_before_anything_is_sent(
    connect: Callable[..., Connections], postgres_server: PostgresServer
) -> None:
    connections = connect()
    before = server_process(connections)
    postgres_server.execute("SELECT pg_terminate_backend(%s, 10000)", [before])
    (row,) = connections.execute("ask", MY_PID, retry=False)
    assert row[0] != before


KILLED_ONCE = "SELECT CASE WHEN nextval('{}') = 1 THEN pg_terminate_backend(pg_backend_pid()) END"


def test_a_statement_whose_answer_is_lost_is_repeated_if_that_does_no_harm(
    connect: Callable[..., Connections], postgres_server: PostgresServer, counter: str
) -> None:
    assert connect().execute("ask", KILLED_ONCE.format(counter), retry=True) == [(None,)]
    assert tries(postgres_server, counter) == 2


def test_a_statement_whose_answer_is_lost_is_not_repeated_otherwise(
    connect: Callable[..., Connections], postgres_server: PostgresServer, counter: str
) -> None:
    connections = connect()
    with pytest.raises(LostAnswerError, match=r"broke while waiting for the server to append to session x"):
        connections.execute("append to session x", KILLED_ONCE.format(counter), retry=False)
    assert tries(postgres_server, counter) == 1
    assert connections.execute("ask", "SELECT 1", retry=False) == [(1,)]


@pytest.mark.parametrize("condition", ["serialization_failure", "deadlock_detected"])
@pytest.mark.parametrize("retry", [True, False])
def test_what_the_server_rolled_back_and_asks_to_repeat_is_repeated(
    connect: Callable[..., Connections],
    postgres_server: PostgresServer,
    counter: str,
    condition: str,
    retry: bool,  # noqa: FBT001 - a parameter of a test
) -> None:
    schema = counter.partition(".")[0]
    postgres_server.execute(
        f"CREATE FUNCTION {schema}.fail() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN"
        f" IF nextval('{counter}') < 3 THEN RAISE {condition}; END IF; RETURN 7; END $$"
    )
    assert connect().execute("ask", f"SELECT {schema}.fail()", retry=retry) == [(7,)]
    assert tries(postgres_server, counter) == 3


def test_any_other_refusal_is_final(connect: Callable[..., Connections]) -> None:
    with pytest.raises(StatementError, match="cannot count: division by zero") as refused:
        connect().execute("count", "SELECT 1/0", retry=True)
    assert refused.value.sqlstate == "22012"


def test_errors_inside_of_use_leave_as_ours(connect: Callable[..., Connections]) -> None:
    connections = connect()
    with pytest.raises(StatementError, match="cannot make tables"), connections.use("make tables") as connection:
        connection.execute("x")
    with pytest.raises(LostAnswerError, match="make tables"), connections.use("make tables") as connection:
        connection.execute("SELECT pg_terminate_backend(pg_backend_pid())")
    assert connections.execute("ask", "SELECT 1", retry=False) == [(1,)]


def test_a_transaction_that_was_left_open_is_not_handed_to_the_next(connect: Callable[..., Connections]) -> None:
    connections = connect()
    with connections.use("begin") as connection:
        before = connection.info.backend_pid
        connection.execute("BEGIN")
    assert server_process(connections) != before


# ── Silence ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("retry", [True, False])
def test_a_server_that_falls_silent_ends_the_wait_at_the_deadline(
    connect: Callable[..., Connections],
    retry: bool,  # noqa: FBT001 - a parameter of a test
) -> None:
    connections = connect(timeout="300ms")
    silent = server_process(connections)
    with stopped(silent):
        with pytest.raises(StorageError, match="did not answer in time") as failed:
            connections.execute("ask", "SELECT 1", retry=retry)
        assert isinstance(failed.value, LostAnswerError) is not retry
        assert server_process(connections) != silent


def test_a_connection_that_was_not_used_for_long_is_tried_first(
    connect: Callable[..., Connections], monkeypatch: pytest.MonkeyPatch
) -> None:
    connections = connect(timeout="4s")
    silent = server_process(connections)
    monkeypatch.setattr(module, "_SILENT_SECONDS", 0.0)
    monkeypatch.setattr(module, "_SILENT_SHARE", 20)
    with stopped(silent):
        (row,) = connections.execute("ask", MY_PID, retry=False)
        assert row[0] != silent


def test_the_system_ends_a_connection_to_a_host_that_vanished(postgres_server: PostgresServer) -> None:
    connections = Connections(parse_address(postgres_server.url(None, tcp=True)))
    with connections.use("ask") as connection, socket.socket(fileno=os.dup(connection.fileno())) as ours:
        assert ours.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 10_000
        assert ours.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        assert ours.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 2
    connections.close()


def test_a_server_that_accepts_and_never_answers_ends_the_attempt() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        connections = Connections(parse_address(f"postgresql://alice:s3cret@127.0.0.1:{port}/x?timeout=100ms"))
        with pytest.raises(ConnectError, match="timeout expired") as failed:
            connections.execute("ask", "SELECT 1", retry=True)
    assert "firewall" in failed.value.hint


def test_a_statement_that_is_given_up_is_cancelled_if_it_only_reads(
    connect: Callable[..., Connections], postgres_server: PostgresServer
) -> None:
    connections = connect(timeout="200ms", application_name="given_up")
    with pytest.raises(StorageError, match="did not answer in time"):
        connections.execute("ask", "SELECT pg_sleep(600)", retry=True)
    wait_until(lambda: count(postgres_server, "given_up") == 0)


ASKS_FOR_LONG = """
import sys
from segue.stores.postgres.address import parse_address
from segue.stores.postgres.connections import Connections

connections = Connections(parse_address(sys.argv[1]))
print(connections.execute("ask", "SELECT pg_backend_pid()", retry=True)[0][0], flush=True)
try:
    connections.execute("ask", "SELECT pg_sleep(600)", retry=True)
except KeyboardInterrupt:
    print("interrupted", connections.execute("ask", "SELECT 1", retry=True), flush=True)
"""


def test_ctrl_c_ends_a_wait_for_a_silent_server(postgres_server: PostgresServer) -> None:
    url = postgres_server.url(timeout="600s")
    with subprocess.Popen(
        [sys.executable, "-c", ASKS_FOR_LONG, url], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        pid = int(child.stdout.readline())
        active = "SELECT count(*) FROM pg_stat_activity WHERE pid = %s AND wait_event = 'PgSleep'"
        wait_until(lambda: postgres_server.execute(active, [pid]) == [(1,)])
        with stopped(pid):
            child.send_signal(signal.SIGINT)
            out, err = child.communicate(timeout=60)
    assert (out, err) == ("interrupted [(1,)]\n", "")


# ── Processes ────────────────────────────────────────────────────────────────────────────────────────────────────────


def in_child(work: Callable[[], object]) -> str:
    """The result of a call in a process that was forked from this one."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(writing, str(work()).encode())
        except BaseException as error:  # noqa: BLE001 - reported to the parent
            os.write(writing, repr(error).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as result:
        text = result.read()
    os.waitpid(pid, 0)
    return text


def test_a_child_process_neither_uses_nor_closes_the_connections_of_its_parent(
    connect: Callable[..., Connections],
) -> None:
    connections = connect()
    parents = server_process(connections)

    def use_and_close() -> int:
        found = server_process(connections)
        connections.close()
        return found

    assert int(in_child(use_and_close)) != parents
    assert server_process(connections) == parents


def test_a_child_that_inherits_a_connection_in_use_leaves_it_alone(connect: Callable[..., Connections]) -> None:
    connections = connect()

    def leave() -> int:
        entered.__exit__(None, None, None)
        return server_process(connections)

    entered = connections.use("ask")
    with entered as connection:
        child = in_child(leave)
        assert int(child) != connection.info.backend_pid
        assert connection.execute(MY_PID).fetchall() == [(connection.info.backend_pid,)]


# ── What libpq knows ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_service_files_password_files_and_the_environment_work_as_for_psql(
    postgres_server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    role = f"reader_{os.getpid()}"
    postgres_server.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'a:b\\c' IN ROLE password_users")
    try:
        services, passwords = tmp_path / "services", tmp_path / "passwords"
        services.write_text(f"[team]\nhost=127.0.0.1\nport={postgres_server.port}\nuser={role}\ndbname={DATABASE}\n")
        passwords.write_text(f"127.0.0.1:{postgres_server.port}:*:{role}:a\\:b\\\\c\n")
        passwords.chmod(0o600)
        monkeypatch.setenv("PGSERVICEFILE", str(services))
        monkeypatch.setenv("PGPASSFILE", str(passwords))
        who = "SELECT current_user::text"
        for url in ("postgresql://?service=team", f"postgresql://{role}@127.0.0.1:{postgres_server.port}/{DATABASE}"):
            connections = Connections(parse_address(url))
            assert connections.execute("ask", who, retry=True) == [(role,)]
            connections.close()
        monkeypatch.setenv("PGHOST", str(postgres_server.folder))
        monkeypatch.setenv("PGPORT", str(postgres_server.port))
        monkeypatch.setenv("PGUSER", "postgres")
        connections = Connections(parse_address(f"postgresql:///{DATABASE}"))
        assert connections.execute("ask", who, retry=True) == [("postgres",)]
        connections.close()
    finally:
        postgres_server.execute(f"DROP ROLE {role}")


def test_a_host_that_is_down_is_passed_over(postgres_server: PostgresServer) -> None:
    hosts = f"127.0.0.1:{free_port()},127.0.0.1:{postgres_server.port}"
    connections = Connections(
        parse_address(f"postgresql://postgres@{hosts}/{DATABASE}?target_session_attrs=read-write")
    )
    assert connections.execute("ask", "SELECT 1", retry=True) == [(1,)]
    connections.close()


def test_writes_follow_the_primary_when_it_moves_to_another_host() -> None:
    with PostgresServer.create() as first, PostgresServer.create() as second:
        second.configure(default_transaction_read_only=True)
        hosts = f"127.0.0.1:{first.port},127.0.0.1:{second.port}"
        connections = Connections(
            parse_address(f"postgresql://postgres@{hosts}/{DATABASE}?target_session_attrs=read-write")
        )
        where, write = "SELECT inet_server_port()", "CREATE TABLE written ()"
        assert connections.execute("ask", where, retry=True) == [(first.port,)]
        second.configure(default_transaction_read_only=False)
        first.configure(default_transaction_read_only=True)
        connections.execute("write", write, retry=False)
        assert connections.execute("ask", where, retry=True) == [(second.port,)]
        connections.close()


def test_a_server_that_restarts_is_waited_for_by_those_who_were_connected() -> None:
    with PostgresServer.create() as server:
        connections = Connections(parse_address(server.url()))
        before = server_process(connections)
        server.kill_9()
        restart = threading.Thread(target=server.start)
        restart.start()
        try:
            assert connections.execute("ask", "SELECT 1", retry=False) == [(1,)]
        finally:
            restart.join()
        assert server_process(connections) != before
        connections.close()


def test_without_the_driver_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "psycopg"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "segue.stores.postgres.driver")
    monkeypatch.delattr("segue.stores.postgres.driver")
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtraError, match="the Postgres driver is not installed") as missing:
        Connections(parse_address("postgresql://db/x")).execute("ask", "SELECT 1", retry=True)
    assert missing.value.extra == "postgres"
    assert isinstance(missing.value, SegueError)


# ── Poolers ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.needs("pgbouncer")
def test_nothing_is_prepared_through_a_pooler_that_changes_the_server_process(postgres_server: PostgresServer) -> None:
    with PgBouncer(postgres_server) as bouncer:
        connections = Connections(parse_address(bouncer.url()))
        with connections.use("ask") as connection:
            assert connection.prepare_threshold is None
        results: list[int] = []

        def ask() -> None:
            for number in range(20):
                for statement in ("SELECT %s::int + 1", "SELECT %s::int + 2"):
                    results.extend(row[0] for row in connections.execute("ask", statement, (number,), retry=False))

        threads = [threading.Thread(target=ask) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        connections.close()
    assert len(results) == 6 * 20 * 2
    assert sum(results) == 6 * 2 * (sum(range(20)) + 30)


def test_a_prepared_statement_that_is_gone_or_out_of_date_is_made_again(
    connect: Callable[..., Connections], postgres_server: PostgresServer, postgres_schema: str
) -> None:
    postgres_server.execute(f"CREATE SCHEMA {postgres_schema}")
    postgres_server.execute(f"CREATE TABLE {postgres_schema}.x AS SELECT 1 AS a")
    connections = connect()
    everything = f"SELECT * FROM {postgres_schema}.x"  # noqa: S608 - our own name
    assert connections.execute("ask", everything, retry=False) == [(1,)]
    postgres_server.execute(f"ALTER TABLE {postgres_schema}.x ADD b int DEFAULT 2")
    assert connections.execute("ask", everything, retry=False) == [(1, 2)]
    connections.execute("forget", "DO $$ BEGIN EXECUTE 'DEALLOCATE ALL'; END $$", retry=False)
    assert connections.execute("ask", everything, retry=False) == [(1, 2)]
    with connections.use("ask") as connection:
        assert connection.prepare_threshold is None

"""The servers of the tests are what they claim to be."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from tests.support.postgres import PostgresServer, wait_until
from tests.support.postgres_programs import find_versions
from tests.support.postgres_small_disk import small_disk_server

INSERT = "INSERT INTO kept VALUES (%s, repeat('x', 1000))"


def test_a_test_has_a_schema_of_its_own_that_does_not_exist_yet(
    postgres_server: PostgresServer, postgres_schema: str
) -> None:
    assert postgres_server.execute("SELECT to_regnamespace(%s)", [postgres_schema]) == [(None,)]
    postgres_server.execute(f"CREATE SCHEMA {postgres_schema}")
    assert postgres_server.execute("SELECT to_regnamespace(%s)::text", [postgres_schema]) == [(postgres_schema,)]


def test_the_server_of_the_run_syncs_what_it_commits(postgres_server: PostgresServer) -> None:
    asked = (
        "SELECT current_setting('fsync'), current_setting('synchronous_commit'), current_setting('full_page_writes')"
    )
    assert postgres_server.execute(asked) == [("on", "on", "on")]


def test_what_was_committed_is_there_after_a_kill_of_the_whole_server() -> None:
    with PostgresServer.create() as server:
        server.execute("CREATE TABLE kept (number int)")
        with server.connect() as left:
            left.execute("BEGIN; INSERT INTO kept VALUES (1)")
            server.execute("INSERT INTO kept VALUES (2)")
            server.kill_9()
            assert not server.is_running
            with pytest.raises(psycopg.OperationalError):
                left.execute("COMMIT")
        with pytest.raises(psycopg.OperationalError):
            server.execute("SELECT 1")
        server.restart()
        assert server.execute("SELECT * FROM kept") == [(2,)]


def test_settings_change_with_and_without_a_restart() -> None:
    with PostgresServer.create(synchronous_commit=False) as server:
        assert server.execute("SHOW synchronous_commit") == [("off",)]
        server.configure(synchronous_commit=True, max_connections=40)
        assert server.execute("SHOW synchronous_commit") == [("on",)]
        assert server.execute("SHOW max_connections") == [("40",)]
        server.configure(max_connections=None)
        assert server.execute("SHOW max_connections") == [("200",)]


def test_a_server_ends_with_the_process_that_started_it_even_by_kill_9() -> None:
    program = (
        "import os\n"
        "from tests.support.postgres import PostgresServer\n"
        "server = PostgresServer.create()\n"
        "print(server.folder, server.pid, server._keeper.pid, flush=True)\n"
        "input()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in sys.path)},
    )
    assert process.stdout is not None
    folder, pid, keeper = process.stdout.readline().split()
    assert Path(folder).is_dir()
    process.kill()
    process.communicate()
    wait_until(lambda: not Path(folder).exists() and not any(is_alive(int(number)) for number in (pid, keeper)))


@pytest.mark.needs("mounting")
def test_a_disk_that_is_full_refuses_rows_until_there_is_room() -> None:
    with small_disk_server() as server:
        server.execute("CREATE TABLE kept (number int, text text)")
        server.fill()
        acknowledged: list[object] = []
        with pytest.raises(psycopg.errors.DiskFull):
            acknowledged.extend(server.execute(INSERT, [number]) for number in range(1000))
        assert server.execute("SELECT count(*) FROM kept") == [(len(acknowledged),)]
        server.make_room()
        acknowledged.append(server.execute(INSERT, [-1]))
        assert server.execute("SELECT count(*) FROM kept") == [(len(acknowledged),)]


def is_alive(pid: int) -> bool:
    """Whether it runs; one that waits to be reaped does not."""
    found = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], check=False, capture_output=True, text=True)
    return bool(found.stdout.strip()) and not found.stdout.startswith("Z")


@pytest.mark.long
@pytest.mark.parametrize("major", find_versions())
def test_each_version_that_is_installed_runs(major: int) -> None:
    with PostgresServer.create(major=major) as server:
        assert str(server.execute("SHOW server_version")[0][0]).split(".")[0] == str(major)

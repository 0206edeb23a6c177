"""One server for all workers of a run, and one schema of it for each test; `tests/conftest.py` registers both."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import psycopg
import pytest

from tests.support.postgres import DISK, LOCK, MEMORY, PREFIX, PostgresServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.testing.harness_postgres import PostgresHarness
    from tests.support.pgbouncer import PgBouncer
    from tests.support.postgres_proxy import LoopbackProxy

SECONDS_OF_AN_HOUR = 60 * 60


@pytest.fixture(scope="session")
def postgres_server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[PostgresServer]:
    """The server of the run. Tests that change its settings or its life make one of their own."""
    folder = tmp_path_factory.getbasetemp()
    server = _shared(folder.parent if hasattr(request.config, "workerinput") else folder)
    yield server
    server.release()


@pytest.fixture
def postgres_schema(postgres_server: PostgresServer) -> Iterator[str]:
    """The name of a schema that does not exist yet, and is dropped after the test."""
    name = f"test_{uuid4().hex[:12]}"
    yield name
    drop_schema(postgres_server, name)


@pytest.fixture
def postgres_url(postgres_server: PostgresServer, postgres_schema: str) -> str:
    """The URL of an empty store: a schema that the first session creates, and that is dropped after the test."""
    return postgres_server.url(postgres_schema)


class PostgresPlaces:
    """Empty stores with their harnesses: tables that a test has used are emptied, since new ones take longer."""

    def __init__(self, server: PostgresServer, *, front: PgBouncer | LoopbackProxy | None = None) -> None:
        self._server = server
        self._front = server if front is None else front
        self._free: list[str] = []
        self._taken: list[tuple[str, PostgresHarness]] = []

    def take(self) -> PostgresHarness:
        # Later than this module, which is imported before the rewriting of its assertions is set up.
        from segue.testing.harness_postgres import PostgresHarness

        schema = self._free.pop() if self._free else f"worker_{uuid4().hex[:12]}"
        harness = PostgresHarness(self._front.url(schema), direct_url=self._server.url(schema))
        self._taken.append((schema, harness))
        return harness

    def give_back(self) -> None:
        """All that were taken. What cannot be emptied, because a test left a lock on it, is dropped."""
        while self._taken:
            schema, harness = self._taken.pop()
            try:
                harness.close()
                harness.clear()
                self._free.append(schema)
            except psycopg.Error:
                drop_schema(self._server, schema)
            finally:
                harness.close()


@pytest.fixture(scope="session")
def postgres_places(postgres_server: PostgresServer) -> PostgresPlaces:
    return PostgresPlaces(postgres_server)


@pytest.fixture
def postgres_harness(postgres_places: PostgresPlaces) -> Iterator[PostgresHarness]:
    """An empty store, with a harness that damages it."""
    yield postgres_places.take()
    postgres_places.give_back()


@pytest.fixture
def new_postgres_harness(postgres_url: str) -> Iterator[PostgresHarness]:
    """The same on a schema that does not exist yet."""
    from segue.testing.harness_postgres import PostgresHarness

    harness = PostgresHarness(postgres_url)
    yield harness
    harness.close()


def drop_schema(server: PostgresServer, name: str) -> None:
    """Drop it; a connection that a test left in the middle of a transaction is ended first."""
    with server.connect() as connection:
        connection.execute("SET lock_timeout = '2s'")
        statement = psycopg.sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(psycopg.sql.Identifier(name))
        try:
            connection.execute(statement)
        except psycopg.errors.LockNotAvailable:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_class ON pg_class.oid = relation"
                " WHERE relnamespace = %s::regnamespace AND pid <> pg_backend_pid()",
                [name],
            )
            connection.execute(statement)


def _shared(folder: Path) -> PostgresServer:
    state = folder / "postgres.json"
    with _locked(folder / "postgres.lock"):
        if state.exists():
            saved = json.loads(state.read_text(encoding="utf-8"))
            server = PostgresServer(Path(saved["folder"]), port=saved["port"])
            try:
                server.attach()
                return server
            except OSError:  # its last user has left it
                server.release()
        _remove_abandoned()
        server = PostgresServer.create()
        state.write_text(json.dumps({"folder": str(server.folder), "port": server.port}), encoding="utf-8")
        return server


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _remove_abandoned() -> None:
    """Remove the folders of servers whose keeper was killed too, so that nothing was left to remove them."""
    for lock in (lock for folder in (MEMORY, DISK) for lock in folder.glob(f"{PREFIX}*/{LOCK}")):
        try:
            if time.time() - lock.stat().st_mtime < SECONDS_OF_AN_HOUR:
                continue
            found = os.open(lock, os.O_RDONLY)
        except OSError:
            continue
        try:
            fcntl.flock(found, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(lock.parent, ignore_errors=True)
        except BlockingIOError:
            pass
        finally:
            os.close(found)

"""A dump that is made while sessions are written to is a library of its moment, and clients do not mix the two."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from segue.errors import SegueError
from segue.stores.postgres import PostgresStore
from segue.testing.events import metadata, turn
from tests.support.postgres import DATABASE
from tests.support.postgres_fixtures import drop_schema

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from segue.stores.postgres.writer import PostgresWriter
    from tests.support.postgres import PostgresServer


@pytest.fixture
def writer(postgres_server: PostgresServer, postgres_schema: str) -> Iterator[PostgresWriter]:
    """A session in use, with one turn."""
    store = PostgresStore(postgres_server.url(postgres_schema))
    with store.create("open", [metadata("open"), turn(1)]) as writer:
        yield writer
    store.close()


def dump(server: PostgresServer, schema: str, folder: Path) -> Path:
    file = folder / "sessions.dump"
    run(server, "pg_dump", "--format=custom", f"--schema={schema}", f"--file={file}", server.dsn())
    return file


def run(server: PostgresServer, program: str, *words: str) -> None:
    subprocess.run([str(server.programs / program), *words], check=True, capture_output=True)


@pytest.mark.usefixtures("writer")
def test_a_session_in_use_reads_as_interrupted_in_the_copy_and_continues(
    postgres_server: PostgresServer, postgres_schema: str, tmp_path: Path
) -> None:
    file = dump(postgres_server, postgres_schema, tmp_path)
    copy = f"{postgres_schema}_copy"
    postgres_server.execute(f"CREATE DATABASE {copy}")
    try:
        run(
            postgres_server,
            "pg_restore",
            "--exit-on-error",
            f"--dbname={postgres_server.dsn(database=copy)}",
            str(file),
        )
        url = postgres_server.url(postgres_schema).replace(f"///{DATABASE}?", f"///{copy}?")
        store = PostgresStore(url)
        # Its lease ends a moment later; that moment is now.
        postgres_server.execute(f"UPDATE {postgres_schema}.sessions SET lease_until = now()", database=copy)  # noqa: S608
        assert store.load("open").status == "interrupted"
        assert store.examine("open").damages == ()
        with store.open("open") as writer:
            writer.append(turn(2))
        store.create("new", [metadata("new")]).close()
        assert sorted(store.ids()) == ["new", "open"]
        store.close()
    finally:
        postgres_server.execute(f"DROP DATABASE {copy} WITH (FORCE)")


def test_a_client_whose_library_went_back_in_time_gets_an_error_and_mixes_nothing(
    postgres_server: PostgresServer, postgres_schema: str, tmp_path: Path, writer: PostgresWriter
) -> None:
    file = dump(postgres_server, postgres_schema, tmp_path)
    writer.append(turn(2))
    drop_schema(postgres_server, postgres_schema)
    run(postgres_server, "pg_restore", "--exit-on-error", f"--dbname={postgres_server.dsn()}", str(file))
    with pytest.raises(SegueError):
        writer.append(turn(3))
    store = PostgresStore(postgres_server.url(postgres_schema))
    assert store.load("open").turn_count == 1
    assert store.examine("open").damages == ()
    store.close()

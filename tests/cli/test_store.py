"""`segue store`: what a store is, its tables, its roles and its spaces."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest

import segue
from segue.cli.trash import format_size
from segue.stores.postgres import migrations
from tests.support.cli import Segue

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.postgres import PostgresServer


@pytest.fixture
def remote(tmp_path: Path, postgres_url: str) -> Segue:
    segue = Segue(tmp_path)
    segue.store = postgres_url
    return segue


@pytest.fixture
def team(postgres_server: PostgresServer, postgres_schema: str) -> Iterator[str]:
    """A role that may log in, and has no rights."""
    name = f"Team-{postgres_schema}"
    postgres_server.execute(f'CREATE ROLE "{name}" LOGIN')
    yield name
    postgres_server.execute(f'DROP OWNED BY "{name}"')
    postgres_server.execute(f'DROP ROLE "{name}"')


def lines(text: str) -> dict[str, str]:
    return dict(line.split(maxsplit=1) for line in text.splitlines())


def test_a_store_in_files_says_where_and_how_large_it_is(cli: Segue) -> None:
    cli.ok("new", "--id", "one")
    shown = lines(cli.ok("store", "info"))
    size = (cli.root / "one.jsonl").stat().st_size
    assert shown == {
        "store": cli.store,
        "sessions": "1",
        "size": format_size(size),
        "durability": "synced: a turn survives power loss",
    }
    facts = json.loads(cli.ok("store", "info", "--json"))
    assert facts == {"url": cli.store, "sessions": 1, "size_bytes": size, "durability": "synced", "server": None}


def test_a_store_without_a_server_has_nothing_to_create_and_no_spaces(cli: Segue) -> None:
    assert cli.ok("store", "create") == f"nothing to do: {cli.store} has no tables\n"
    assert cli.ok("store", "upgrade") == f"nothing to do: {cli.store} has no tables\n"
    assert json.loads(cli.ok("store", "create", "--json"))["version"] is None
    assert "has no spaces" in cli.refuses(2, "store", "add-space", "a", "--role", "a")
    assert cli.files() == {}


def test_info_before_there_are_tables_creates_none(
    remote: Segue, postgres_server: PostgresServer, postgres_schema: str
) -> None:
    shown = lines(remote.ok("store", "info"))
    assert shown["tables"] == f"none yet in schema {postgres_schema}"
    assert shown["role"] == "postgres, which may create the tables"
    assert shown["server"].startswith("Postgres ")
    assert "has no tables yet; to create them: segue store create" in remote.refuses(2, "store", "upgrade")
    assert postgres_server.execute("SELECT to_regnamespace(%s)", [postgres_schema]) == [(None,)]


def test_an_administrator_sets_up_a_library_for_a_team(
    remote: Segue, postgres_server: PostgresServer, postgres_schema: str, team: str
) -> None:
    made = remote.ok("store", "create", "--grant-write", team)
    assert made.startswith(f'created the tables, version 2\nGRANT USAGE ON SCHEMA "{postgres_schema}" TO "{team}";\n')
    assert remote.ok("store", "create") == "the tables are up to date, version 2\n"
    assert remote.ok("store", "upgrade", "--print-sql") == "the tables are up to date, version 2\n"
    assert remote.ok("store", "add-space", "team-a", "--role", team) == f"added space team-a for role {team}\n"
    again = remote.ok("store", "add-space", "team-a", "--role", team)
    assert again == f"space team-a for role {team} exists already\n"
    assert "there is a space team-a already" in remote.refuses(4, "store", "add-space", "team-a", "--role", "postgres")
    assert "there is no role 'nobody'" in remote.refuses(3, "store", "add-space", "b", "--role", "nobody")
    assert "cannot be the name of a space" in remote.refuses(2, "store", "add-space", "a b", "--role", team)
    owner = lines(remote.ok("store", "info"))
    assert owner["role"] == "postgres, which may read and write, in all spaces"
    assert owner["spaces"] == f"team-a (role {team})"
    remote.store = postgres_server.url(postgres_schema, user=team, space="team-a")
    remote.ok("new", "--id", "one")
    member = lines(remote.ok("store", "info"))
    assert (member["role"], member["space"], member["sessions"]) == (f"{team}, which may read and write", "team-a", "1")
    assert "connect as the owner" in remote.refuses(6, "store", "add-space", "c", "--role", team)
    assert "does not own the tables; connect" in remote.refuses(6, "store", "create", "--grant-read", "pg_monitor")


def test_the_printed_sql_is_what_an_administrator_can_run(
    remote: Segue, postgres_server: PostgresServer, postgres_schema: str, team: str
) -> None:
    script = remote.ok("store", "create", "--print-sql", "--grant-read", team)
    assert postgres_server.execute("SELECT to_regnamespace(%s)", [postgres_schema]) == [(None,)]
    psql = [
        str(postgres_server.programs / "psql"),
        "-qo",
        "/dev/null",
        "-v",
        "ON_ERROR_STOP=1",
        "-d",
        postgres_server.dsn(),
    ]
    subprocess.run(psql, input=script, check=True, text=True)
    assert remote.ok("store", "create") == "the tables are up to date, version 2\n"
    remote.ok("new", "--id", "one")
    remote.store = postgres_server.url(postgres_schema, user=team)
    assert lines(remote.ok("store", "info"))["role"] == f"{team}, which may read"
    assert remote.ok("list").startswith("one\t")


def test_info_says_what_a_role_without_rights_lacks(
    remote: Segue, postgres_server: PostgresServer, postgres_schema: str, team: str
) -> None:
    remote.ok("store", "create")
    remote.store = postgres_server.url(postgres_schema, user=team)
    shown = lines(remote.ok("store", "info"))
    assert shown["role"] == f"{team}, which may not read"
    assert shown["sessions"] == "unknown: no right to read"
    assert json.loads(remote.ok("store", "info", "--json"))["sessions"] is None


def test_tables_of_an_older_version_are_named_with_what_upgrades_them(
    remote: Segue, postgres_server: PostgresServer, postgres_schema: str
) -> None:
    remote.ok("store", "create")
    postgres_server.execute(f"UPDATE {postgres_schema}.migrations SET number = number - 2, needed_to_read = 0")  # noqa: S608
    assert "tables of version 0; 2 is needed); to upgrade its tables: segue store upgrade" in remote.refuses(6, "list")
    assert "CREATE TABLE sessions" in remote.ok("store", "upgrade", "--print-sql")


def test_the_first_tables_are_upgraded_and_versions_that_know_only_them_still_use_them(
    remote: Segue, postgres_server: PostgresServer, postgres_schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = next(iter(migrations.iter_migrations()))
    yesterday = segue.open(remote.store)
    with monkeypatch.context() as older:
        older.setattr(migrations, "iter_migrations", lambda: [first])
        older.setattr(migrations, "NEWEST", 1)
        yesterday.create(id="before").close()
    assert "tables of version 1; 2 is needed); to upgrade" in remote.refuses(6, "list")
    assert remote.ok("store", "upgrade", "--print-sql").count("CREATE") == 1
    assert remote.ok("store", "upgrade") == "upgraded the tables from version 1 to 2\n"
    assert remote.ok("show", "before")
    with monkeypatch.context() as older:
        older.setattr(migrations, "NEWEST", 1)
        for library in (yesterday, segue.open(remote.store)):
            with library.open("before") as session:
                session.add("user", "hello")
        assert [turn.content for turn in yesterday.load("before").turns] == ["hello", "hello"]
    listed = f"SELECT count(*) FROM pg_indexes WHERE schemaname = '{postgres_schema}' AND indexdef LIKE '%record%'"  # noqa: S608
    assert postgres_server.execute(listed) == [(17,)]


def test_the_password_is_not_shown(remote: Segue, postgres_server: PostgresServer, postgres_schema: str) -> None:
    remote.store = postgres_server.url(postgres_schema, password="s3cr3t")  # noqa: S106 - that of nobody
    for words in (["info"], ["info", "--json"], ["create"], ["create", "--print-sql"], ["upgrade"]):
        assert "s3cr3t" not in remote.ok("store", *words)

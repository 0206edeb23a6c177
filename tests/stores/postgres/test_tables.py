"""The tables: created once and only for a session, shared with nothing else, and used by versions that know them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from segue.console.exit_codes import Exit
from segue.errors import ReadOnlyError, SegueError, StorageError, TakenOverError
from segue.stores.postgres import PostgresStore, migrations
from segue.testing.events import metadata, turn
from tests.support.cli import Segue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.support.postgres import PostgresServer


class Database:
    """One schema of the server, as other programs see and change it."""

    def __init__(self, server: PostgresServer, schema: str, url: str) -> None:
        self._server = server
        self.schema = schema
        self.url = url

    def run(self, statement: str, *values: object) -> list[tuple[object, ...]]:
        return self._server.execute(statement.replace("{s}", self.schema), values)

    def relations(self) -> list[tuple[object, ...]]:
        """Every schema and everything in it, but for what other tests do."""
        return self.run(
            "SELECT n.oid, nspname, c.oid, relname, relfilenode FROM pg_namespace n"
            " LEFT JOIN pg_class c ON relnamespace = n.oid"
            " WHERE nspname !~ '^(test|worker|pg_toast|pg_temp)' OR nspname = '{s}' ORDER BY 1, 3"
        )

    def rows(self) -> list[tuple[object, ...]]:
        """All that sessions consist of, with the transactions that wrote it."""
        return [
            row
            for table in ("sessions", "events", "checkpoints", "blobs")
            for row in self.run(f"SELECT xmin::text, t::text FROM {{s}}.{table} t ORDER BY 2")  # noqa: S608
        ]

    def migrate(self, *, needed_to_read: int, needed_to_write: int) -> None:
        """What a newer version would do: it adds a column, and says who can still use the tables."""
        self.run("ALTER TABLE {s}.sessions ADD COLUMN mood text NOT NULL DEFAULT 'calm'")
        self.run("ALTER TABLE {s}.events ADD COLUMN mood text NOT NULL DEFAULT 'calm'")
        self.run("CREATE TABLE {s}.moods (mood text)")
        self.run(
            "INSERT INTO {s}.migrations (number, name, needed_to_read, needed_to_write) VALUES (3, 'moods', %s, %s)",
            needed_to_read,
            needed_to_write,
        )


@pytest.fixture
def database(postgres_server: PostgresServer, postgres_schema: str, postgres_url: str) -> Database:
    return Database(postgres_server, postgres_schema, postgres_url)


@pytest.fixture
def store(database: Database) -> Iterator[PostgresStore]:
    """With a session in it, and one in its trash."""
    store = PostgresStore(database.url)
    for name in ("session", "deleted"):
        store.create(name, [metadata(name), turn(1)]).close()
    store.trash.put("deleted")
    yield store
    store.close()


@pytest.fixture
def segue(tmp_path: Path, database: Database) -> Segue:
    segue = Segue(tmp_path)
    segue.store = database.url
    return segue


# ── Reading creates nothing ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("has_schema", [False, True])
def test_reading_an_empty_database_creates_nothing(segue: Segue, database: Database, has_schema: bool) -> None:  # noqa: FBT001
    if has_schema:
        database.run("CREATE SCHEMA {s}")
    before = database.relations()
    assert segue.call("list").code == 0
    assert segue.call("search", "login").code == 0
    assert segue.call("verify").code == 0
    assert segue.call("trash", "list").code == 0
    assert segue.call("show", "nothing").code == segue.call("resume", "nothing").code == Exit.NOT_FOUND
    assert segue.call("delete", "nothing", "--yes").code == Exit.NOT_FOUND
    assert database.relations() == before


def test_a_session_that_is_refused_creates_nothing(database: Database) -> None:
    before = database.relations()
    with pytest.raises(SegueError):
        PostgresStore(database.url).create("session", [turn(1)])
    assert database.relations() == before


# ── Neighbours ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", ["sessions", "spaces", "words_7", "sessions_recent"])
def test_tables_of_another_program_are_left_alone(segue: Segue, database: Database, name: str) -> None:
    database.run("CREATE SCHEMA {s}")
    database.run(f"CREATE TABLE {{s}}.{name} (id int PRIMARY KEY)")
    before = database.relations()
    assert segue.call("list").code == 0
    complaint = segue.refuses(Exit.STORAGE, "new", "--title", "hello")
    assert f'"{name}" already exists' in complaint
    assert "add schema=NAME to the URL" in complaint
    assert database.relations() == before


def test_a_table_called_migrations_of_another_program_is_not_mistaken_for_ours(
    segue: Segue, database: Database
) -> None:
    database.run("CREATE SCHEMA {s}")
    database.run("CREATE TABLE {s}.migrations (id int, migration text, batch int)")
    database.run("CREATE TABLE {s}.spaces (number int, name text)")
    before = database.relations()
    for command in (["list"], ["new", "--title", "hello"], ["search", "hello"]):
        complaint = segue.refuses(Exit.STORAGE, *command)
        assert f"the table migrations in the schema {database.schema} belongs to another program" in complaint
        assert "add schema=NAME to the URL" in complaint
    assert database.relations() == before


def test_two_schemas_of_one_database_are_two_stores(
    store: PostgresStore, database: Database, postgres_server: PostgresServer
) -> None:
    name = f"{database.schema}_2"
    other = PostgresStore(postgres_server.url(name))
    before = database.rows()
    assert list(other.ids()) == []
    with other.create("session", [metadata("session")]) as writer, store.open("session") as same:
        writer.append(turn(2))
        assert other.owner("session") is not None
        same.append(turn(3))
    other.delete("session")
    assert list(other.ids()) == []
    assert [event.id for event in store.read("session")][1:] == ["turn-1", "turn-3"]
    assert len(database.rows()) == len(before) + 1
    postgres_server.execute(f"DROP SCHEMA {name} CASCADE")
    other.close()


# ── Versions ────────────────────────────────────────────────────────────────────────────────────────────────────────


def read_all(store: PostgresStore) -> None:
    assert [head.id for head in store.heads()] == ["session"]
    assert store.load("session").turns == store.tail("session", 9)
    assert store.overview("session").turn_count == len(store.load("session").turns)
    assert store.examine("session").damages == ()
    assert [entry.head.id for entry in store.trash.entries()] == ["deleted"]
    assert store.queries is not None


WRITING: dict[str, Callable[[PostgresStore], object]] = {
    "create": lambda store: store.create("new", [metadata("new")]),
    "open": lambda store: store.open("session"),
    "delete": lambda store: store.delete("session"),
    "trash": lambda store: store.trash.put("session"),
    "restore": lambda store: store.trash.restore(next(iter(store.trash.entries())).key),
    "erase": lambda store: store.trash.erase(next(iter(store.trash.entries())).key),
}


def test_an_additive_change_by_a_newer_version_disturbs_nothing(store: PostgresStore, database: Database) -> None:
    """Also a writer that was open before it."""
    with store.open("session") as writer:
        writer.append(turn(2))
        database.migrate(needed_to_read=1, needed_to_write=1)
        writer.append(turn(3))
    for each in (store, PostgresStore(database.url)):
        read_all(each)
    new = PostgresStore(database.url)
    with new.open("session") as writer:
        writer.append(turn(4))
    new.create("new", [metadata("new"), turn(1)]).close()
    new.delete("new")
    read_all(new)
    assert [event.id for event in new.read("session")][1:] == [f"turn-{number}" for number in range(1, 5)]
    new.close()


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_change_that_only_newer_versions_can_write_leaves_reading(database: Database, when: str) -> None:
    """Whether a store was first used before the change or after it."""
    stores = [PostgresStore(database.url) for _ in WRITING]
    for store in stores if when == "before" else []:
        read_all(store)
    database.migrate(needed_to_read=1, needed_to_write=3)
    rows = database.rows()
    for store, write in zip(stores, WRITING.values(), strict=True):
        read_all(store)
        with pytest.raises(ReadOnlyError, match="newer version") as caught:
            write(store)
        assert "install a newer segue" in str(caught.value.hint)
        store.close()
    assert database.rows() == rows


def test_readers_do_not_notice_that_a_writer_looks_at_the_tables_again(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def find_place(*args: Any) -> object:  # noqa: ANN401 - those of the function
        seen.extend(store.ids())
        return migrations.find_place(*args)

    monkeypatch.setattr("segue.stores.postgres.tables.find_place", find_place)
    store.open("session").close()
    assert seen == ["session"]


@pytest.mark.parametrize("needed_to_write", [1, 3])
def test_an_upgrade_ends_the_writers_that_may_not_write_any_more_and_no_others(
    store: PostgresStore, database: Database, monkeypatch: pytest.MonkeyPatch, needed_to_write: int
) -> None:
    moods = migrations.Migration(3, "moods", "ALTER TABLE sessions ADD COLUMN mood text", 1, needed_to_write)
    known = list(migrations.iter_migrations())
    with store.open("session") as writer:
        writer.append(turn(2))
        with monkeypatch.context() as newer:
            newer.setattr(migrations, "iter_migrations", lambda: [*known, moods])
            assert migrations.create_tables(store.tables.connections, store.tables.address) == 2
        if needed_to_write == 1:
            writer.append(turn(3))
            return
        before = database.rows()
        for event in (turn(3), turn(2)):
            with pytest.raises(TakenOverError):
                writer.append(event)
        assert database.rows() == before
    with pytest.raises(ReadOnlyError, match="newer version"):
        store.open("session")


def test_a_change_that_only_newer_versions_can_read_is_a_clear_error(segue: Segue, database: Database) -> None:
    segue.ok("new", "--title", "hello")
    database.migrate(needed_to_read=3, needed_to_write=3)
    before = database.rows()
    for command in (["list"], ["search", "hello"], ["new", "--title", "hello"], ["verify"]):
        complaint = segue.refuses(Exit.STORAGE, *command)
        assert "was made by a newer version of Segue (tables of version 3, this one knows 2)" in complaint
        assert "install a newer segue" in complaint
    assert database.rows() == before


def test_tables_of_an_older_version_are_not_used_before_they_are_upgraded(
    store: PostgresStore, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrations, "NEWEST", 3)
    before = database.rows()
    new = PostgresStore(database.url)
    for use in (lambda: list(new.heads()), lambda: new.create("new", [metadata("new")])):
        with pytest.raises(StorageError, match="older version of Segue"):
            use()
    assert database.rows() == before
    assert list(store.ids()) == ["session"]
    new.close()

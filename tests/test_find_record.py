"""A record of a program is found by its id, in whichever session it is and whatever state the index is in."""

from __future__ import annotations

import sqlite3
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import segue
from segue.durable.folder import Folder
from segue.errors import DamagedError
from segue.index import Index
from segue.index.database import NAME
from segue.library import Library
from segue.model import Record, Turn
from segue.testing.events import START

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from segue.model import Event
    from tests.support.postgres import PostgresServer

STORES = ("journal", "memory", "cortext", "gptel", "ralph", "soleur", "postgres")


def record(id: str, **data: object) -> Record:
    return Record(kind="entry", data={"text": "hello", **data}, timestamp=START, id=id)


def put(library: Library, session_id: str, *events: Record | Turn, agent: str = "") -> None:
    with library.create(id=session_id, agent=agent) as session:
        session.record(*events)


@pytest.fixture
def index_folder(tmp_path: Path) -> Folder:
    return Folder(f"{tmp_path}/cache")


@pytest.fixture
def opened(tmp_path: Path, index_folder: Folder) -> Callable[[], Library]:
    """A journal as another process opens it."""
    return lambda: Library(segue.open(f"journal:{tmp_path}/store").store, index_folder=lambda: index_folder)


@pytest.fixture(params=STORES)
def lib(request: pytest.FixtureRequest, tmp_path: Path, index_folder: Folder) -> Iterator[Library]:
    url = f"{request.param}:{tmp_path}/store" if request.param != "memory" else "memory:"
    if request.param == "postgres":
        url = request.getfixturevalue("postgres_url")
    with Library(segue.open(url).store, index_folder=lambda: index_folder) as library:
        yield library


def test_a_record_is_found_in_whichever_session_it_is(lib: Library) -> None:
    assert lib.find_record("r1") is None
    first, second, half = record("r1", n=1), record("r2", n=2), record("half \ud800 \0", n=3)
    turn = Turn(role="user", content="r4", tokens=0, timestamp=START, id="r4")
    put(lib, "one", turn, first)
    put(lib, "two", second, half)
    found = {id: lib.find_record(id) for id in ("r1", "r2", half.id, "r4", "half", "r")}
    assert found.pop("r4") is found.pop("half") is found.pop("r") is None
    assert {id: one and (one[0], one[1].data) for id, one in found.items()} == {
        "r1": ("one", first.data),
        "r2": ("two", second.data),
        half.id: ("two", half.data),
    }


def test_only_those_of_an_agent_are_found_if_it_is_named(lib: Library) -> None:
    put(lib, "one", record("r1", n=1), agent="ada")
    put(lib, "two", record("r1", n=2), agent="bob")
    found = [lib.find_record("r1", agent=name) for name in ("ada", "bob", "eve")]
    assert [one and (one[0], one[1].data["n"]) for one in found] == [("one", 1), ("two", 2), None]
    assert lib.find_record("r1") in found


def test_what_was_recorded_or_deleted_since_is_known(lib: Library) -> None:
    put(lib, "one", record("r1"))
    assert lib.find_record("r1") is not None
    with lib.open("one") as session:
        session.record(record("r2"))
    assert [one and one[0] for one in map(lib.find_record, ("r1", "r2"))] == ["one", "one"]
    if lib.store.trash is not None:
        key = lib.discard("one")
        assert lib.find_record("r1") is lib.find_record("r2") is None
        lib.restore(key)
        assert [one and one[0] for one in map(lib.find_record, ("r1", "r2"))] == ["one", "one"]
    lib.delete("one")
    assert lib.find_record("r1") is lib.find_record("r2") is None


def test_another_process_finds_it_by_reading_one_session(opened: Callable[[], Library]) -> None:
    for number in range(5):
        put(opened(), f"s{number}", record(f"r{number}"))
    assert opened().find_record("r3") is not None
    put(opened(), "new", record("r9"))
    library = opened()
    read: list[str] = []
    asked = library.store.read

    def noticed(session_id: str, *, after: int = 0) -> Iterator[Event]:
        read.append(session_id)
        return asked(session_id, after=after)

    library.store.read = noticed  # type: ignore[method-assign]
    assert library.find_record("r3") is not None
    assert set(read) == {"s3"}
    assert library.find_record("r9") is not None
    assert set(read) == {"s3", "new"}


@pytest.mark.parametrize("state", ["missing", "damaged", "of another version", "in the way", "being written", "listed"])
def test_the_state_of_the_index_does_not_matter(
    opened: Callable[[], Library], index_folder: Folder, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(opened(), "one", record("r1"))
    path = index_folder.path_of(NAME)
    if state == "in the way":
        Path(index_folder.path).write_bytes(b"a file")
    elif state != "missing":
        with Index(index_folder) as index:
            if state == "listed":
                from segue.index import StoreSource

                index.refresh([StoreSource(opened().store)], with_text=False)
    connection = None
    if state == "damaged":
        Path(path).write_bytes(b"not a database" * 1000)
    elif state in {"of another version", "being written"}:
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute("PRAGMA user_version = 3" if state == "of another version" else "BEGIN IMMEDIATE")
    monkeypatch.setattr("segue.index.Index", partial(Index, timeout_seconds=0))
    found = [opened().find_record(id) for id in ("r1", "r2")]
    assert [one and one[0] for one in found] == ["one", None]
    if connection is not None:
        connection.close()


def test_an_index_that_is_wrong_is_not_believed(opened: Callable[[], Library], index_folder: Folder) -> None:
    put(opened(), "one", record("r1"), record("r2"))
    assert opened().find_record("r1") is not None
    connection = sqlite3.connect(index_folder.path_of(NAME), isolation_level=None)
    connection.execute("UPDATE records SET seq = seq + 1 WHERE id = 'r1'")
    connection.execute("UPDATE sessions SET revision = 'old'")
    connection.execute("UPDATE sessions SET mark = 'another event'")
    connection.close()
    found = opened().find_record("r1")
    assert found is not None
    assert (found[0], found[1].id) == ("one", "r1")


def test_a_damaged_session_affects_only_itself(opened: Callable[[], Library], tmp_path: Path) -> None:
    put(opened(), "one", record("r1"), record("r2", word="Goodbye"))
    put(opened(), "two", record("r3"))
    path = tmp_path / "store" / "one.jsonl"
    path.write_bytes(path.read_bytes().replace(b"Goodbye", b"goodbye"))
    for _ in range(2):  # without an index, and with it
        assert [one and one[0] for one in map(opened().find_record, ("r2", "r3"))] == [None, "two"]


def test_a_damaged_record_in_postgres_is_an_error(
    postgres_url: str, postgres_schema: str, postgres_server: PostgresServer
) -> None:
    with segue.open(postgres_url) as library:
        put(library, "one", record("r1"))
        postgres_server.execute(f"UPDATE {postgres_schema}.events SET body = body || 'x' WHERE id = 'r1'")  # noqa: S608
        with pytest.raises(DamagedError, match="one"):
            library.find_record("r1")


def test_sessions_of_another_space_are_not_found(postgres_server: PostgresServer, postgres_schema: str) -> None:
    with segue.open(postgres_server.url(postgres_schema)) as library:
        put(library, "one", record("r1"))
        assert library.store.administration is not None
        library.store.administration.add_space("team", "postgres")
    with segue.open(postgres_server.url(postgres_schema, space="team")) as team:
        assert team.find_record("r1") is None
        put(team, "other", record("r1"))
        assert (team.find_record("r1") or [None])[0] == "other"

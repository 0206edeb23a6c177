"""Many sessions move to Postgres and back in few statements, and each of them arrives whole or not at all."""

from __future__ import annotations

import hashlib
import os
import signal
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from segue.errors import DamagedError, SessionExistsError, StorageError
from segue.model import Attachment
from segue.queries import Filters
from segue.stores.journal import JournalStore
from segue.stores.memory import MemoryStore
from segue.stores.postgres import PostgresStore
from segue.stores.postgres import bulk as postgres_bulk
from segue.stores.postgres.driver import TimedConnection
from segue.stores.postgres.indexing import index_abandoned
from segue.testing.conformance.chapter import create_and_close, create_session
from segue.testing.events import every_kind, fork, moment, turn, turns
from segue.transfer import convert_many
from segue.transfer.convert import Converted, Unconverted
from segue.transfer.convert_many import copy_all

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from segue.store import Store
    from tests.support.postgres import PostgresServer

GONE = f"sha256:{'0' * 64}"


@pytest.fixture
def postgres(postgres_url: str) -> Iterator[PostgresStore]:
    store = PostgresStore(postgres_url.removeprefix("postgresql:"))
    yield store
    store.close()


@pytest.fixture
def other(postgres_server: PostgresServer, postgres_schema: str) -> Iterator[PostgresStore]:
    """A second store in the same database."""
    store = PostgresStore(postgres_server.url(f"{postgres_schema}_other").removeprefix("postgresql:"))
    yield store
    store.close()
    postgres_server.execute(f"DROP SCHEMA IF EXISTS {postgres_schema}_other CASCADE")


@pytest.fixture
def source() -> MemoryStore:
    """Three plain sessions, one with every kind of event, branches and blobs, and one long one."""
    store = MemoryStore()
    for name in ("a", "b", "c"):
        create_and_close(store, *turns(1, 3), session_id=name)
    with create_session(store, *turns(1, 3), *every_kind(), fork("side", 2), session_id="kinds") as writer:
        readme, image = writer.put_blob(b"# Login\n"), writer.put_blob(b"\xff\xd8")
        writer.append(
            Attachment(path="README.md", hash=readme, size_bytes=8, timestamp=moment(1), id="attached"),
            replace(turn(9, "\0 \ud83d", branch="side"), parts=({"type": "image", "source": {"blob": [image]}},)),
            Attachment(path="gone", hash=GONE, size_bytes=8, timestamp=moment(1), id="gone"),
        )
    create_and_close(store, *turns(1, 250), session_id="long")
    return store


def ids(store: Store) -> list[str]:
    return sorted(store.ids())


def content(store: Store) -> dict[str, object]:
    """Every session with everything, as readers see it."""
    return {id: (store.load(id), list(store.read(id)), store.overview(id), store.head(id)) for id in ids(store)}


def copied(source: Store, target: Store) -> list[Converted]:
    found = list(copy_all(source, target, ids(source)))
    done = [one for one in found if isinstance(one, Converted)]
    assert done == found
    return done


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every statement that is sent from now on."""
    sent: list[str] = []
    _before_each(monkeypatch.setattr, sent.append)
    return sent


def _before_each(set_attribute: Callable[..., object], call: Callable[[str], object]) -> None:
    original = TimedConnection.execute

    def execute(self: TimedConnection, query: str, *args: object, **kwargs: object) -> object:
        call(query)
        return original(self, query, *args, **kwargs)  # type: ignore[call-overload]

    set_attribute(TimedConnection, "execute", execute)


def test_there_and_back_every_session_is_the_same(
    source: MemoryStore, postgres: PostgresStore, other: PostgresStore, tmp_path: Path
) -> None:
    journal = JournalStore(str(tmp_path))
    for here, there in ((source, postgres), (postgres, other), (other, journal)):
        done = copied(here, there)
        assert [(one.session_id, one.added == one.events) for one in done] == [(id, True) for id in ids(source)]
        lost = [loss for one in done for loss in one.losses]
        assert lost == [f"blob {name} is missing in {here.url}" for name in ("sha256:00", GONE, "sha256:22")]
        assert content(there) == content(source)
        for data in (b"# Login\n", b"\xff\xd8"):
            assert there.get_blob("kinds", f"sha256:{hashlib.sha256(data).hexdigest()}") == data
        assert [one.added for one in copied(here, there)] == [0] * 5


def test_a_copy_can_be_continued_there(source: MemoryStore, postgres: PostgresStore) -> None:
    copied(source, postgres)
    for name in ids(source):
        assert postgres.owner(name) is None
        with postgres.open(name, timeout_seconds=0) as writer:
            writer.append(replace(turn(900), branch=writer.branch))
    assert [one.added for one in copied(source, postgres)] == [0] * 5
    with source.open("a") as writer:
        writer.append(turn(7))
    found = [one for one in copy_all(source, postgres, ["a", "b"]) if isinstance(one, Unconverted)]
    assert [(one.session_id, type(one.error)) for one in found] == [("a", SessionExistsError)]


def test_a_copy_is_found_by_its_words_at_once(
    source: MemoryStore, postgres: PostgresStore, postgres_server: PostgresServer, postgres_schema: str
) -> None:
    def words() -> list[tuple[object, ...]]:
        rows = "SELECT s.id, w.seq, part, kind, length, is_cut, w.words::text FROM {s}.words w JOIN {s}.sessions s"
        text = f"{rows} ON session = key ORDER BY 1, 2, 3"
        return postgres_server.execute(text.replace("{s}", postgres_schema))

    copied(source, postgres)
    assert postgres.queries is not None
    assert [found.session.head.id for found in postgres.queries.search("250", Filters())] == ["long"]
    at_once = words()
    postgres_server.execute(f"TRUNCATE {postgres_schema}.words")
    due = "UPDATE {s}.sessions SET words_seq = 0, words_due = true"
    postgres_server.execute(due.replace("{s}", postgres_schema))
    index_abandoned(postgres.tables, 0)
    assert at_once == words() != []


def test_what_is_new_in_the_source_is_added(source: MemoryStore, postgres: PostgresStore) -> None:
    copied(source, postgres)
    with source.open("a") as writer:
        writer.append(turn(7), turn(8))
    assert [one.added for one in copied(source, postgres)] == [2, 0, 0, 0, 0]
    assert list(postgres.read("a")) == list(source.read("a"))
    assert [one.added for one in copied(source, postgres)] == [0] * 5


def test_hundreds_of_sessions_take_a_handful_of_statements(
    postgres: PostgresStore, other: PostgresStore, statements: list[str]
) -> None:
    source, back = MemoryStore(), MemoryStore()
    for number in range(convert_many._COMPARED_SESSIONS + 1):
        create_and_close(source, turn(1), session_id=f"s{number}")
    create_and_close(postgres, session_id="first")
    create_and_close(other, session_id="first")
    for here, there, most in (
        (source, postgres, 20),
        (source, postgres, 6),
        (postgres, back, 12),
        (postgres, other, 30),
    ):
        del statements[:]
        assert len(copied(here, there)) > 500
        assert len(statements) <= most


def test_a_session_larger_than_a_statement_arrives_whole(
    source: MemoryStore, postgres: PostgresStore, monkeypatch: pytest.MonkeyPatch, statements: list[str]
) -> None:
    monkeypatch.setattr(postgres_bulk, "_STATEMENT_BYTES", 10_000)
    monkeypatch.setattr(convert_many, "_PORTION_BYTES", 10_000)
    copied(source, postgres)
    assert sum("INSERT INTO" in statement and ".events" in statement for statement in statements) > 5
    assert content(postgres) == content(source)


def test_killed_at_any_statement_it_leaves_no_half_session_and_goes_on(
    source: MemoryStore, postgres: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(convert_many, "_COMPARED_SESSIONS", 2)
    expected = content(source)
    for number in range(1, 100):
        pid = os.fork()
        if pid == 0:
            _copy_and_die(source, postgres, number)
        if os.waitpid(pid, 0)[1] == 0:
            break
        assert content(postgres).items() <= expected.items()
        for name in set(ids(postgres)) - {"a"}:  # the first stays, so that each run goes on after it
            postgres.delete(name)
    assert number > 10
    assert content(postgres) == expected
    assert [one.added for one in copied(source, postgres)] == [0] * 5


def _copy_and_die(source: MemoryStore, postgres: PostgresStore, at: int) -> None:
    """In a process of its own: copy, and be killed before this statement; leave with 0 if there were fewer."""
    code = 1
    try:
        left = [at]

        def count(_: str) -> None:
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)

        _before_each(setattr, count)
        list(copy_all(source, postgres, ids(source)))
        code = 0
    finally:
        os._exit(code)


def test_a_copy_that_the_database_changes_is_found(
    source: MemoryStore, postgres: PostgresStore, postgres_server: PostgresServer, postgres_schema: str
) -> None:
    create_and_close(postgres, session_id="first")
    postgres_server.execute(f"""
        CREATE FUNCTION {postgres_schema}.spoil() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN NEW.body = overlay(NEW.body PLACING 'X'::bytea FROM 40); RETURN NEW; END $$""")
    postgres_server.execute(f"""
        CREATE TRIGGER spoil BEFORE INSERT ON {postgres_schema}.events FOR EACH ROW WHEN (NEW.id = 'turn-200')
        EXECUTE FUNCTION {postgres_schema}.spoil()""")
    found = {one.session_id: one for one in copy_all(source, postgres, ids(source))}
    wrong = found.pop("long")
    assert isinstance(wrong, Unconverted)
    assert "session long differs after it was copied to postgresql://" in str(wrong.error)
    assert all(isinstance(one, Converted) for one in found.values())


def spoil(server: PostgresServer, schema: str) -> None:
    """Change a byte of an event and of a blob."""
    event = "UPDATE {s}.events SET body = overlay(body PLACING 'X'::bytea FROM 40) WHERE id = 'turn-200'"
    blob = "UPDATE {s}.blobs SET data = 'other' WHERE octet_length(data) = 2"
    for statement in (event, blob):
        server.execute(statement.replace("{s}", schema))


def test_a_byte_that_changed_in_the_copy_is_found_by_the_next_run(
    source: MemoryStore, postgres: PostgresStore, postgres_server: PostgresServer, postgres_schema: str
) -> None:
    copied(source, postgres)
    spoil(postgres_server, postgres_schema)
    found = {one.session_id: one for one in copy_all(source, postgres, ids(source))}
    wrong = {id: type(one.error) for id, one in found.items() if isinstance(one, Unconverted)}
    assert wrong == {"kinds": DamagedError, "long": DamagedError}


def test_a_damaged_session_costs_only_itself(
    source: MemoryStore, postgres: PostgresStore, postgres_server: PostgresServer, postgres_schema: str
) -> None:
    copied(source, postgres)
    spoil(postgres_server, postgres_schema)
    lose = "DELETE FROM {s}.events e USING {s}.sessions s WHERE e.session = s.key AND s.id = 'b' AND e.seq = 2"
    postgres_server.execute(lose.replace("{s}", postgres_schema))
    target = MemoryStore()
    found = {one.session_id: one for one in copy_all(postgres, target, ids(postgres))}
    wrong = {id: type(one.error) for id, one in found.items() if isinstance(one, Unconverted)}
    assert wrong == {"b": DamagedError, "kinds": DamagedError, "long": DamagedError}
    assert ids(target) == ["a", "c"]


def test_a_session_that_another_process_created_meanwhile_is_left_alone(
    source: MemoryStore, postgres: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    rival = PostgresStore(postgres.url.removeprefix("postgresql:"))

    def interfere(statement: str) -> None:
        if "jsonb_to_recordset" in statement:
            monkeypatch.undo()
            create_and_close(rival, turn(5), session_id="b")

    _before_each(monkeypatch.setattr, interfere)
    found = list(copy_all(source, postgres, ids(source)))
    wrong = {one.session_id: type(one.error) for one in found if isinstance(one, Unconverted)}
    assert wrong == {"b": SessionExistsError}
    assert [event.id for event in postgres.read("b")][1:] == ["turn-5"]
    rival.close()


def test_what_is_in_the_trash_stays_there(source: MemoryStore, postgres: PostgresStore, other: PostgresStore) -> None:
    copied(source, postgres)
    postgres.trash.put("a")
    copied(postgres, other)
    assert ids(other) == ["b", "c", "kinds", "long"]
    assert list(other.trash.entries()) == []
    create_and_close(other, turn(1), session_id="a")
    other.trash.put("a")
    assert {one.session_id: one.added for one in copied(source, other)}["a"] == 4


def test_when_the_server_is_gone_it_ends_with_one_error(source: MemoryStore) -> None:
    store = PostgresStore("//nobody@127.0.0.1:1/none")
    with pytest.raises(StorageError, match="cannot connect to postgresql://nobody@"):
        list(copy_all(source, store, ids(source)))

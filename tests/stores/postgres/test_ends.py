"""A store that has seen a session asks for what is new, and answers as one that sees it for the first time."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from segue.errors import DamagedError
from segue.library import Library
from segue.model import Record
from segue.stores.postgres.connections import Connections
from segue.testing.conformance.chapter import ID
from segue.testing.events import metadata, turn, turns
from tests.support.journals import START

if TYPE_CHECKING:
    from segue.store import Store
    from segue.testing.harness_postgres import PostgresHarness
    from tests.support.postgres import PostgresServer


class Rows:
    """The tables, for statements of another program; {s} is the schema."""

    def __init__(self, server: PostgresServer, harness: PostgresHarness) -> None:
        self._server = server
        self._schema = harness.address.schema

    def run(self, statement: str) -> None:
        self._server.execute(statement.replace("{s}", self._schema))


@pytest.fixture
def rows(postgres_server: PostgresServer, postgres_harness: PostgresHarness) -> Rows:
    return Rows(postgres_server, postgres_harness)


@pytest.fixture
def store(postgres_harness: PostgresHarness) -> Store:
    store = postgres_harness.make()
    with store.create(ID, [metadata(ID)]):
        pass
    return store


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is asked of the server, by what it is for."""
    seen: list[str] = []
    execute = Connections._execute

    def watched(self: Connections, doing: str, *args: object, **options: object) -> object:
        seen.append(doing.split(maxsplit=1)[0])
        return execute(self, doing, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Connections, "_execute", watched)
    return seen


def test_a_session_that_is_opened_again_is_not_read_again(store: Store, asked: list[str]) -> None:
    for number in range(2, 6):
        asked.clear()
        with store.open(ID) as writer:
            writer.append(turn(number), ids_are_new=True)
    assert asked == ["look", "open", "append", "release"]


def test_every_answer_is_that_of_a_store_that_knows_nothing(store: Store, postgres_harness: PostgresHarness) -> None:
    choice = random.Random(7)
    stores = [store, postgres_harness.make()]
    number = 1
    for _ in range(40):
        with choice.choice(stores).open(ID) as writer:
            for _ in range(choice.choice([0, 1, 1, 2, 60])):
                number += 1
                name = choice.choice(["", "state"])
                record = Record(kind="k", name=name, data={"n": number}, timestamp=START, id=f"r-{number}")
                writer.append(turn(number), record, ids_are_new=choice.random() < 0.5)
        cold = postgres_harness.make()
        for warm in stores:
            assert warm.overview(ID) == cold.overview(ID)
            assert warm.tail(ID, 3) == cold.tail(ID, 3)
    with store.open(ID) as writer, pytest.raises(Exception, match="already has another event"):
        writer.append(turn(number, "something else"))


def test_events_that_a_server_lost_are_not_known(store: Store, postgres_harness: PostgresHarness, rows: Rows) -> None:
    """A standby that did not have the last event becomes the primary, and others record another one there."""
    with store.open(ID) as writer:
        writer.append(*turns(2, 4))
        writer.append(Record(kind="k", name="state", data={"of": "the lost one"}, timestamp=START, id="lost"))
    rows.run("DELETE FROM {s}.events WHERE id = 'lost'")
    rows.run("UPDATE {s}.sessions SET seq = seq - 1")
    with postgres_harness.make().open(ID) as writer:
        writer.append(turn(9))
    assert store.overview(ID) == postgres_harness.make().overview(ID)
    with store.open(ID) as writer:
        assert writer.overview == postgres_harness.make().overview(ID)
        assert not writer.overview.records


def test_a_damaged_end_is_found_by_a_store_that_knows_it(store: Store, rows: Rows) -> None:
    with store.open(ID) as writer:
        writer.append(*turns(2, 4))
    rows.run("UPDATE {s}.events SET body = set_byte(body, 9, 0) WHERE seq = 4")
    for read in (store.overview, store.open, lambda name: store.tail(name, 1)):
        with pytest.raises(DamagedError):
            read(ID)


def test_what_a_caller_changes_in_an_overview_is_its_own(store: Store) -> None:
    with store.open(ID) as writer:
        writer.append(Record(kind="k", name="state", data={"n": 1}, timestamp=START, id="r-1"))
    for _ in range(2):
        store.overview(ID).records["state"].data["n"] = 2
        with store.open(ID) as writer:
            writer.overview.records["state"].data["n"] = 3
    assert store.overview(ID).records["state"].data == {"n": 1}


def test_words_that_are_not_indexed_at_once_are_found_at_once(store: Store, asked: list[str]) -> None:
    """Only the first of many short uses of a session indexes its words; the others leave them to a thread."""
    for number, word in enumerate(["quokka", "wombat", "numbat"], start=2):
        with store.open(ID) as writer:
            writer.append(turn(number, word))
    assert asked.count("index") <= 2
    for word in ("quokka", "wombat", "numbat"):
        assert [result.session_id for result in Library(store).search(word)] == [ID]

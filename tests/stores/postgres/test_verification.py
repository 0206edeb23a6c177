"""Nothing that a user sees of a session can be wrong without being found, wherever in the tables it is."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segue.console.exit_codes import Exit
from segue.errors import DamagedError, UsageError
from segue.testing.conformance.chapter import ID
from segue.testing.events import every_kind, metadata, turn, turns
from tests.support.cli import Segue
from tests.transfer.test_convert import sessions

if TYPE_CHECKING:
    from pathlib import Path

    from segue.model import Event
    from segue.store import Store
    from segue.testing.harness_postgres import PostgresHarness
    from tests.support.postgres import PostgresServer
    from tests.support.postgres_fixtures import PostgresPlaces

LONG = 150
"""So many events that there is a checkpoint."""


class Rows:
    """The tables of one store, for statements of another program."""

    def __init__(self, server: PostgresServer, schema: str) -> None:
        self._server = server
        self._schema = schema

    def run(self, statement: str, *values: object) -> list[tuple[object, ...]]:
        """{s} is the schema, and {mine} is true of the rows of the session."""
        mine = "session = (SELECT key FROM {s}.sessions WHERE id = 'session')"
        return self._server.execute(statement.replace("{mine}", mine).replace("{s}", self._schema), values)


@pytest.fixture
def rows(postgres_server: PostgresServer, postgres_harness: PostgresHarness) -> Rows:
    return Rows(postgres_server, postgres_harness.address.schema)


@pytest.fixture
def store(postgres_harness: PostgresHarness) -> Store:
    store = postgres_harness.make()
    with store.create("session", [metadata("session")]) as writer:
        writer.append(*turns(1, LONG))
        writer.append(*every_kind())
    store.create("other", [metadata("other"), turn(1)]).close()
    return store


def places(store: Store) -> list[str]:
    """Where the damages of the session are; the other one has none."""
    assert store.examine("other").damages == ()
    examination = store.examine("session")
    assert all(damage.reason for damage in examination.damages)
    return [damage.place for damage in examination.damages]


def test_a_session_as_its_writer_left_it_is_sound(store: Store, rows: Rows) -> None:
    assert rows.run("SELECT count(*)::int FROM {s}.checkpoints") == [(1,)]
    assert places(store) == []


@pytest.mark.parametrize("seq", [1, 2, 75, LONG])
def test_a_changed_byte_of_a_body_is_found(store: Store, rows: Rows, seq: int) -> None:
    rows.run("UPDATE {s}.events SET body = set_byte(body, 9, get_byte(body, 9) # 1) WHERE seq = %s AND {mine}", seq)
    assert places(store) == [f"event {seq}"]


def test_a_changed_id_of_an_event_is_found(store: Store, rows: Rows) -> None:
    rows.run("UPDATE {s}.events SET id = 'turn-0' WHERE seq = 5 AND {mine}")
    assert places(store) == ["event 5"]


def test_events_with_exchanged_numbers_are_found(store: Store, rows: Rows) -> None:
    for old, new in ((5, -5), (6, 5), (-5, 6)):
        rows.run("UPDATE {s}.events SET seq = %s WHERE seq = %s AND {mine}", new, old)
    assert places(store) == ["event 5", "event 6"]


@pytest.mark.parametrize("change", ["branch = 'elsewhere'", "kind = 'note'", "branch = NULL"])
def test_a_turn_in_another_branch_or_of_another_kind_by_its_columns_is_found(
    store: Store, rows: Rows, change: str
) -> None:
    rows.run("UPDATE {s}.events SET {change} WHERE seq = 5 AND {mine}".replace("{change}", change))
    assert places(store) == ["event 5"]


@pytest.mark.parametrize("seqs", [[1], [1, 2], [75], [75, 76], [LONG]])
def test_deleted_events_are_found(store: Store, rows: Rows, seqs: list[int]) -> None:
    rows.run("DELETE FROM {s}.events WHERE seq = ANY(%s) AND {mine}", seqs)
    assert places(store) == [f"event {seqs[0]}"]
    with pytest.raises(DamagedError):
        store.load("session")
    with pytest.raises(DamagedError):
        list(store.read("session"))


def test_deleted_events_at_the_end_are_found_by_every_reader(store: Store, rows: Rows) -> None:
    ((last,),) = rows.run("SELECT seq FROM {s}.sessions WHERE id = 'session'")
    rows.run("DELETE FROM {s}.events WHERE seq = %s AND {mine}", last)
    assert places(store) == [f"event {last}"]
    for read in (store.load, store.overview, store.open, lambda name: store.tail(name, 1)):
        with pytest.raises(DamagedError):
            read("session")


def test_an_event_after_the_last_one_that_was_recorded_is_found(store: Store, rows: Rows) -> None:
    rows.run(
        "INSERT INTO {s}.events SELECT space, session, seq + 1000, 'more', kind, branch, body FROM {s}.events"
        " WHERE seq = 5 AND {mine}"
    )
    assert places(store) == ["event 1005"]


@pytest.mark.parametrize(
    ("change", "columns"),
    [
        ("turn_count = turn_count + 1", ["turn_count"]),
        ("title = 'Another title'", ["title"]),
        ("agent = 'nobody', status = 'completed'", ["agent", "status"]),
        ("tags = tags || ARRAY['more']", ["tags"]),
        ("branch = 'elsewhere'", ["branch"]),
        ("summary = '', usage = '{\"input\": 5}'", ["summary", "usage"]),
        ("tool = 'x', project = 'x', folder = 'x', git_branch = 'x'", ["tool", "project", "folder", "git_branch"]),
        ("updated_at = updated_at + interval '1 day'", ["updated_at"]),
        ("recent_at = recent_at - interval '1 day'", ["recent_at"]),
        ("created_at = created_at - interval '1 second'", ["created_at"]),
    ],
)
def test_a_column_that_a_listing_shows_is_found_if_the_events_do_not_say_so(
    store: Store, rows: Rows, change: str, columns: list[str]
) -> None:
    rows.run("UPDATE {s}.sessions SET {change} WHERE id = 'session'".replace("{change}", change))
    assert places(store) == [f"column {name}" for name in columns]
    assert len(store.load("session").turns) > 0


def test_a_changed_checkpoint_is_found_and_nothing_is_read_from_it(store: Store, rows: Rows) -> None:
    before = store.load("session")
    rows.run("UPDATE {s}.checkpoints SET body = set_byte(body, 99, get_byte(body, 99) # 1) WHERE {mine}")
    assert places(store) == ["checkpoint"]
    for read in (store.overview, store.open, lambda name: store.tail(name, 1)):
        with pytest.raises(DamagedError, match="checkpoint"):
            read("session")
    assert store.load("session") == before


def test_a_checkpoint_of_another_event_or_session_is_found(store: Store, rows: Rows) -> None:
    rows.run("UPDATE {s}.checkpoints SET seq = seq - 1 WHERE {mine}")
    assert places(store) == ["checkpoint"]
    with store.create("third", [metadata("third")]) as writer:
        writer.append(*turns(2, LONG + 1))
    rows.run(
        "UPDATE {s}.checkpoints SET (seq, body) = (SELECT seq, body FROM {s}.checkpoints WHERE session ="
        " (SELECT key FROM {s}.sessions WHERE id = 'third')) WHERE {mine}"
    )
    assert places(store) == ["checkpoint"]


def test_a_deleted_checkpoint_costs_time_and_nothing_else(store: Store, rows: Rows) -> None:
    before = store.overview("session")
    rows.run("DELETE FROM {s}.checkpoints WHERE {mine}")
    assert places(store) == []
    assert store.overview("session") == before
    with store.open("session") as writer:
        writer.append(turn(1000))


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE {s}.sessions SET title = 'Another title', turn_count = 7 WHERE id = 'session'",
        "UPDATE {s}.checkpoints SET body = set_byte(body, 99, 0) WHERE {mine}",
        "UPDATE {s}.events SET branch = 'elsewhere' WHERE seq = 5 AND {mine}",
    ],
)
def test_recovery_derives_everything_again_and_loses_no_event(store: Store, rows: Rows, change: str) -> None:
    before = store.load("session")
    rows.run(change)
    recovery = store.recover("session")
    assert recovery.session == before == store.load("session")
    assert recovery.kept == before.seq
    assert places(store) == []
    assert store.head("session").turn_count == before.turn_count
    with pytest.raises(UsageError):
        store.recover("session")


@pytest.mark.usefixtures("store")
def test_the_command_shows_what_differs_and_repairs_it(
    tmp_path: Path, rows: Rows, postgres_harness: PostgresHarness
) -> None:
    segue = Segue(tmp_path)
    segue.store = postgres_harness.address.url
    rows.run("UPDATE {s}.sessions SET title = %s WHERE id = 'session'", "\x1b[31mRed")
    found = segue.call("verify")
    assert (found.code, found.complaint) == (Exit.DAMAGED, "")
    assert found.text == (
        "session: column title: it is '\\x1b[31mRed' in the table of sessions, and 'Logout bug' by the events\n"
        "1 of 2 sessions is damaged\n"
    )
    assert "in the trash" in segue.ok("recover", "session", "--yes")
    assert segue.ok("verify") == "2 sessions are sound\n"


@settings(max_examples=max(12, settings().max_examples // 3))
@given(events=sessions(), sizes=st.lists(st.integers(1, 4), min_size=1, max_size=6))
def test_whatever_is_appended_in_whatever_portions_is_sound(
    postgres_places: PostgresPlaces, events: list[Event], sizes: list[int]
) -> None:
    """The columns that a writer counts by itself are those that the events add up to."""
    store = postgres_places.take().make()
    writer, rest = store.create(ID, events[:1]), events[1:]
    for size in itertools.cycle(sizes):
        if not rest:
            break
        writer.append(*rest[:size], ids_are_new=True)
        rest = rest[size:]
    assert store.examine(ID).damages == ()
    writer.close()
    with store.open(ID) as writer:
        writer.append(turn(1000), ids_are_new=True)
    assert store.examine(ID).damages == ()
    postgres_places.give_back()

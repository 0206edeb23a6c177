"""From Postgres to every other store and back, a session is the same session, and its events have the same bytes."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segue.registry import SCHEMES
from segue.stores.journal import JournalStore
from segue.stores.memory import MemoryStore
from segue.testing.conformance.chapter import ID, create_and_close, create_session
from segue.testing.events import every_kind, fork, turn, turns
from segue.transfer.convert import convert, copy
from tests.transfer.test_convert import DATED, opened, sessions

if TYPE_CHECKING:
    from pathlib import Path

    from segue.model import Event
    from segue.store import Store
    from segue.testing.harness_postgres import PostgresHarness
    from tests.support.postgres_fixtures import PostgresPlaces

OTHERS = [scheme for scheme in SCHEMES if "postgres" not in scheme]


@pytest.mark.parametrize("other", OTHERS)
def test_from_any_store_to_postgres_and_back_is_the_same_session(
    tmp_path: Path, postgres_harness: PostgresHarness, other: str
) -> None:
    source, back = opened(other, tmp_path / "source"), opened(other, tmp_path / "back")
    target = postgres_harness.make()
    create_and_close(source, *turns(1, 3), *every_kind(), fork("other", 2), turn(9, branch="other"), session_id=DATED)
    convert(source, DATED, target)
    assert convert(target, DATED, back) == source.load(DATED) == target.load(DATED)
    assert list(back.read(DATED)) == list(source.read(DATED)) == list(target.read(DATED))


@pytest.mark.parametrize("other", OTHERS)
def test_from_postgres_to_any_store_and_back_is_the_same_session(
    tmp_path: Path, postgres_places: PostgresPlaces, other: str
) -> None:
    source, back = postgres_places.take().make(), postgres_places.take().make()
    target = opened(other, tmp_path / "target")
    create_and_close(source, *turns(1, 3), *every_kind(), fork("other", 2), turn(9, branch="other"), session_id=DATED)
    convert(source, DATED, target)
    assert convert(target, DATED, back) == source.load(DATED) == target.load(DATED)
    assert list(back.read(DATED)) == list(source.read(DATED)) == list(target.read(DATED))
    postgres_places.give_back()


def bodies(harness: PostgresHarness) -> bytes:
    """All events in the database, in the order in which they were written."""
    rows = [(name, row) for name, row in harness.snapshot().items() if name.startswith("events ")]
    return b"".join(row[-1] for _, row in rows if isinstance(row, tuple))


def lines(journal: Path) -> bytes:
    """All events in a journal; a checkpoint, which it repeats from time to time, is not an event."""
    found = (journal / f"{ID}.jsonl").read_bytes().splitlines(keepends=True)
    return b"".join(line for line in found if not line.startswith(b'{"type":"checkpoint"'))


def test_an_event_has_the_bytes_that_a_journal_has(tmp_path: Path, postgres_harness: PostgresHarness) -> None:
    for store in (JournalStore(str(tmp_path)), postgres_harness.make()):
        with create_session(store, *turns(1, 3)) as writer:
            writer.append(*every_kind())
            writer.append(turn(4, "\0 \ud83d \x1b[31m \u2028"), ids_are_new=True)
    assert bodies(postgres_harness) == lines(tmp_path)


def test_a_journal_that_was_in_postgres_has_the_bytes_of_one_that_was_not(
    tmp_path: Path, postgres_harness: PostgresHarness
) -> None:
    source, straight, around = (JournalStore(str(tmp_path / name)) for name in ("source", "straight", "around"))
    create_and_close(source, *turns(1, 3), *every_kind(), turn(4, "\0 \ud83d \x1b[31m \u2028"))
    target = postgres_harness.make()
    convert(source, ID, straight)
    convert(source, ID, target)
    convert(target, ID, around)
    assert lines(tmp_path / "straight") == lines(tmp_path / "around") == bodies(postgres_harness)


@settings(max_examples=max(8, settings().max_examples // 3))
@given(events=sessions(), other=st.sampled_from(OTHERS))
def test_there_and_back_again_is_the_same_session(
    postgres_places: PostgresPlaces, tmp_path_factory: pytest.TempPathFactory, events: list[Event], other: str
) -> None:
    source = MemoryStore()
    source.create(ID, events).close()
    folder = tmp_path_factory.mktemp("other")
    middle = opened(other, folder)
    chain: list[Store] = [source, postgres_places.take().make(), middle, postgres_places.take().make()]
    for here, there in pairwise(chain):
        found = copy(here, ID, there)
        assert (found.events, found.added, found.losses) == (len(events), len(events), ())
        assert list(there.read(ID)) == list(source.read(ID))
        assert there.load(ID) == source.load(ID)
        assert there.examine(ID).damages == ()
    postgres_places.give_back()

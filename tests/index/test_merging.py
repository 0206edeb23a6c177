"""A source that answers by itself is asked for what is shown, merged with the rest, and never copied."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import segue
from segue.durable.folder import Folder
from segue.errors import SessionNotFoundError, StorageError
from segue.index import Index, StoreSource
from segue.library import Library
from segue.queries import Filters
from segue.testing.conformance import QueriesChapter
from segue.testing.harness_memory import MemoryHarness
from tests.support.answering_store import AnsweringJournal, Copied, ReferenceQueries

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from segue.store import Store
    from segue.testing.harness import Harness


class _AnsweringHarness(MemoryHarness):
    def make(self) -> Store:
        store = super().make()
        store.queries = ReferenceQueries(store)  # type: ignore[misc]
        return store


class TestReference(QueriesChapter):
    """The simplest store that answers by itself keeps the contract, so the claims can be kept."""

    @pytest.fixture
    def harness(self) -> Harness:
        return _AnsweringHarness()


@pytest.fixture
def far(tmp_path: Path) -> Library:
    return Library(AnsweringJournal(f"{tmp_path}/far"))


@pytest.fixture
def near(tmp_path: Path) -> Library:
    return segue.open(f"journal:{tmp_path}/near")


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with Index(Folder(f"{tmp_path}/cache")) as index:
        yield index


def add(library: Library, id: str, *texts: str, title: str = "") -> None:
    with library.create(id=id, title=title) as session:
        for text in texts:
            session.add("user", text)


def given(library: Library) -> int:
    """How many sessions were fetched since the last call."""
    queries = library.store.queries
    assert isinstance(queries, ReferenceQueries)
    count, queries.given = queries.given, 0
    return count


def test_its_sessions_are_listed_and_found_with_the_others_and_not_copied(
    index: Index, near: Library, far: Library
) -> None:
    for number in range(6):
        add((near, far)[number % 2], f"s{number}", "zebra", f"only {number}")
    assert index.refresh([StoreSource(near.store), StoreSource(far.store)]).read == 3
    assert [entry.id for entry in index.entries()] == ["s5", "s4", "s3", "s2", "s1", "s0"]
    given(far)
    assert [entry.id for entry in index.entries(limit=3)] == ["s5", "s4", "s3"]
    assert given(far) == 3
    assert [entry.id for entry in index.entries(limit=1)] == ["s5"]
    assert given(far) == 1
    hits = index.search("zebra", limit=4)
    assert [hit.entry.source for hit in hits] == [near.store.url, far.store.url] * 2
    assert index.count("zebra") == 6
    (hit,) = index.search("only 3")
    assert [text.text for text in index.turns(hit.entry, first=hit.seq)] == ["only 3"]
    assert [entry.id for entry in index.entries(Filters(sources=(near.store.url,)))] == ["s4", "s2", "s0"]
    index.update(StoreSource(far.store), "s1")
    with Index(None, sources=[]) as other:
        assert other.entries() == []
    assert index._connection.execute("SELECT count(*) FROM sessions").fetchone() == (3,)


def test_what_an_earlier_version_copied_is_removed(index: Index, far: Library) -> None:
    add(far, "copied", "zebra")
    index.refresh([Copied(far.store)])
    assert index._connection.execute("SELECT count(*) FROM pieces").fetchone() == (1,)
    index.refresh([StoreSource(far.store)])
    assert index._connection.execute("SELECT count(*) FROM pieces").fetchone() == (0,)
    assert [hit.entry.id for hit in index.search("zebra")] == ["copied"]


def test_one_that_cannot_be_reached_is_reported_and_costs_no_other(
    index: Index, near: Library, far: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(near, "here", "zebra")
    add(far, "there", "zebra")

    def fail(*_: object) -> None:
        raise StorageError("no connection")

    monkeypatch.setattr(far.store.queries, "list", fail)
    (failure,) = index.refresh([StoreSource(near.store), StoreSource(far.store)]).failed
    assert (failure[0], str(failure[1])) == (far.store.url, "no connection")
    assert [entry.id for entry in index.entries()] == [hit.entry.id for hit in index.search("zebra")] == ["here"]


def test_short_ids_are_unique_in_all_sources(index: Index, near: Library, far: Library) -> None:
    add(near, "qa-20260102-030405-ab3x")
    add(far, "qa-20260102-030405-zz3x")
    add(far, "ab3x-begins-so")
    sources = [StoreSource(near.store), StoreSource(far.store)]
    index.refresh(sources)
    ids = [entry.id for entry in index.entries()]
    assert index.short_ids(ids, [source.name for source in sources]) == {
        "qa-20260102-030405-ab3x": "5-ab3x",
        "qa-20260102-030405-zz3x": "zz3x",
        "ab3x-begins-so": "ab3x-beg",
    }


def test_a_library_fetches_what_it_is_asked_for(far: Library) -> None:
    for number in range(60):
        add(far, f"many-{number:03}", "zebra", title=f"Title {number}")
    given(far)
    assert [head.id for head in far.list(limit=2)] == ["many-059", "many-058"]
    assert given(far) == 2
    assert far.resolve("many-007") == far.resolve("007") == "many-007"
    with pytest.raises(SessionNotFoundError) as error:
        far.resolve("mani-007")
    assert "many-007" in error.value.near
    assert given(far) == 0
    assert [head.id for head in far.find("title 31")] == ["many-031"]
    assert [result.session_id for result in far.search("zebra", limit=1)] != []

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

import segue
from segue.durable.folder import Folder
from segue.errors import UsageError
from segue.index import Index, StoreSource
from segue.model import Turn
from segue.queries import Filters

if TYPE_CHECKING:
    from pathlib import Path

    from segue.library import Library

NOW = datetime(2026, 11, 15, tzinfo=UTC)


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return segue.open(f"journal:{tmp_path}/sessions")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(str(tmp_path / "cache"))


def sources(*libraries: Library) -> list[StoreSource]:
    return [StoreSource(library.store) for library in libraries]


def add_turns(library: Library, id: str, *texts: str, title: str = "", agent: str = "") -> None:
    with library.create(id=id, title=title, agent=agent) as session:
        for text in texts:
            session.add("user", text)


def found(index: Index, text: str, **filters: str) -> list[str]:
    return [hit.entry.id for hit in index.search(text, Filters(**filters))]  # type: ignore[arg-type]  # texts all


def test_only_what_has_changed_is_read_again(library: Library, folder: Folder) -> None:
    add_turns(library, "one", "Why does login fail?")
    add_turns(library, "two", "What about tests?")
    index = Index(folder)
    assert index.refresh(sources(library)).read == 2
    assert index.refresh(sources(library)).read == 0
    with library.resume("two") as session:
        session.add("user", "And the zebra?")
    assert index.refresh(sources(library)).read == 1
    assert found(index, "zebra") == ["two"]
    assert found(index, "tests") == ["two"]


def test_what_was_deleted_is_found_no_more(library: Library, folder: Folder) -> None:
    add_turns(library, "one", "zebra")
    index = Index(folder)
    index.refresh(sources(library))
    library.delete("one")
    assert index.refresh(sources(library)).gone == 1
    assert (index.entries(), found(index, "zebra")) == ([], [])


def test_a_session_made_anew_under_its_old_name_is_another(library: Library, folder: Folder) -> None:
    add_turns(library, "one", "zebra")
    index = Index(folder)
    index.refresh(sources(library))
    library.delete("one")
    add_turns(library, "one", "giraffe", "and", "more", "of", "them")
    index.refresh(sources(library))
    assert (found(index, "zebra"), found(index, "giraffe")) == ([], ["one"])


def test_a_title_that_was_changed_is_found_by_its_new_words_alone(library: Library, folder: Folder) -> None:
    add_turns(library, "one", "hello", title="Zebra")
    index = Index(folder)
    index.refresh(sources(library))
    with library.open("one") as session:
        session.rename(title="Giraffe")
    index.refresh(sources(library))
    assert (found(index, "zebra"), found(index, "giraffe"), found(index, "hello")) == ([], ["one"], ["one"])


@pytest.mark.parametrize("text", ["fail login", '"login fails"', "log*", "LOGIN", '"why does" token'])
def test_words_phrases_and_beginnings_are_found(library: Library, folder: Folder, text: str) -> None:
    add_turns(
        library, "one", "Why does it say that login fails?", "The token would fail.", "why does a token login fail"
    )
    add_turns(library, "two", "unrelated")
    index = Index(folder)
    index.refresh(sources(library))
    assert found(index, text) == ["one"]


@pytest.mark.parametrize("text", ['"', "AND", "NEAR(a b)", "text:x", "a OR", "-x", "(", "^a", '"a', "a\0b", "\ud800x"])
def test_no_text_is_an_operator(library: Library, folder: Folder, text: str) -> None:
    add_turns(library, "one", "something else")
    index = Index(folder)
    index.refresh(sources(library))
    try:
        assert found(index, text) == []
    except UsageError as error:
        assert "there is no word in" in str(error)  # noqa: PT017 - either will do, but nothing else


def test_a_title_counts_more_than_a_turn_and_a_session_is_there_once(library: Library, folder: Folder) -> None:
    add_turns(library, "turn", "zebra and other animals of the plain", "another zebra")
    add_turns(library, "title", "something else", title="zebra and other animals of the plain")
    index = Index(folder)
    index.refresh(sources(library))
    hits = index.search("zebra")
    assert [(hit.entry.id, hit.kind, hit.matches) for hit in hits] == [("title", "title", 1), ("turn", "turn", 2)]


def test_a_snippet_shows_which_words_were_meant(library: Library, folder: Folder) -> None:
    add_turns(library, "one", "first\x02 the zebra\x03 ran")
    index = Index(folder)
    index.refresh(sources(library))
    assert index.search("zebra")[0].snippet == (("first  the ", False), ("zebra", True), ("  ran", False))


def test_a_hit_tells_its_branch(library: Library, folder: Folder) -> None:
    with library.create(id="one") as session:
        session.add("user", "common")
        session.fork(at=0, name="other")
        session.add("user", "zebra")
    index = Index(folder)
    index.refresh(sources(library))
    assert index.search("zebra")[0].branch == "other"
    assert (found(index, "zebra", branch="main"), found(index, "zebra", branch="other")) == ([], ["one"])


def test_decisions_learnings_and_summaries_are_found(library: Library, folder: Folder) -> None:
    with library.create(id="one") as session:
        session.decide("refresh the aardvark early")
        session.learn("a bison is heavy")
        session.summarize("it was about a caribou")
    index = Index(folder)
    index.refresh(sources(library))
    kinds = [index.search(word)[0].kind for word in ("aardvark", "bison", "caribou")]
    assert kinds == ["decision", "learning", "summary"]


def test_filters_keep_what_matches_all_of_them(library: Library, folder: Folder, tmp_path: Path) -> None:
    other = segue.open(f"journal:{tmp_path}/elsewhere")
    add_turns(library, "one", "zebra", agent="qa")
    add_turns(other, "two", "zebra", agent="qa")
    add_turns(library, "three", "zebra")
    with library.open("one") as session:
        session.tag("web")
    index = Index(folder)
    index.refresh(sources(library, other))
    wanted = Filters(agent="qa", sources=(library.store.url,), tag="web", status="paused")
    assert [entry.id for entry in index.entries(wanted)] == ["one"]
    assert [hit.entry.id for hit in index.search("zebra", wanted)] == ["one"]
    assert index.entries(Filters(tag="we")) == []


def test_the_last_active_comes_first(library: Library, folder: Folder) -> None:
    for name in ("a", "b", "c"):
        add_turns(library, name)
    index = Index(folder)
    index.refresh(sources(library))
    assert [entry.id for entry in index.entries(limit=2)] == ["c", "b"]


def test_a_session_whose_writer_died_is_seen_as_interrupted_though_no_file_changed(
    library: Library, folder: Folder
) -> None:
    session = library.create(id="one")
    index = Index(folder)
    index.refresh(sources(library))
    assert index.entries()[0].status == "active"
    session.release()
    index.refresh(sources(library))
    assert index.entries()[0].status == "interrupted"


def test_a_damaged_session_is_indexed_as_far_as_it_can_be_read(
    library: Library, folder: Folder, tmp_path: Path
) -> None:
    add_turns(library, "one", "zebra", "giraffe", "bison")
    path = tmp_path / "sessions" / "one.jsonl"
    path.write_bytes(path.read_bytes().replace(b"giraffe", b"GIRAFFE"))
    index = Index(folder)
    index.refresh(sources(library))
    assert index.entries()[0].damage
    assert found(index, "zebra") == ["one"]


@pytest.mark.parametrize("junk", [b"junk" * 5000, b"", b"SQLite format 3\0" + b"\xff" * 8000])
def test_a_broken_catalog_is_made_anew(library: Library, folder: Folder, tmp_path: Path, junk: bytes) -> None:
    add_turns(library, "one", "zebra")
    with Index(folder) as index:
        index.refresh(sources(library))
    (tmp_path / "cache" / "catalog.sqlite3").write_bytes(junk)
    with Index(folder) as index:
        index.refresh(sources(library))
        assert found(index, "zebra") == ["one"]


def test_a_catalog_that_breaks_while_it_is_open_is_made_anew(library: Library, folder: Folder, tmp_path: Path) -> None:
    add_turns(library, "one", "zebra")
    with Index(folder) as index:
        index.refresh(sources(library))
    with Index(folder) as index:
        path = tmp_path / "cache" / "catalog.sqlite3"
        path.write_bytes(b"\xff" * path.stat().st_size)
        index.refresh(sources(library))
        index.refresh(sources(library))
        assert found(index, "zebra") == ["one"]


def test_a_catalog_of_another_make_is_made_anew(library: Library, folder: Folder, tmp_path: Path) -> None:
    add_turns(library, "one", "zebra")
    Index(folder).close()
    with sqlite3.connect(tmp_path / "cache" / "catalog.sqlite3") as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with Index(folder) as index:
        index.refresh(sources(library))
        assert found(index, "zebra") == ["one"]


def test_where_no_file_can_be_it_lives_in_memory(library: Library, tmp_path: Path) -> None:
    add_turns(library, "one", "zebra")
    (tmp_path / "file").write_bytes(b"")
    with Index(Folder(str(tmp_path / "file" / "cache"))) as index:
        index.refresh(sources(library))
        assert found(index, "zebra") == ["one"]


def test_whoever_writes_it_keeps_nobody_from_reading(library: Library, folder: Folder, tmp_path: Path) -> None:
    add_turns(library, "one", "zebra")
    with Index(folder) as index:
        index.refresh(sources(library))
        writer = sqlite3.connect(tmp_path / "cache" / "catalog.sqlite3", isolation_level=None)
        writer.execute("BEGIN IMMEDIATE")
        add_turns(library, "two", "zebra")
        assert index.refresh(sources(library)).is_stale
        assert found(index, "zebra") == ["one"]
        writer.close()
        assert not index.refresh(sources(library)).is_stale
        assert len(found(index, "zebra")) == 2


def test_one_session_can_be_noted_alone(library: Library, folder: Folder) -> None:
    add_turns(library, "one", "zebra")
    with Index(folder) as index:
        (source,) = sources(library)
        index.update(source, "one")
        assert [entry.id for entry in index.entries()] == ["one"]
        assert (index.refresh([source]).read, found(index, "zebra")) == (1, ["one"])
        library.delete("one")
        index.update(source, "one")
        assert (index.entries(), found(index, "zebra")) == ([], [])


def test_nobody_else_can_read_it(library: Library, folder: Folder, tmp_path: Path) -> None:
    add_turns(library, "one", "zebra")
    with Index(folder) as index:
        index.refresh(sources(library))
        modes = {path.stat().st_mode & 0o777 for path in (tmp_path / "cache").iterdir()}
    assert modes == {0o600}


def test_one_look_through_the_folder_tells_the_same_as_a_look_at_each(library: Library) -> None:
    for name in ("one", "two"):
        add_turns(library, name, "zebra")
    (source,) = sources(library)
    assert sorted(one.id for one in source.scan()) == ["one", "two"]
    assert all(one == source.find(one.id) for one in source.scan())


def test_a_listing_reads_no_words_and_a_later_search_reads_only_those(library: Library, folder: Folder) -> None:
    add_turns(library, "one", "zebra", title="Animals")
    with Index(folder) as index:
        assert index.refresh(sources(library), with_text=False).read == 1
        assert ([entry.title for entry in index.entries()], found(index, "zebra")) == (["Animals"], [])
        assert index.refresh(sources(library), with_text=False).read == 0
        assert (index.refresh(sources(library)).read, found(index, "zebra")) == (1, ["one"])
        with library.resume("one") as session:
            session.add("user", "giraffe")
        index.refresh(sources(library), with_text=False)
        assert (index.entries()[0].turn_count, found(index, "giraffe")) == (2, [])
        index.refresh(sources(library))
        assert (found(index, "zebra"), found(index, "giraffe")) == (["one"], ["one"])


def test_words_being_typed_stand_for_all_that_begins_so(library: Library, folder: Folder) -> None:
    add_turns(library, "one", "the zebra ran")
    with Index(folder) as index:
        index.refresh(sources(library))
        for text, ids in (("zeb", ["one"]), ("zeb ", []), ("zebra r", ["one"]), ('"the zeb', ["one"])):
            assert [hit.entry.id for hit in index.search(text, unfinished=True)] == ids


def test_what_was_said_can_be_read_from_a_place_on(library: Library, folder: Folder) -> None:
    add_turns(library, "one", "first", "second zebra", "third")
    with Index(folder) as index:
        index.refresh(sources(library))
        (hit,) = index.search("zebra")
        assert [piece.text for piece in index.turns(hit.entry, first=hit.seq)] == ["second zebra", "third"]
        assert [piece.text for piece in index.turns(hit.entry, limit=2)] == ["second zebra", "third"]


def test_a_place_that_turns_read_only_is_done_without(library: Library, folder: Folder, tmp_path: Path) -> None:
    add_turns(library, "one", "zebra")
    with Index(folder) as index:
        index.refresh(sources(library))
        index._connection.execute("PRAGMA query_only = ON")  # as in a folder that cannot be written
        add_turns(library, "two", "zebra")
        assert not index.refresh(sources(library)).is_stale
        assert sorted(found(index, "zebra")) == ["one", "two"]
        assert not index.is_shared
    assert (tmp_path / "cache" / "catalog.sqlite3").exists()


# ── Calls, and what answers used ─────────────────────────────────────────────────────────────────────────────────────


def record_calls(library: Library, id: str, *numbers: int) -> None:
    """Answers with a call of `grep` each, which used 10 tokens per number."""
    calls = [
        Turn(
            role="assistant",
            content="",
            timestamp=NOW,
            tokens=None,
            parts=({"type": "tool_call", "id": "c", "name": "grep", "arguments": {"pattern": [f"quagga{number}", 7]}},),
            id=f"t{number}",
            extra={"usage": {"input_tokens": 10 * number, "cached_tokens": number, "cost_usd": 0.5}},
        )
        for number in numbers
    ]
    with library.open(id) as session:
        session.record(*calls)


def test_arguments_of_calls_are_found_and_the_match_names_the_call(library: Library, folder: Folder) -> None:
    add_turns(library, "one", "hello")
    record_calls(library, "one", 1)
    index = Index(folder)
    index.refresh(sources(library))
    (hit,) = index.search("quagga1 7")
    assert (hit.kind, hit.call, hit.turn, hit.matches) == ("call", "grep", 2, 1)
    (result,) = library.search("quagga1")
    assert result.turn is not None
    assert (result.kind, result.turn.id) == ("call", "t1")
    record_calls(library, "one", 2)
    index.refresh(sources(library))
    assert [hit.turn for word in ("quagga1", "quagga2") for hit in index.search(word)] == [2, 3]
    assert found(index, "pattern") == []  # the name of a field is not what was looked for


def test_the_usage_of_a_session_is_counted_once_however_it_was_read(library: Library, folder: Folder) -> None:
    add_turns(library, "one", "hello")
    index = Index(folder)
    for number, with_text in ((1, True), (2, False), (3, True)):
        record_calls(library, "one", number)
        index.refresh(sources(library), with_text=with_text)
        (entry,) = index.entries()
        expected = {"input_tokens": 10 * sum(range(number + 1)), "cached_tokens": sum(range(number + 1))}
        used = entry.usage.as_json() if entry.usage is not None else None
        assert used == (expected | {"cost_usd": 0.5 * number} if with_text else None)


@pytest.mark.parametrize("usage", [7, [1], {"input_tokens": "9"}, {"input_tokens": -1, "cost_usd": 1e300}, {"x": True}])
def test_numbers_that_are_none_are_not_counted(library: Library, folder: Folder, usage: object) -> None:
    with library.create(id="one") as session:
        session.record(Turn(role="user", content="x", timestamp=NOW, tokens=None, id="t", extra={"usage": usage}))
    index = Index(folder)
    index.refresh(sources(library))
    (entry,) = index.entries()
    assert entry.usage is not None
    assert entry.usage.as_json() == {}

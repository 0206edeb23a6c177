from __future__ import annotations

import os
import stat
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

import segue
from segue.console.options import open_library
from segue.errors import (
    AmbiguousIdError,
    InvalidIdError,
    NotFoundError,
    NotInTrashError,
    SessionExistsError,
    SessionLockedError,
    SessionNotFoundError,
    UsageError,
)
from segue.index import Index
from segue.model import Turn
from segue.user_folders import cache_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from segue.library import Library

START = datetime(2096, 11, 15, 9, 0, tzinfo=UTC)
"""In the future: a file that was changed much later than it records counts as active then."""


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["journal", "memory"])
def lib(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[Library]:
    url = f"journal:{tmp_path}/store" if request.param == "journal" else "memory:"
    with segue.open(url, clock=clock) as library:
        yield library


def test_opening_a_library_creates_nothing(tmp_path: Path) -> None:
    lib = segue.open(f"journal:{tmp_path}/store")
    assert lib.list() == []
    with pytest.raises(NotFoundError):
        lib.load("x")
    with pytest.raises(NotFoundError):
        lib.resume("x")
    with pytest.raises(NotFoundError):
        lib.delete("x")
    assert not list(tmp_path.iterdir())


def test_the_home_directory_is_understood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    segue.open("journal:~/notes").create(id="x").close()
    assert (tmp_path / "notes" / "x.jsonl").is_file()
    assert stat.S_IMODE((tmp_path / "notes" / "x.jsonl").stat().st_mode) == 0o600


@pytest.mark.parametrize("url", ["", "x", "/path", "journal:", "memory:x", "sqlite:x", "journal", "journal:a\0b"])
def test_a_url_that_names_no_store_is_refused(url: str) -> None:
    with pytest.raises(UsageError) as caught:
        segue.open(url)
    assert caught.value.hint


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folders of a user for whom nothing is set."""
    for name in ("SEGUE_STORE", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def test_without_a_url_it_is_the_store_of_the_command(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with segue.open() as own, open_library() as of_the_command:
        assert own.store.url == of_the_command.store.url
        assert own.store.url.startswith(f"journal:{home}/")
    monkeypatch.setenv("SEGUE_STORE", f"journal:{home}/elsewhere")
    with segue.open() as own, open_library() as of_the_command:
        assert own.store.url == of_the_command.store.url == f"journal:{home}/elsewhere"
    assert not list(home.iterdir())


def test_a_search_finds_the_session_and_the_turn(lib: Library) -> None:
    with lib.create(id="x", title="Login bug", agent="qa", tags=["auth"]) as session:
        session.add("user", "Why does login fail?")
        session.add("assistant", "The token expires.")
        session.decide("Refresh early")
    with lib.create(id="y", title="Other") as session:
        session.add("user", "What is a token?")
    (found,) = lib.search('"token expires"')
    assert (found.session_id, found.title, found.kind, found.matches) == ("x", "Login bug", "turn", 1)
    assert found.snippet == "The token expires."
    assert found.turn is not None
    assert found.turn == lib.load("x").turns[1]
    assert {one.session_id for one in lib.search("tok*")} == {"x", "y"}
    assert len(lib.search("tok*", limit=1)) == 1
    assert [one.session_id for one in lib.search("token", agent="qa", tag="auth", status="paused", limit=None)] == ["x"]
    assert [(one.kind, one.turn) for one in lib.search("refresh")] == [("decision", None)]
    assert lib.search("nothing") == ()
    with pytest.raises(UsageError):
        lib.search("?!")


def test_a_search_sees_what_was_recorded_since(lib: Library) -> None:
    with lib.create(id="x") as session:
        assert lib.search("hello") == ()
        session.add("user", "Hello")
        assert [one.session_id for one in lib.search("hello")] == ["x"]
    lib.delete("x")
    assert lib.search("hello") == ()


def test_a_search_creates_no_index_and_uses_the_one_that_is_there(home: Path) -> None:
    lib = segue.open()
    with lib.create(id="x") as session:
        session.add("user", "Hello")
    before = sorted(home.rglob("*"))
    assert [one.session_id for one in lib.search("hello")] == ["x"]
    assert sorted(home.rglob("*")) == before
    with Index(cache_folder()):
        pass
    assert [one.session_id for one in lib.search("hello")] == ["x"]
    with Index(cache_folder()) as index:
        assert [hit.entry.id for hit in index.search("hello")] == ["x"]


def test_a_search_of_a_damaged_session_gives_what_can_be_read(tmp_path: Path) -> None:
    lib = segue.open(f"journal:{tmp_path}")
    with lib.create(id="x") as session:
        session.add("user", "Hello")
        session.add("user", "Goodbye")
    path = tmp_path / "x.jsonl"
    path.write_bytes(path.read_bytes().replace(b"Goodbye", b"goodbye"))
    assert [(one.session_id, one.kind, one.turn) for one in lib.search("hello")] == [("x", "turn", None)]


def test_what_is_not_found_is_named_in_fields(lib: Library) -> None:
    with pytest.raises(SessionNotFoundError) as caught:
        lib.load("missing")
    assert (caught.value.session_id, caught.value.place) == ("missing", lib.store.url)
    with pytest.raises(NotInTrashError) as not_in_trash:
        lib.find_trashed("missing")
    assert (not_in_trash.value.session_id, not_in_trash.value.store) == ("missing", lib.store.url)


def test_a_unique_prefix_is_enough(lib: Library) -> None:
    lib.create(id="alpha-1").close()
    lib.create(id="beta-1").close()
    assert lib.resolve("al") == "alpha-1"
    assert lib.load("b").id == "beta-1"


def test_a_unique_end_is_enough_since_ids_differ_there(lib: Library) -> None:
    for name in ("qa-20261115-093012-k3f2", "qa-20261115-093012-9xzz"):
        lib.create(id=name).close()
    assert lib.load("k3f2").id == "qa-20261115-093012-k3f2"


def test_sessions_are_found_by_id_or_else_by_words_of_their_names_or_else_of_their_text(lib: Library) -> None:
    with lib.create(id="alpha", title="The login bug", tags=["web"]) as live:
        live.add("user", "Why does it fail?")
    with lib.create(id="beta", title="Holidays") as live:
        live.add("user", "The token expires; alpha does not, nor does a login.")

    def found(text: str) -> list[str]:
        return [head.id for head in lib.find(text)]

    assert (found("alpha"), found("LOGIN bug"), found("web")) == (["alpha"], ["alpha"], ["alpha"])
    assert (found("token expires"), found("zzz"), found("!")) == (["beta"], [], [])
    if lib.store.trash is None:
        return
    lib.discard("alpha")
    assert lib.find_trashed("login bug").head.id == lib.find_trashed("pha").head.id == "alpha"


def test_an_exact_id_wins_over_longer_ones(lib: Library) -> None:
    lib.create(id="alpha").close()
    lib.create(id="alpha-1").close()
    assert lib.resolve("alpha") == "alpha"


def test_an_ambiguous_prefix_lists_the_candidates(lib: Library) -> None:
    for name in ("alpha-1", "alpha-2"):
        lib.create(id=name).close()
    with pytest.raises(AmbiguousIdError) as caught:
        lib.load("alpha")
    assert caught.value.candidates == ("alpha-1", "alpha-2")


def test_an_unknown_id_suggests_near_ones(lib: Library) -> None:
    lib.create(id="login-bug").close()
    with pytest.raises(NotFoundError) as caught:
        lib.load("logn-bug")
    assert caught.value.near == ("login-bug",)


@pytest.mark.parametrize("bad", ["../x", "", "x" * 300, "a\nb", "-x"])
def test_an_invalid_id_is_refused_everywhere(lib: Library, bad: str) -> None:
    calls = (lib.load, lib.open, lib.resume, lib.delete, lib.verify, lib.recover, lib.resolve)
    for call in calls:
        with pytest.raises(InvalidIdError):
            call(bad)
    with pytest.raises(InvalidIdError):
        lib.create(id=bad)


def test_a_taken_id_is_refused(lib: Library) -> None:
    lib.create(id="x").close()
    with pytest.raises(SessionExistsError):
        lib.create(id="x")
    with lib.open("x"), pytest.raises(SessionExistsError):
        lib.create(id="x")


def test_the_listing_is_filtered_and_newest_first(lib: Library, clock: Clock) -> None:
    for number, (agent, tag) in enumerate([("qa", "a"), ("dev", "b"), ("qa", "b")]):
        clock.now = START + timedelta(days=number)
        lib.create(id=f"s{number}", agent=agent, tags=[tag]).close()
    assert [head.id for head in lib.list()] == ["s2", "s1", "s0"]
    assert [head.id for head in lib.list(agent="qa")] == ["s2", "s0"]
    assert [head.id for head in lib.list(tag="b")] == ["s2", "s1"]
    assert [head.id for head in lib.list(status="paused", limit=1)] == ["s2"]
    assert lib.list(status="completed") == []
    assert [head.id for head in lib.list(since=START + timedelta(days=1))] == ["s2", "s1"]


def test_a_listing_sees_what_changed_since_the_last_one(lib: Library, clock: Clock) -> None:
    with lib.create(id="x") as session:
        assert [(head.turn_count, head.status) for head in lib.list()] == [(0, "active")]
        session.add("user", "one")
        assert [(head.turn_count, head.status) for head in lib.list()] == [(1, "active")]
    assert [(head.turn_count, head.status) for head in lib.list()] == [(1, "paused")]
    lib.delete("x")
    assert lib.list() == []
    clock.now += timedelta(days=1)
    lib.create(id="x").close()
    assert [(head.turn_count, head.created_at) for head in lib.list()] == [(0, clock.now)]


def test_deleting_takes_exact_ids_only(lib: Library) -> None:
    lib.create(id="alpha").close()
    with pytest.raises(NotFoundError):
        lib.delete("alph")
    lib.delete("alpha")
    assert lib.list() == []


def test_a_session_in_use_is_not_deleted(lib: Library) -> None:
    with lib.create(id="x"), pytest.raises(SessionLockedError):
        lib.delete("x")
    assert [head.id for head in lib.list()] == ["x"]


def test_cleaning_removes_what_is_old_by_its_last_activity(lib: Library, clock: Clock) -> None:
    lib.create(id="old").close()
    lib.create(id="old-but-used").close()
    clock.now = START + timedelta(days=40)
    with lib.open("old-but-used") as session:
        session.add("user", "still here")
    lib.create(id="new").close()
    tried = lib.clean(timedelta(days=30), dry_run=True)
    assert [head.id for head in tried.removed] == ["old"]
    assert len(lib.list()) == 3
    done = lib.clean(timedelta(days=30))
    assert [head.id for head in done.removed] == ["old"]
    assert {head.id for head in lib.list()} == {"old-but-used", "new"}


def test_cleaning_never_touches_a_session_in_use(lib: Library, clock: Clock) -> None:
    with lib.create(id="old"):
        clock.now = START + timedelta(days=40)
        done = lib.clean(timedelta(days=30))
    assert done.removed == ()
    assert [(head.id, why) for head, why in done.kept] == [("old", "it is in use")]


def test_cleaning_never_touches_what_cannot_be_read(tmp_path: Path, clock: Clock) -> None:
    store = tmp_path / "store"
    lib = segue.open(f"journal:{store}", clock=clock)
    with lib.create(id="broken") as session:
        for number in range(40):
            session.add("user", f"turn {number} " + "x" * 300)
    (store / "garbage.jsonl").write_bytes(b"\0\1\2")
    path = store / "broken.jsonl"
    data = bytearray(path.read_bytes())
    data[1500] ^= 1
    path.write_bytes(bytes(data))
    os.utime(store / "garbage.jsonl", (0, 0))
    clock.now = START + timedelta(days=400)
    done = lib.clean(timedelta(days=30))
    assert done.removed == ()
    assert {head.id for head, _ in done.kept} == {"broken", "garbage"}
    assert all("damaged" in why or "cannot be read" in why for _, why in done.kept)
    assert path.read_bytes() == bytes(data)


@pytest.mark.parametrize("age", [timedelta(0), timedelta(days=-1)])
def test_cleaning_needs_an_age(lib: Library, age: timedelta) -> None:
    with pytest.raises(UsageError):
        lib.clean(age)


def test_following_gives_what_others_record_and_ends_with_the_session(lib: Library) -> None:
    session = lib.create(id="x")
    session.add("user", "before")
    follower = lib.follower("x")
    assert follower.poll() == []
    session.add("user", "one")
    session.add("user", "two")
    assert [event.content for event in follower.poll() or [] if isinstance(event, Turn)] == ["one", "two"]
    assert follower.poll() == []
    session.close()
    lib.delete("x")
    assert follower.poll() is None


def test_following_from_the_beginning_gives_everything(lib: Library) -> None:
    with lib.create(id="x") as session:
        session.add("user", "one")
        events = lib.follower("x", after=0).poll()
    assert events is not None
    assert [event.seq for event in events] == [1, 2]


def test_a_copied_journal_is_a_session_of_its_own(tmp_path: Path) -> None:
    lib = segue.open(f"journal:{tmp_path}")
    with lib.create(id="x") as session:
        session.add("user", "hello")
    (tmp_path / "copy.jsonl").write_bytes((tmp_path / "x.jsonl").read_bytes())
    assert lib.load("copy").id == "copy"
    assert {head.id for head in lib.list()} == {"x", "copy"}
    with lib.resume("copy") as session:
        assert session.id == "copy"
        session.add("user", "only here")
    assert lib.load("x").turn_count == 1
    assert lib.load("copy").turn_count == 2

from __future__ import annotations

import os
import threading
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

import segue
from segue.errors import (
    ConflictError,
    NotFoundError,
    SessionLockedError,
    TransitionError,
    UsageError,
    WriterStoppedError,
)
from segue.model import TitleChanged
from segue.store import Durability

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from segue.library import Library


pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")


class Clock:
    """A clock that moves on by a minute per call."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 15, 9, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(minutes=1)
        return self.now


@pytest.fixture(params=["journal", "memory"])
def lib(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Library]:
    url = f"journal:{tmp_path}/store" if request.param == "journal" else "memory:"
    with segue.open(url, clock=Clock()) as library:
        yield library


def test_what_was_added_is_there_when_the_block_ends(lib: Library) -> None:
    with lib.create(agent="qa-test", title="Login bug", tags=["a", "a", "b"]) as session:
        session.add("user", "Why does login fail?")
        receipt = session.add("assistant", "The token expires.", tokens=7)
        assert receipt.seqs == (3,)
    loaded = lib.load("qa-te")
    assert [(turn.role, turn.content, turn.tokens) for turn in loaded.turns] == [
        ("user", "Why does login fail?", None),
        ("assistant", "The token expires.", 7),
    ]
    assert (loaded.agent, loaded.title, loaded.tags) == ("qa-test", "Login bug", ("a", "b"))


def test_leaving_cleanly_pauses(lib: Library) -> None:
    with lib.create(id="x") as session:
        assert session.status == "active"
        assert lib.load("x").status == "active"
    assert lib.load("x").status == "paused"


def test_leaving_by_an_exception_reads_as_interrupted(lib: Library) -> None:
    with pytest.raises(ZeroDivisionError), lib.create(id="x"):
        _ = 1 / 0
    assert lib.load("x").status == "interrupted"
    assert [head.status for head in lib.list()] == ["interrupted"]


def test_the_next_writer_records_the_interruption_with_its_first_event(lib: Library) -> None:
    lib.create(id="x").release()
    with lib.open("x") as session:
        assert session.status == "interrupted"
        assert session.overview.seq == 1
        assert session.add("user", "hello").seqs == (3,)
        assert session.status == "interrupted"
    assert lib.load("x").status == "interrupted"
    with lib.resume("x") as session:
        assert session.status == "active"
    assert lib.load("x").status == "paused"


def test_opening_a_writer_changes_nothing(lib: Library) -> None:
    lib.create(id="x").close()
    before = lib.store.revision("x")
    with lib.open("x"):
        pass
    assert lib.store.revision("x") == before


def test_a_completed_session_is_resumed_only_on_purpose(lib: Library) -> None:
    with lib.create(id="x") as session:
        session.complete()
    assert lib.load("x").status == "completed"
    with pytest.raises(TransitionError):
        lib.resume("x")
    with lib.resume("x", force=True) as session:
        assert session.status == "active"


def test_a_refused_resume_lets_go_of_the_session(lib: Library) -> None:
    with lib.create(id="x") as session:
        session.complete()
    with pytest.raises(TransitionError):
        lib.resume("x")
    assert lib.store.owner("x") is None


def test_a_fork_goes_on_in_the_new_branch(lib: Library) -> None:
    with lib.create(id="x") as session:
        session.add("user", "one")
        session.add("assistant", "two")
        assert session.fork(at=1, name="other") == "other"
        assert session.branch == "other"
        session.add("assistant", "another two")
        assert [turn.content for turn in session.turns] == ["one", "another two"]
        session.switch("main")
        assert [turn.content for turn in session.turns] == ["one", "two"]
        assert [turn.content for turn in session.tail(1)] == ["two"]


def test_a_branch_without_a_name_gets_one(lib: Library) -> None:
    with lib.create(id="x") as session:
        session.fork(name="branch-3")
        assert session.fork() == "branch-4"
        assert session.fork(switch=False) == "branch-5"
        assert session.branch == "branch-4"


@pytest.mark.parametrize("at", [-1, 2, 99])
def test_a_fork_at_a_turn_that_is_not_there_is_refused(lib: Library, at: int) -> None:
    with lib.create(id="x") as session:
        session.add("user", "one")
        with pytest.raises(UsageError):
            session.fork(at=at)
        assert list(session.overview.branches) == ["main"]


def test_switching_to_a_branch_that_is_not_there_is_refused(lib: Library) -> None:
    with lib.create(id="x") as session, pytest.raises(NotFoundError):
        session.switch("nowhere")


def test_everything_worth_keeping_is_kept(lib: Library) -> None:
    with lib.create(id="x") as session:
        session.rename("New title")
        session.tag("a", "b")
        session.tag("c", remove=["a"])
        session.summarize("So far so good")
        session.decide("Refresh early", tags=["auth"], source="user")
        session.learn("Tokens expire", task_id="1.1", story_id="1")
        session.note_pattern("retry", "Retry twice")
        session.attach("README.md", b"# Hello")
        session.set_scope({"paths": {"read": ["src/**"]}})
        session.use_preset("executor", hash="sha256:1")
        session.set_overrides({"temperature": 0.8})
        session.finish_task("1.1", story_id="1")
        written = session.overview
    loaded = lib.load("x")
    assert (loaded.title, loaded.tags, loaded.summary) == ("New title", ("b", "c"), "So far so good")
    assert (loaded.decisions[0].content, loaded.decisions[0].source) == ("Refresh early", "user")
    assert (loaded.learnings[0].description, loaded.learnings[0].task_id) == ("Tokens expire", "1.1")
    assert (loaded.patterns[0].name, loaded.tasks_done[0].task_id) == ("retry", "1.1")
    assert loaded.scope == {"paths": {"read": ["src/**"]}}
    assert loaded.preset is not None
    assert (loaded.preset.name, loaded.preset.hash) == ("executor", "sha256:1")
    assert loaded.overrides == {"temperature": 0.8}
    assert lib.store.get_blob("x", loaded.attachments[0].hash) == b"# Hello"
    assert loaded.decisions == written.decisions


def test_a_turn_with_an_id_of_its_own_is_recorded_once(lib: Library) -> None:
    with lib.create(id="x") as session:
        first = session.add("user", "hello", id="mine")
        session.add("assistant", "hi")
        assert session.add("user", "hello", id="mine") == first
        with pytest.raises(ConflictError):
            session.add("user", "something else", id="mine")
    assert [turn.content for turn in lib.load("x").turns] == ["hello", "hi"]


def test_halves_of_a_character_that_came_apart_are_put_together(lib: Library) -> None:
    with lib.create(id="x") as session:
        session.add("assistant", "\ud83d" + "\ude00")
        session.add("assistant", "\ude00\ud83d")
        session.add("assistant", "ä€😀")
    assert [turn.content for turn in lib.load("x").turns] == ["😀", "\ude00\ud83d", "ä€😀"]


def test_a_second_writer_is_told_who_holds_the_session(lib: Library) -> None:
    with lib.create(id="x"), pytest.raises(SessionLockedError) as caught:
        lib.open("x", timeout_seconds=0)
    assert caught.value.pid == os.getpid()
    assert caught.value.host
    assert caught.value.since is not None


def test_threads_may_share_a_session(lib: Library) -> None:
    with lib.create(id="x") as session:

        def work(name: str) -> None:
            for number in range(20):
                session.add("user", f"{name}{number}")

        threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    contents = [turn.content for turn in lib.load("x").turns]
    assert len(contents) == 80
    for name in "abcd":
        assert [text for text in contents if text[0] == name] == [f"{name}{number}" for number in range(20)]


def test_a_closed_session_takes_nothing_more(lib: Library) -> None:
    session = lib.create(id="x")
    session.close()
    session.close()
    with pytest.raises(WriterStoppedError):
        session.add("user", "too late")
    assert lib.load("x").turn_count == 0


def test_events_made_elsewhere_are_recorded_all_or_none(lib: Library) -> None:
    title = TitleChanged(title="ok", timestamp=datetime(2026, 1, 1, tzinfo=UTC), id="t")
    bad = TitleChanged(title="ok", timestamp="soon", id="v")  # type: ignore[arg-type]
    with lib.create(id="x") as session:
        with pytest.raises(UsageError):
            session.record(title, bad)
        assert session.title == ""
        session.record(title)
        assert session.title == "ok"


def test_the_receipt_names_what_was_given(tmp_path: Path) -> None:
    for durability, expected in ((Durability.SYNCED, 2), (Durability.WRITTEN, 1)):
        lib = segue.open(f"journal:{tmp_path}/{durability}", durability=durability)
        with lib.create(id="x") as session:
            assert session.add("user", "hello").durability == expected
    with segue.open("memory:").create(id="x") as session:
        assert session.add("user", "hello").durability == Durability.VOLATILE


def test_a_forked_child_cannot_write_into_the_session_of_its_parent(tmp_path: Path) -> None:
    lib = segue.open(f"journal:{tmp_path}/store")
    with lib.create(id="x") as session:
        session.add("user", "parent")
        child = os.fork()
        if child == 0:
            try:
                session.add("user", "child")
            except WriterStoppedError:
                os._exit(0)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        session.add("user", "parent again")
    assert [turn.content for turn in lib.load("x").turns] == ["parent", "parent again"]


def test_a_writer_that_an_error_has_ended_is_not_open_until_it_is_opened_again(lib: Library) -> None:
    session = lib.create(id="a")
    session.add("user", "one", id="first")
    session._writer.close()  # as an error of the store would
    with pytest.raises(WriterStoppedError):
        session.add("user", "two")
    assert not session.is_open
    session.reopen()
    assert session.is_open
    session.add("user", "one", id="first")
    session.add("user", "two")
    session.close()
    assert [turn.content for turn in lib.load("a").turns] == ["one", "two"]

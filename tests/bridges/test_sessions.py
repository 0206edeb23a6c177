"""What all bridges share: sessions by the names of a framework, opened for one call at a time."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import pytest

from segue.bridges import NamedSessions, name_of, new_record, scope_of, session_id_for
from segue.errors import NotFoundError, SessionExistsError, SessionLockedError
from segue.model import Record

if TYPE_CHECKING:
    from pathlib import Path

NAMES = (
    "thread-1",
    "Thread-1",
    "thread_1",
    "thread 1",
    "",
    " ",
    "..",
    "a/b",
    "a\x00b",
    "ü" * 9,
    "\ud800",
    "x" * 10_000,
)


@pytest.fixture
def sessions(tmp_path: Path) -> NamedSessions:
    return NamedSessions("weather", f"journal:{tmp_path}/agents", wait_seconds=0.2)


def test_every_name_has_a_session_of_its_own(sessions: NamedSessions) -> None:
    for name in NAMES:
        with sessions.writing(name, scope=["app"]) as session:
            session.add("user", f"I am {name!a}")
    assert {(name_of(one), scope_of(one)) for one in sessions.all()} == {(name, ("app",)) for name in NAMES}
    for name in NAMES:
        events = list(sessions.read(name, scope=["app"]))
        assert [event.content for event in events[1:]] == [f"I am {name!a}"]  # type: ignore[union-attr]


def test_the_id_of_a_name_is_readable_and_depends_on_framework_and_scope() -> None:
    ids = {
        session_id_for(framework, "My thread", scope=scope)
        for framework in ("a", "b")
        for scope in ([], ["x"], ["x", "y"], ["xy"], ["x", ""])
    }
    assert len(ids) == 10
    assert all(id.startswith("my-thread-") for id in ids)


def test_no_lock_outlives_a_call(sessions: NamedSessions) -> None:
    with sessions.writing("t") as session:
        assert sessions.store.owner(session.id) is not None
    assert sessions.store.owner(session.id) is None
    assert sessions.store.load(session.id).status == "paused"


def test_an_error_inside_a_call_releases_the_session(sessions: NamedSessions) -> None:
    with pytest.raises(RuntimeError), sessions.writing("t") as session:
        raise RuntimeError
    assert sessions.store.owner(session.id) is None


def test_threads_are_served_in_turn(tmp_path: Path) -> None:
    sessions = NamedSessions("weather", f"journal:{tmp_path}")

    def add(number: int) -> None:
        for at in range(10):
            with sessions.writing("t") as session:
                session.add("user", f"{number}-{at}")

    threads = [threading.Thread(target=add, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(sessions.store.load(sessions.id_of("t")).turns) == 80


def test_a_session_that_another_writer_holds_is_an_error_in_time(sessions: NamedSessions) -> None:
    with sessions.writing("t") as session:
        pass
    with sessions.library.open(session.id), pytest.raises(SessionLockedError), sessions.writing("t"):
        pass


def test_a_thread_that_holds_a_session_is_an_error_in_time(sessions: NamedSessions) -> None:
    with sessions.writing("t"), pytest.raises(SessionLockedError, match=str(os.getpid())), sessions.writing("t"):
        pass


def test_what_does_not_exist(sessions: NamedSessions) -> None:
    assert sessions.overview("t") is None
    assert list(sessions.read("t")) == []
    assert not sessions.remove("t")
    with pytest.raises(NotFoundError), sessions.writing("t", create=False):
        pass


def test_a_removed_session_is_in_the_trash_and_its_name_is_free(sessions: NamedSessions) -> None:
    with sessions.writing("t") as session:
        session.add("user", "the first")
    assert sessions.remove("t")
    with sessions.writing("t") as session:
        assert session.overview.turn_count == 0
    assert [entry.head.id for entry in sessions.library.trashed()] == [session.id]


def test_the_overview_holds_the_latest_record_of_each_name(sessions: NamedSessions) -> None:
    with sessions.writing("t") as session:
        session.record(new_record("step", {"id": 1}), new_record("state", {"n": 1}, name="state"))
        session.record(new_record("state", {"n": 2}, name="state"), new_record("other", {"n": 3}, name="other"))
        session.record(new_record("other", {}, name="other"))
    overview = sessions.overview("t")
    assert overview is not None
    assert {name: record.data for name, record in overview.records.items()} == {"state": {"n": 2}}
    records = [event for event in sessions.read("t") if isinstance(event, Record)]
    assert [(record.kind, record.data) for record in records] == [
        ("step", {"id": 1}),
        ("state", {"n": 1}),
        ("state", {"n": 2}),
        ("other", {"n": 3}),
        ("other", {}),
    ]


def test_a_session_is_created_with_its_first_events_or_not_at_all(sessions: NamedSessions) -> None:
    overview = sessions.create("t", new_record("state", {"n": 1}, name="state"), scope=["app"])
    assert overview.records["state"].data == {"n": 1}
    with pytest.raises(SessionExistsError):
        sessions.create("t", new_record("state", {"n": 2}, name="state"), scope=["app"])
    found = sessions.overview("t", scope=["app"])
    assert found is not None
    assert found.records["state"].data == {"n": 1}
    assert sessions.store.owner(found.id) is None


def test_a_listing_shows_every_change_also_of_other_processes(tmp_path: Path) -> None:
    sessions, others = (NamedSessions("weather", f"journal:{tmp_path}") for _ in range(2))

    def listed() -> dict[str, int]:
        return {name_of(overview): overview.turn_count for overview in sessions.all()}

    assert listed() == {}
    for number in range(3):
        with others.writing(f"t{number}") as session:
            session.add("user", "hello")
        assert listed() == dict.fromkeys([f"t{at}" for at in range(number + 1)], 1)
    for count in range(2, 5):
        with others.writing("t1") as session:
            session.add("user", "again")
        assert listed() == {"t0": 1, "t1": count, "t2": 1}
    others.remove("t1")
    assert listed() == {"t0": 1, "t2": 1}
    with others.writing("t1") as session:
        session.add("user", "anew")
    assert listed() == {"t0": 1, "t1": 1, "t2": 1}

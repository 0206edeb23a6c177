"""Ralph's file: what others wrote is read, what they changed is noted, and one changed byte is found."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from segue.dialects.ralph.format import new_document, read
from segue.formats.sealed import read_sealed_head
from segue.model import Learning, Metadata, OverridesChanged, Pattern, TaskDone, Unknown, fold, head_of

if TYPE_CHECKING:
    from segue.dialects.ralph.format import RalphDocument
    from segue.model import Event

NOW = datetime(2026, 1, 5, 9, 30, tzinfo=UTC)
FIRST = Metadata(
    session_id="s1", agent="ralph", created_at=NOW, status="paused", id="m", seq=1, extra={"change_name": "login"}
)
EVENTS: list[Event] = [
    FIRST,
    OverridesChanged(values={"story": "1", "model": "x"}, timestamp=NOW, id="o", seq=2),
    Learning(description="Tokens last an hour", task_id="1.1", story_id="1", timestamp=NOW, id="l", seq=3),
    Pattern(name="Retry", description="Twice", timestamp=NOW, id="p", seq=4),
    TaskDone(task_id="1.1", timestamp=NOW, id="t1", seq=5),
    TaskDone(task_id="1.1", timestamp=NOW, story_id="1", id="t2", seq=6),
]
FOREIGN = {
    "session_id": "s1",
    "change_name": "login",
    "current_story_id": "2",
    "created_at": "2026-01-05T09:30:00Z",
    "learnings": [{"description": "A", "task_id": None, "story_id": "1", "timestamp": "2026-01-05T09:31:00Z", "by": 7}],
    "patterns": [{"name": "Retry", "description": "Twice"}],
    "completed_tasks": ["1.1", "1.2"],
    "pid": 77,
}


def document(data: bytes, session_id: str = "s1") -> RalphDocument:
    reading = read(data, session_id, "s1.json")
    assert reading.damages == ()
    assert reading.document is not None
    return reading.document


def edited(**changes: object) -> RalphDocument:
    found = json.loads(new_document(EVENTS).encode())
    return document(json.dumps({**found, **changes}).encode())


def test_the_file_shows_what_ralph_knows() -> None:
    found = json.loads(new_document(EVENTS).encode())
    assert list(found) == [*list(FOREIGN)[:7], "segue"]
    assert (found["session_id"], found["change_name"], found["current_story_id"]) == ("s1", "login", "1")
    assert found["learnings"] == [
        {
            "description": "Tokens last an hour",
            "task_id": "1.1",
            "story_id": "1",
            "timestamp": "2026-01-05T09:30:00Z",
        }
    ]
    assert found["patterns"] == [{"name": "Retry", "description": "Twice"}]
    assert found["completed_tasks"] == ["1.1"]


def test_what_is_written_comes_back() -> None:
    data = new_document(EVENTS).encode()
    assert document(data).events == EVENTS
    assert document(data).encode() == data
    assert read_sealed_head(data, "s1") == head_of(fold(EVENTS))


def test_a_file_of_ralph_itself_is_read() -> None:
    session = fold(document(json.dumps(FOREIGN).encode()).events)
    assert (session.id, session.title, session.status) == ("s1", "login", "paused")
    assert session.extra == {"change_name": "login", "pid": 77}
    assert session.overrides == {"story": "2"}
    assert [(one.description, one.extra) for one in session.learnings] == [("A", {"by": 7})]
    assert [task.task_id for task in session.tasks_done] == ["1.1", "1.2"]
    assert session.unknown == ()


def test_a_file_of_ralph_itself_keeps_what_it_says_when_it_is_written() -> None:
    again = json.loads(document(json.dumps(FOREIGN).encode()).encode())
    assert {name: value for name, value in again.items() if name != "segue"} == FOREIGN


def test_reading_twice_gives_the_same() -> None:
    data = json.dumps(FOREIGN).encode()
    assert document(data).events == document(data).events == document(document(data).encode()).events


def test_what_another_program_adds_is_new_and_noted() -> None:
    new = {"description": "B", "task_id": None, "story_id": None, "timestamp": "2026-01-05T10:00:00Z"}
    shown = json.loads(new_document(EVENTS).encode())["learnings"]
    session = fold(edited(learnings=[*shown, new], completed_tasks=["1.1", "2.1"], current_story_id="2").events)
    assert [one.description for one in session.learnings] == ["Tokens last an hour", "B"]
    assert [task.task_id for task in session.tasks_done] == ["1.1", "1.1", "2.1"]
    assert session.overrides == {"story": "2", "model": "x"}
    (note,) = session.unknown
    assert note.type == "edited"
    assert len(note.data["added"] if isinstance(note.data["added"], list) else []) == 3
    assert note.data["removed"] == []


def test_what_another_program_removes_is_gone_and_noted() -> None:
    found = edited(learnings=[], completed_tasks=[], current_story_id=None)
    session = fold(found.events)
    assert (session.learnings, session.tasks_done, session.overrides) == ((), (), {"model": "x"})
    (note,) = (event for event in found.events if isinstance(event, Unknown))
    removed = note.data["removed"]
    assert isinstance(removed, list)
    assert [one["id"] for one in removed] == ["l", "t1", "t2"]
    assert [event.seq for event in found.events] == list(range(1, len(found.events) + 1))


def test_another_change_and_another_file_name_are_believed() -> None:
    session = fold(edited(change_name="logout").events)
    assert session.extra["change_name"] == "logout"
    assert document(new_document(EVENTS).encode(), "copy").overview.id == "copy"


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"learnings": {}}, "learnings"),
        ({"learnings": ["text"]}, "learnings[0]"),
        ({"learnings": [{"description": 7}]}, "learning"),
        ({"completed_tasks": [7]}, "completed_tasks"),
        ({"current_story_id": 7}, "current_story_id"),
        ({"change_name": None}, "change_name"),
        ({"created_at": "yesterday"}, "metadata"),
    ],
)
def test_what_cannot_be_believed_is_named(change: dict[str, object], place: str) -> None:
    reading = read(json.dumps({**FOREIGN, **change}).encode(), "s1", "s1.json")
    assert reading.damages[0].place.startswith(f"s1.json {place}")
    assert reading.document is not None


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b"nonsense", b"\xff", b'{"change_name": '])
def test_what_is_no_session_is_none(data: bytes) -> None:
    reading = read(data, "s1", "s1.json")
    assert reading.document is None
    assert reading.damages


def test_every_flipped_byte_is_found_and_costs_at_most_one_event() -> None:
    data = new_document(EVENTS).encode()
    for at in range(len(data)):
        broken = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
        reading = read(broken, "s1", "s1.json")
        assert [damage.offset for damage in reading.damages] == [at]
        assert reading.document is not None
        assert len(reading.document.events) >= len(EVENTS) - 1


def test_a_file_that_was_cut_off_gives_what_is_left() -> None:
    data = new_document(EVENTS).encode()
    reading = read(data[: data.index(b'"segue"')], "s1", "s1.json")
    assert reading.document is not None
    assert reading.damages
    assert [one.description for one in reading.document.overview.learnings] == ["Tokens last an hour"]

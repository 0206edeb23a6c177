"""What other programs and people do to a conversation: read all the same, kept, and never taken for ours."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

import pytest

import segue
from segue.dialects.cortext.store import CortextStore
from segue.errors import ConflictError, DamagedError, StorageError
from segue.model import OverridesChanged
from segue.testing.conformance.chapter import create_and_close, event_ids
from segue.testing.events import fork, status, switched, turn, turns

if TYPE_CHECKING:
    from pathlib import Path

    from segue.model import JsonObject

ID = "2025-11-22-001-brainstorm-topic"
FOREIGN: JsonObject = {
    "version": "1.0",
    "conversation_id": "001-brainstorm-topic",
    "conversation_type": "brainstorm",
    "title": "API Design Discussion",
    "status": "paused",
    "created_at": "2025-11-22T10:00:00Z",
    "last_active": "2025-11-22T11:30:00Z",
    "message_count": 2,
    "agent_config": {
        "command": "/workspace.brainstorm",
        "system_prompt_hash": "sha256:abc",
        "model": "claude-sonnet-4",
        "tools": ["github", "files"],
        "tool": "claude",
    },
    "context_summary": "Exploring REST vs GraphQL, leaning toward REST",
}
MESSAGES = [
    {"role": "user", "content": "REST or GraphQL?", "timestamp": "2025-11-22T10:00:01Z"},
    {"role": "assistant", "content": "What do clients need?", "timestamp": "2025-11-22T10:00:09Z"},
]


@pytest.fixture
def hidden(tmp_path: Path) -> Path:
    folder = tmp_path / "conversations" / "2025-11-22" / "001-brainstorm-topic" / ".session"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def store(tmp_path: Path) -> CortextStore:
    return CortextStore(str(tmp_path))


def lay(hidden: Path, session: JsonObject | None = None, messages: list[JsonObject] | None = None) -> None:
    (hidden / "session.json").write_text(json.dumps(session or FOREIGN, indent=2))
    lines = "".join(f"{json.dumps(one)}\n" for one in (messages if messages is not None else MESSAGES))
    (hidden / "messages.jsonl").write_text(lines)


def shown(hidden: Path) -> JsonObject:
    found: JsonObject = json.loads((hidden / "session.json").read_bytes())
    return found


def edit(hidden: Path, **changes: object) -> None:
    (hidden / "session.json").write_text(json.dumps(shown(hidden) | changes, indent=2))


def test_what_another_program_wrote_is_a_session(hidden: Path, store: CortextStore) -> None:
    lay(hidden)
    assert list(store.ids()) == [ID]
    session = store.load(ID)
    assert [(turn.role, turn.content) for turn in session.turns] == [
        ("user", "REST or GraphQL?"),
        ("assistant", "What do clients need?"),
    ]
    assert (session.title, session.status, session.summary) == (
        "API Design Discussion",
        "paused",
        "Exploring REST vs GraphQL, leaning toward REST",
    )
    assert session.extra == {"conversation_type": "brainstorm", "command": "/workspace.brainstorm"}
    assert session.overrides == {
        "prompt_hash": "sha256:abc",
        "model": "claude-sonnet-4",
        "mcp_tools": ["github", "files"],
        "tool": "claude",
    }
    assert session.updated_at.isoformat() == "2025-11-22T11:30:00+00:00"
    assert store.tail(ID, 1) == session.turns[1:]
    assert store.head(ID).turn_count == 2


def test_it_can_be_written_on_and_shows_what_it_showed(hidden: Path, store: CortextStore) -> None:
    lay(hidden, FOREIGN | {"mood": {"deep": [1]}, "tags": "odd"})
    before = list(store.read(ID))
    with store.open(ID) as writer:
        assert shown(hidden) == FOREIGN | {"mood": {"deep": [1]}, "tags": "odd"}
        writer.append(turn(3))
    after = shown(hidden)
    ours = after.pop("segue")
    assert after == FOREIGN | {
        "mood": {"deep": [1]},
        "tags": "odd",
        "message_count": 3,
        "last_active": "2026-01-02T03:04:08.678900Z",
    }
    assert isinstance(ours, dict)
    assert list(store.read(ID))[:-1] == before
    assert event_ids(store, ID)[-1] == "turn-3"
    lines = (hidden / "messages.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines[:2]] == MESSAGES


def test_an_unknown_field_of_a_message_is_its_native_record(hidden: Path, store: CortextStore) -> None:
    lay(hidden, messages=[{"role": "human", "content": [{"text": "Hi"}, " there"], "mood": 1, "timestamp": 5}])
    (one,) = store.load(ID).turns
    assert (one.role, one.content) == ("user", "Hi there")
    assert one.native == {"role": "human", "content": [{"text": "Hi"}, " there"], "mood": 1, "timestamp": 5}


def test_a_last_line_without_its_end_is_a_message_and_stays_one(hidden: Path, store: CortextStore) -> None:
    lay(hidden)
    path = hidden / "messages.jsonl"
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    assert store.head(ID).turn_count == 2
    with store.open(ID) as writer:
        writer.append(turn(3))
        writer.append(turn(4))
    assert [one.id for one in store.load(ID).turns][-2:] == ["turn-3", "turn-4"]
    assert store.load(ID).turns[1].content == "What do clients need?"
    assert path.read_bytes().count(b"\n") == 4


def test_messages_that_another_program_adds_to_ours_are_turns_for_good(hidden: Path, store: CortextStore) -> None:
    hidden.rmdir()
    create_and_close(store, turn(1), status("paused"), session_id=ID)
    with (hidden / "messages.jsonl").open("a") as file:
        file.write(json.dumps(MESSAGES[0]) + "\n")
    assert event_ids(store, ID) == ["turn-1", "paused-0", "message-4"]
    assert store.head(ID).turn_count == 2
    with store.open(ID) as writer:
        assert writer.append(status("active", 5), turn(2)).seqs == (5, 6)
    assert event_ids(store, ID) == ["turn-1", "paused-0", "message-4", "active-5", "turn-2"]


def test_a_message_that_another_program_adds_goes_on_in_the_active_branch(hidden: Path, store: CortextStore) -> None:
    hidden.rmdir()
    create_and_close(store, *turns(1, 2), fork("idea", 1), session_id=ID)
    with (hidden / "messages.jsonl").open("a") as file:
        file.write(json.dumps(MESSAGES[0]) + "\n")
    with store.open(ID) as writer:
        writer.append(switched("main"), turn(3))
    session = store.load(ID)
    assert [one.id for one in session.path("idea")] == ["turn-1", "message-5"]
    assert [one.id for one in session.path("main")] == ["turn-1", "turn-2", "turn-3"]


def test_a_program_that_throws_our_key_away_costs_what_only_we_had_and_no_turn(
    hidden: Path, store: CortextStore
) -> None:
    hidden.rmdir()
    create_and_close(store, turn(1), fork("idea", 1), *turns(2, 3, branch="idea"), session_id=ID)
    found = shown(hidden)
    del found["segue"]
    (hidden / "session.json").write_text(json.dumps(found))
    session = store.load(ID)
    assert [one.id for own in session.own_turns.values() for one in own] == ["turn-1", "turn-2", "turn-3"]
    assert session.title == "Login bug"
    with store.open(ID) as writer:
        writer.append(turn(4))
    assert [one for one in event_ids(store, ID) if one.startswith("turn")] == ["turn-1", "turn-2", "turn-3", "turn-4"]
    assert store.examine(ID).damages == ()


def test_a_title_a_status_and_a_summary_can_be_edited_by_hand(hidden: Path, store: CortextStore) -> None:
    hidden.rmdir()
    create_and_close(store, *turns(1, 2), status("paused"), session_id=ID)
    edit(hidden, title="Another", status="completed", context_summary="Where we were")
    session = store.load(ID)
    assert (session.title, session.status, session.summary) == ("Another", "completed", "Where we were")
    assert (store.head(ID).title, store.head(ID).status) == ("Another", "completed")
    with store.open(ID) as writer:
        writer.append(turn(3))
    again = store.load(ID)
    assert (again.title, again.status, again.summary) == ("Another", "completed", "Where we were")
    assert [one.id for one in again.turns] == ["turn-1", "turn-2", "turn-3"]
    assert shown(hidden)["title"] == "Another"


def test_an_edited_agent_config_is_an_override(hidden: Path, store: CortextStore) -> None:
    hidden.rmdir()
    create_and_close(store, turn(1), session_id=ID)
    config = shown(hidden)["agent_config"]
    assert isinstance(config, dict)
    edit(hidden, agent_config={**config, "model": "o4", "seat": "window"})
    assert store.load(ID).overrides == {"model": "o4"}
    with store.open(ID) as writer:
        writer.append(turn(2))
    assert shown(hidden)["agent_config"] == {**config, "model": "o4", "seat": "window"}
    assert sum(isinstance(event, OverridesChanged) for event in store.read(ID)) == 1


def test_an_edited_line_is_found_and_one_without_our_key_is_believed(hidden: Path, store: CortextStore) -> None:
    hidden.rmdir()
    create_and_close(store, *turns(1, 3), session_id=ID)
    path = hidden / "messages.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([lines[0], lines[1].replace("was said", "was never said"), lines[2]]))
    with pytest.raises(DamagedError, match=r"messages.jsonl line 2"):
        store.load(ID)
    plain = {name: value for name, value in json.loads(lines[1]).items() if name != "segue"} | {"content": "edited"}
    path.write_text("".join([lines[0], json.dumps(plain) + " " * 300 + "\n", lines[2]]))
    session = store.load(ID)
    assert [one.content for one in session.turns][1] == "edited"
    assert [one.seq for one in session.turns] == [2, 3, 4]


def test_a_writer_notices_what_others_write_meanwhile_and_stops(hidden: Path, store: CortextStore) -> None:
    hidden.rmdir()
    create_and_close(store, turn(1), session_id=ID)

    def add_a_line() -> None:
        with (hidden / "messages.jsonl").open("a") as file:
            file.write("\n")

    for meddle in (partial(edit, hidden, title="mine"), add_a_line):
        with store.open(ID) as writer:
            before = store.load(ID)
            meddle()
            with pytest.raises((ConflictError, StorageError)):
                writer.append(turn(2))
        assert store.load(ID).turns == before.turns


def test_a_status_that_cortext_does_not_know_is_read_as_paused(hidden: Path, store: CortextStore) -> None:
    lay(hidden, FOREIGN | {"status": "sleeping"})
    assert store.load(ID).status == "paused"
    assert store.overview(ID).status == "paused"


def test_active_without_a_writer_reads_as_interrupted(hidden: Path, store: CortextStore) -> None:
    lay(hidden, FOREIGN | {"status": "active"})
    assert store.load(ID).status == store.head(ID).status == "interrupted"


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{}", b"null", b"{", b"\xff", b'{"conversation_id": 1, "created_at": "soon"}', b"[" * 9999]
)
def test_what_is_no_session_json_is_damage_and_hides_no_other(hidden: Path, store: CortextStore, data: bytes) -> None:
    create_and_close(store, turn(1), session_id="sound")
    (hidden / "session.json").write_bytes(data)
    assert sorted(store.ids()) == [ID, "sound"]
    assert {head.id: bool(head.damage) for head in store.heads()} == {ID: True, "sound": False}
    assert store.examine(ID).damages
    for attempt in (store.load, store.open, store.overview):
        with pytest.raises(DamagedError):
            attempt(ID)
    assert (hidden / "session.json").read_bytes() == data


@pytest.mark.parametrize(
    "line", [b"nonsense", b"[]", b"{}", b'{"role": "user"', b"\xff\xfe", b'{"role": "user", "timestamp": "soon"}']
)
def test_a_bad_line_among_others_is_placed(hidden: Path, store: CortextStore, line: bytes) -> None:
    lay(hidden)
    path = hidden / "messages.jsonl"
    first, second = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([first, line, second, b""]))
    examination = store.examine(ID)
    assert [damage.line for damage in examination.damages] == [2]
    assert examination.session is not None
    assert len(examination.session.turns) == 2


def test_a_conversation_of_another_program_can_be_resumed_through_the_library(hidden: Path, tmp_path: Path) -> None:
    lay(hidden)
    library = segue.open(f"cortext:{tmp_path}")
    with library.resume(ID) as session:
        session.add("user", "Both?")
    assert [one.content for one in library.load(ID).turns][-1] == "Both?"
    assert shown(hidden)["status"] == "paused"

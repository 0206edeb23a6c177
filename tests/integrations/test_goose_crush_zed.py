"""goose, crush and Zed: what a tool call alone does not show."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import zstandard

from segue.integrations import INTEGRATIONS
from segue.stores.memory import MemoryStore
from segue.transfer.import_sessions import import_session
from tests.support.integration_homes import PLACES, move_in, read, sessions

if TYPE_CHECKING:
    from pathlib import Path

    from segue.model import JsonObject

PNG = "aW1hZ2U="


def change(home: Path, tool: str, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(home / PLACES[tool])) as database:
        database.execute(statement, values)
        database.commit()


def add_to_goose(home: Path, role: str, *pieces: JsonObject, user: bool = True, agent: bool = True) -> None:
    metadata = json.dumps({"userVisible": user, "agentVisible": agent})
    statement = (
        "INSERT INTO messages (session_id, role, content_json, created_timestamp, metadata_json) VALUES (?, ?, ?, ?, ?)"
    )
    change(home, "goose", statement, "20260105_1", role, json.dumps(pieces), 1_767_605_500, metadata)


def test_a_compaction_of_goose_hides_nothing_and_its_summary_is_not_the_users(tmp_path: Path) -> None:
    move_in(tmp_path, "goose")
    add_to_goose(tmp_path, "user", {"type": "text", "text": "Old"}, agent=False)
    add_to_goose(tmp_path, "user", {"type": "text", "text": "All that was said"}, user=False)
    add_to_goose(tmp_path, "assistant", {"type": "text", "text": "Go on."}, user=False)
    add_to_goose(tmp_path, "user", {"type": "text", "text": "New"})
    _, steps = read("goose", tmp_path)
    found = [(step.turn.role, step.turn.content, [part["type"] for part in step.turn.parts]) for step in steps[4:]]
    assert found == [
        ("user", "Old", []),
        ("system", "All that was said", ["summary"]),
        ("system", "Go on.", ["notice"]),
        ("user", "New", []),
    ]


def test_a_failed_call_of_goose_stays_failed_and_an_unknown_piece_is_named(tmp_path: Path) -> None:
    move_in(tmp_path, "goose")
    image: JsonObject = {"type": "image", "data": PNG, "mimeType": "image/png"}
    failed: JsonObject = {"status": "error", "error": "no such tool"}
    add_to_goose(tmp_path, "user", {"type": "toolResponse", "id": "x", "toolResult": failed})
    seen: JsonObject = {"status": "success", "value": {"content": [image], "isError": True}}
    add_to_goose(tmp_path, "user", {"type": "toolResponse", "id": "y", "toolResult": seen}, {"type": "hologram"})
    about, steps = read("goose", tmp_path)
    (first,), (second,) = (step.turn.parts for step in steps[4:])
    assert (first["content"], first["is_error"]) == ("no such tool", True)
    assert second["is_error"] is True
    assert second["images"] == [{"type": "image", "media_type": "image/png", "data": PNG}]
    assert [damage.reason for damage in about.damages] == ["a piece of the unknown type hologram is not read"]


def test_subagents_of_goose_are_not_listed(tmp_path: Path) -> None:
    move_in(tmp_path, "goose")
    assert [session.id for session in sessions("goose", tmp_path)] == ["20260105_1-093000"]


def test_the_first_sessions_of_a_day_on_two_machines_are_two_sessions(tmp_path: Path) -> None:
    store = MemoryStore()
    for name, time in (("one", "09:30:00"), ("other", "11:05:07")):
        move_in(tmp_path / name, "goose")
        change(tmp_path / name, "goose", "UPDATE sessions SET created_at = ?", f"2026-01-05 {time}")
        (session,) = sessions("goose", tmp_path / name)
        assert import_session(INTEGRATIONS["goose"], session, store).is_new
        assert not import_session(INTEGRATIONS["goose"], session, store).is_new
    assert sorted(store.ids()) == ["goose-20260105_1-093000", "goose-20260105_1-110507"]


def add_to_crush(home: Path, id: str, role: str, *parts: tuple[str, JsonObject], session: str = "c-main") -> None:
    data = json.dumps([{"type": kind, "data": about} for kind, about in parts])
    statement = "INSERT INTO messages (id, session_id, role, parts, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?)"
    change(home, "crush", statement, id, session, role, data, 1_767_605_500_000, 1_767_605_500_000)


def test_what_a_user_runs_and_attaches_in_crush(tmp_path: Path) -> None:
    move_in(tmp_path, "crush")
    command: JsonObject = {"command": "ls", "output": "a.txt", "exit_code": 1}
    picture: JsonObject = {"Path": "p.png", "MIMEType": "image/png", "Data": PNG}
    document: JsonObject = {"Path": "d.pdf", "MIMEType": "application/pdf", "Data": PNG}
    text: tuple[str, JsonObject] = ("text", {"text": "Look"})
    add_to_crush(tmp_path, "m5", "user", text, ("binary", picture), ("binary", document), ("shell_command", command))
    add_to_crush(tmp_path, "m6", "assistant", ("text", {"text": "I wi"}), ("finish", {"reason": "canceled"}))
    about, steps = read("crush", tmp_path)
    said, ran, output, answer = (step.turn for step in steps[4:])
    assert (said.content, [part["type"] for part in said.parts]) == ("Look", ["image", "file"])
    assert (ran.role, ran.content, ran.parts[0]["arguments"]) == ("user", "!ls", {"command": "ls"})
    assert (output.role, output.parts[0]["id"], output.parts[0]["is_error"]) == ("tool", ran.parts[0]["id"], True)
    assert (answer.content, answer.partial, answer.timestamp.year) == ("I wi", True, 2026)
    assert about.damages == []


def test_a_subagent_of_crush_is_a_branch_of_its_parent_and_a_summary_is_one(tmp_path: Path) -> None:
    move_in(tmp_path, "crush")
    add_to_crush(tmp_path, "m5", "assistant", ("text", {"text": "In short"}))
    change(tmp_path, "crush", "UPDATE messages SET is_summary_message = 1 WHERE id = 'm5'")
    statement = (
        "INSERT INTO sessions (id, parent_session_id, title, updated_at, created_at) VALUES (?, 'c-main', '', 0, 0)"
    )
    for child in ("title-c-main", "m2$$call_9"):
        change(tmp_path, "crush", statement, child)
        add_to_crush(tmp_path, f"of {child}", "user", ("text", {"text": "Help"}), session=child)
    assert [session.id for session in sessions("crush", tmp_path)] == ["c-main"]
    about, steps = read("crush", tmp_path)
    assert [(step.turn.content, step.side) for step in steps[4:]] == [("In short", ""), ("Help", "agent-m2$$call_9")]
    assert steps[4].turn.role == "system"
    assert about.tip == steps[4].turn.id


def test_crush_is_found_in_the_projects_of_its_list(tmp_path: Path) -> None:
    move_in(tmp_path / "project", "crush")
    known = tmp_path / ".local" / "share" / "crush" / "projects.json"
    known.parent.mkdir(parents=True)
    known.write_text(json.dumps({"projects": [{"path": str(tmp_path / "project")}, {"path": "not/absolute"}]}))
    (found,) = sessions("crush", tmp_path)
    assert found.id == "c-main"
    known.write_text("{")
    assert sessions("crush", tmp_path) == []


def test_threads_of_zed_are_read_compressed_and_in_their_older_form(tmp_path: Path) -> None:
    move_in(tmp_path, "zed")
    mention = {"Mention": {"uri": {"File": {"abs_path": "/p/a.txt"}}, "content": "SECRETWORD"}}
    newer = {
        "version": "0.3.0",
        "messages": [
            {"User": {"id": "u", "content": [{"Text": "Read "}, mention, {"Image": {"source": PNG}}]}},
            "Resume",
            {"Agent": {"content": [{"Thinking": {"text": "Hm"}}, {"Text": "Done"}], "tool_results": {}}},
            {"Compaction": {"summary": "In short"}},
        ],
    }
    older = {
        "version": "0.2.0",
        "messages": [
            {"id": 0, "role": "user", "segments": [{"type": "text", "text": "Old"}]},
            {
                "id": 1,
                "role": "assistant",
                "segments": [{"type": "text", "text": "Yes"}],
                "tool_uses": [{"id": "t", "name": "grep", "input": {"word": "x"}}],
                "tool_results": [{"tool_use_id": "t", "is_error": True, "content": "none"}],
            },
        ],
    }
    packed = zstandard.ZstdCompressor().compress(json.dumps(newer).encode())
    statement = "INSERT INTO threads (id, summary, updated_at, data_type, data, parent_id) VALUES (?, ?, ?, ?, ?, ?)"
    change(tmp_path, "zed", statement, "newer", "Newer", "2026-01-05T10:00:00Z", "zstd", packed, None)
    change(tmp_path, "zed", statement, "older", "Older", "2026-01-05T10:00:00Z", "json", json.dumps(older), "newer")
    assert [session.id for session in sessions("zed", tmp_path)][1:] == ["newer"]
    about, steps = read("zed", tmp_path)
    said, answered, old, yes, result = (step.turn for step in steps)
    assert (said.content, [part["type"] for part in said.parts]) == ("Read ", ["file", "image"])
    assert said.parts[0] == {"type": "file", "path": "/p/a.txt", "content": "SECRETWORD"}
    assert (answered.content, about.tip) == ("Done", answered.id)
    assert (old.content, steps[2].side) == ("Old", "agent-older")
    assert (yes.parts[0]["name"], result.parts[0]["is_error"]) == ("grep", True)
    assert [damage.reason for damage in about.damages] == ["a message of the unknown type Compaction is not read"]


def test_a_thread_of_zed_that_cannot_be_decompressed_is_reported(tmp_path: Path) -> None:
    move_in(tmp_path, "zed")
    change(tmp_path, "zed", "UPDATE threads SET data_type = 'zstd', data = ?", b"\x28\xb5\x2f\xfd damaged")
    about, steps = read("zed", tmp_path)
    assert steps == []
    assert "it cannot be decompressed" in about.damages[0].reason

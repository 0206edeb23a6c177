"""Every scenario of Aurora's specification of session management, with its own commands."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from segue.ids import is_id

if TYPE_CHECKING:
    from tests.support.machine import Machine

TURNS = (("user", "Why does login fail?"), ("assistant", "The token expires."))


def days_ago(days: int) -> str:
    return (datetime.now(UTC) - timedelta(days=days)).isoformat()


def test_create_new_session(machine: Machine) -> None:
    machine.run("aur spawn --interactive")
    machine.run("aur spawn --interactive")
    files = sorted(machine.journals.glob("*.jsonl"))
    ids = [file.name.removesuffix(".jsonl") for file in files]
    assert len(set(ids)) == 2
    assert all(is_id(id) for id in ids)
    metadata = machine.lines(ids[0])[0]
    assert metadata["session_id"] == ids[0]
    assert metadata["agent"] == "offline"
    assert datetime.fromisoformat(str(metadata["created_at"])).utcoffset() == timedelta(0)
    assert metadata["status"] == "active"


def test_save_session_state(machine: Machine) -> None:
    with machine.live("aur spawn --interactive --session talk") as talk:
        before: list[dict[str, object]] = []
        for number, said in enumerate(["Why does login fail?", "And then?"], start=1):
            talk.say(said)
            lines = machine.lines("talk")  # this process reads while the other writes
            turns = [line for line in lines if line["type"] == "turn"]
            assert [turn["role"] for turn in turns] == ["user", "assistant"] * number
            assert turns[-2]["content"] == said
            assert lines[: len(before)] == before
            before = lines


def test_load_existing_session(machine: Machine) -> None:
    machine.journal("session-123", *TURNS, ("user", "Since when?"), ("assistant", "Since Monday."))
    restored = machine.run("aur spawn --resume session-123", "/history", "/exit").text
    places = [restored.index(text) for text in ("Why does login fail?", "The token expires.", "Since when?", "Monday")]
    assert places == sorted(places)
    told = machine.run(f"aur spawn --resume session-123 --agent {machine.echo}", "What now?", "/exit").text
    places = [told.index(text) for text in ("Why does login fail?", "The token", "Since when?", "Monday", "What now?")]
    assert places == sorted(places)
    assert [turn.content for turn in machine.aurora.load("session-123").turns[:3]] == [
        "Why does login fail?",
        "The token expires.",
        "Since when?",
    ]


def test_list_all_sessions(machine: Machine) -> None:
    machine.journal("older", *TURNS, created_at=days_ago(9))
    machine.journal("newest", created_at=days_ago(1))
    machine.journal("oldest", *TURNS, *TURNS, agent="architect", created_at=days_ago(20))
    titles, *rows = machine.run("aur spawn --list-sessions").text.splitlines()
    assert titles.split() == ["session_id", "agent", "turn_count", "created_at", "status"]
    assert [row.split()[:3] for row in rows] == [
        ["newest", "qa-test", "0"],
        ["older", "qa-test", "2"],
        ["oldest", "architect", "4"],
    ]
    assert {row.split()[4] for row in rows} == {"completed"}


def test_filter_sessions_by_agent(machine: Machine) -> None:
    machine.journal("one", agent="qa-test")
    machine.journal("two", agent="architect")
    machine.journal("three", agent="qa-test-lead")
    _, *rows = machine.run("aur spawn --list-sessions --agent qa-test").text.splitlines()
    assert [row.split()[:2] for row in rows] == [["one", "qa-test"]]


def test_filter_sessions_by_status(machine: Machine) -> None:
    machine.run("aur spawn --interactive --session done", "Hello", "/exit")
    with machine.live("aur spawn --interactive --session dead") as dead:
        dead.say("Hello")
        dead.kill()
    with machine.live("aur spawn --interactive --session living") as living:
        living.say("Hello")
        for status, id in (("active", "living"), ("completed", "done"), ("interrupted", "dead")):
            _, *rows = machine.run(f"aur spawn --list-sessions --status {status}").text.splitlines()
            assert [(row.split()[0], row.split()[-1]) for row in rows] == [(id, status)]


def test_delete_single_session(machine: Machine) -> None:
    file = machine.journal("session-123", *TURNS)
    machine.journal("session-1234", *TURNS)
    assert machine.run("aur spawn --delete-session session-123").text == "Deleted session session-123\n"
    assert not file.exists()
    _, *rows = machine.run("aur spawn --list-sessions").text.splitlines()
    assert [row.split()[0] for row in rows] == ["session-1234"]


def test_clean_old_sessions(machine: Machine) -> None:
    for days in (1, 29, 31, 400):
        machine.journal(f"from-{days}", created_at=days_ago(days))
    shown = machine.run("aur spawn --clean-sessions 30").text
    assert "Deleted 2 sessions older than 30 days" in shown.splitlines()
    assert sorted(file.stem for file in machine.journals.glob("*.jsonl")) == ["from-1", "from-29"]


def test_automatic_cleanup(machine: Machine) -> None:
    for days in (1, 31, 400):
        machine.journal(f"from-{days}", created_at=days_ago(days))
    config = machine.home / ".aurora" / "config.json"
    config.write_text(json.dumps({"spawner": {"interactive": {"session_expiry_days": 30}}}), encoding="utf-8")
    talked = machine.run("aur spawn --interactive --session talk", "Hello", "/exit")
    assert "Hello" in talked.text
    assert "deleted 2 sessions without activity for 30 days" in talked.complaint
    assert sorted(file.stem for file in machine.journals.glob("*.jsonl")) == ["from-1", "talk"]


def test_jsonl_format_structure(machine: Machine) -> None:
    machine.run("aur spawn --interactive --session talk", "Why does login fail?", "/exit")
    first, user, assistant, *rest = machine.lines("talk")
    assert (first["type"], first["session_id"], first["agent"]) == ("metadata", "talk", "offline")
    assert "created_at" in first
    for turn, role in ((user, "user"), (assistant, "assistant")):
        assert (turn["type"], turn["role"]) == ("turn", role)
        assert turn["content"]
        assert isinstance(turn["tokens"], int)
        datetime.fromisoformat(str(turn["timestamp"]))
    assert "turn" not in [line["type"] for line in rest]


def test_parse_jsonl_on_load(machine: Machine) -> None:
    file = machine.journal("session-123", *TURNS)
    machine.run("aur spawn --resume session-123", "/exit")
    session = machine.aurora.load("session-123")
    assert (session.agent, session.created_at.year) == ("qa-test", 2020)
    assert [(turn.role, turn.content) for turn in session.turns] == list(TURNS)
    lines = file.read_bytes().count(b"\n")
    with file.open("ab") as journal:
        journal.write(b"this is no JSON\n")
    told = machine.run("aur spawn --resume session-123", code=5).complaint
    assert f"session-123.jsonl line {lines + 1}: it is not JSON" in told


@pytest.mark.parametrize("answer", ["nothing", "recover", "delete"])
def test_handle_corrupted_session_file(machine: Machine, answer: str) -> None:
    file = machine.journal("session-123", *TURNS, ("user", "Since when?"))
    damaged = file.read_bytes().replace(b'"content": "The token', b'"content" "The token')
    file.write_bytes(damaged)
    match answer:
        case "nothing":
            told = machine.run("aur spawn --resume session-123", code=5).complaint
            assert file.read_bytes() == damaged
        case "recover":
            told = machine.run("aur spawn --resume session-123", "y", "/exit").complaint
            assert [turn.content for turn in machine.aurora.load("session-123").turns] == [
                "Why does login fail?",
                "Since when?",
            ]
            assert file.with_name("session-123.jsonl.corrupt").read_bytes() == damaged
        case _:
            told = machine.run("aur spawn --resume session-123", "n", "y").complaint
            assert not file.exists()
            assert "Deleted session session-123" in told
    assert "session-123.jsonl line 3: it is not JSON" in told
    assert "Recover what can be read?" in told


def test_write_lock_during_save(machine: Machine) -> None:
    with machine.live("aur spawn --interactive --session talk") as talk:
        talk.say("Hello")
        told = machine.run("aur spawn --resume talk", "Me too", code=4).complaint
        assert f"session talk is in use by process {talk.process.pid} on " in told
        talk.say("Still here")
    assert [turn.content for turn in machine.aurora.load("talk").turns if turn.role == "user"] == [
        "Hello",
        "Still here",
    ]


def test_read_during_active_session(machine: Machine) -> None:
    with machine.live("aur spawn --interactive --session talk") as talk:
        for turns in (2, 4):
            talk.say("Hello")
            _, row = machine.run("aur spawn --list-sessions").text.splitlines()
            assert row.split()[:3] == ["talk", "offline", str(turns)]
            assert len(machine.aurora.load("talk").turns) == turns

"""Records of programs on the command line: kept by every format that keeps everything, counted by the others."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING

import pytest

from segue.bridges.sessions import NamedSessions, new_record
from segue.model import Record
from segue.testing.events import turn

if TYPE_CHECKING:
    from segue.model import Event, JsonObject
    from tests.support.cli import Segue

STRANGE: JsonObject = {"id": "x", "seq": 3, "type": "turn", "sum": "00", "\ud800": ["\x1b[31m", None, 2**70, 0.5]}


@pytest.fixture
def thread(cli: Segue) -> str:
    """A session as a framework leaves it: two turns among named and unnamed records, one with a blob."""
    sessions = NamedSessions("langgraph", cli.store)
    with sessions.writing("thread 1") as session:
        blob = session.put_blob(b"a large value")
        session.record(new_record("checkpoint", STRANGE, name="head"), turn(1, "Why does login fail?"))
        session.record(new_record("write", {"n": 1}, blobs=[blob]), turn(2, "The token expires."))
        session.record(new_record("checkpoint", {**STRANGE, "n": 2}, name="head"))
    return sessions.id_of("thread 1")


def events_of(cli: Segue, id: str) -> list[Event]:
    return list(cli.library.store.read(id))


def records_of(cli: Segue, id: str) -> list[Record]:
    return [event for event in events_of(cli, id) if isinstance(event, Record)]


def test_a_json_export_contains_all_records_and_their_blobs(cli: Segue, thread: str) -> None:
    exported = json.loads(cli.ok("export", thread, "--format", "json"))
    assert [record["data"] for record in exported["records"]] == [one.data for one in records_of(cli, thread)]
    assert list(exported["blobs"]) == list(records_of(cli, thread)[1].blobs)
    cli.ok("export", thread, "--format", "json", "-o", "thread.json")
    original = cli.library.load(thread), records_of(cli, thread)
    cli.store = f"journal:{cli.home}/other"
    assert cli.ok("import", "thread.json") == f"{thread}: 2 turns\n"
    assert cli.library.load(thread).records.keys() == original[0].records.keys() == {"head"}
    assert [(one.id, one.data, one.blobs) for one in records_of(cli, thread)] == [
        (one.id, one.data, one.blobs) for one in original[1]
    ]
    assert [one.id for one in cli.library.load(thread).turns] == [one.id for one in original[0].turns]
    assert cli.library.store.get_blob(thread, original[1][1].blobs[0]) == b"a large value"
    assert cli.ok("import", "thread.json") == f"{thread}: already in the store, nothing new\n"


def test_what_was_recorded_since_is_added_and_nothing_else_is_mixed(cli: Segue, thread: str) -> None:
    cli.ok("export", thread, "--format", "json", "-o", "old.json")
    sessions = NamedSessions("langgraph", cli.store)
    with sessions.writing("thread 1") as session:
        session.record(new_record("checkpoint", {"n": 3}, name="head"))
    cli.ok("export", thread, "--format", "json", "-o", "new.json")
    before = events_of(cli, thread)
    assert "nothing new" in cli.ok("import", "old.json")
    assert events_of(cli, thread) == before
    cli.store = f"journal:{cli.home}/other"
    cli.ok("import", "old.json")
    cli.ok("import", "new.json")
    assert cli.library.load(thread).records["head"].data == {"n": 3}
    assert len(records_of(cli, thread)) == 4
    other = NamedSessions("langgraph", f"journal:{cli.home}/third")
    third, cli.store = cli.store, other.store.url
    cli.ok("import", "old.json")
    with other.writing("thread 1") as session:
        session.record(new_record("checkpoint", {"n": "another"}, name="head"))
    assert "was continued differently" in cli.refuses(4, "import", "new.json")
    assert cli.library.load(thread).records["head"].data == {"n": "another"}
    cli.store = third
    assert cli.library.load(thread).records["head"].data == {"n": 3}


@pytest.mark.parametrize("format", ["markdown", "jsonl"])
def test_formats_of_turns_leave_records_out_and_count_them(cli: Segue, thread: str, format: str) -> None:
    result = cli.call("export", thread, "--format", format)
    assert result.code == 0
    assert "Why does login fail?" in result.text
    assert "checkpoint" not in result.text
    assert ("- records: 3, not shown\n" in result.text) == (format == "markdown")
    assert result.complaint == "segue: 3 records of a program left out; --format json includes them\n"
    cli.store = f"journal:{cli.home}/other"
    imported = cli.ok("import", "-", "--id", "copy", stdin=result.out)
    assert imported == "copy: 2 turns of one branch; only --format json exports everything\n"


def test_all_sessions_are_exported_and_imported_with_their_records(cli: Segue, thread: str) -> None:
    cli.ok("export", "--all", "backup")
    assert "0 of 1 sessions" in cli.ok("export", "--all", "backup")
    records = [(one.id, one.data) for one in records_of(cli, thread)]
    cli.store = f"journal:{cli.home}/other"
    cli.ok("import", "backup")
    assert [(one.id, one.data) for one in records_of(cli, thread)] == records


@pytest.mark.parametrize("scheme", ["soleur", "cortext", "gptel", "ralph", "journal"])
def test_converting_keeps_every_record(cli: Segue, thread: str, scheme: str) -> None:
    known = events_of(cli, thread)
    there, back = f"{scheme}:{cli.home}/there", f"journal:{cli.home}/back"
    cli.ok("convert", thread, "--to", there)
    cli.store = there
    assert events_of(cli, thread) == known
    cli.ok("convert", thread, "--to", back)
    cli.store = back
    assert events_of(cli, thread) == known
    assert cli.library.store.get_blob(thread, records_of(cli, thread)[1].blobs[0]) == b"a large value"
    assert cli.ok("verify", thread) == "1 session is sound\n"


def test_a_journal_file_is_imported_with_its_records(cli: Segue, thread: str) -> None:
    known = events_of(cli, thread)
    path = f"{cli.root}/{thread}.jsonl"
    cli.store = f"journal:{cli.home}/other"
    cli.ok("import", path)
    assert events_of(cli, thread) == known
    assert cli.library.store.get_blob(thread, records_of(cli, thread)[1].blobs[0]) == b"a large value"


def test_show_has_the_turns_and_counts_the_records(cli: Segue, thread: str) -> None:
    shown = cli.ok("show", thread)
    assert "2 turns · 3 records" in shown
    assert "The token expires." in shown
    assert "checkpoint" not in shown
    assert "- records: 3, not shown\n" in cli.ok("show", thread, "--markdown")
    found = json.loads(cli.ok("show", thread, "--json"))
    assert [(one["name"], one["data"]) for one in found["records"]] == [("head", {**STRANGE, "n": 2})]
    assert [one["content"] for one in found["turns"]] == ["Why does login fail?", "The token expires."]


def test_following_shows_turns_and_as_json_everything(cli: Segue, thread: str) -> None:
    assert cli.ok("tail", thread, "-n", "1").endswith("The token expires.\n")
    plain = cli.at_terminal("tail", thread, "-n", "1", "-f")
    plain.wait_for("The token expires.")
    full = cli.at_terminal("tail", thread, "-n", "0", "-f", "--json")
    full.wait_for('"type": "record"')  # the one after the last turn
    with NamedSessions("langgraph", cli.store).writing("thread 1") as session:
        session.record(new_record("write", {"secret": "state"}), turn(3, "One more thing."))
    full.wait_for("One more thing.")
    plain.wait_for("One more thing.")
    for terminal in (plain, full):
        terminal.process.send_signal(signal.SIGINT)
    assert b"secret" in full.end().out
    assert b"secret" not in plain.end().out


def test_branches_are_compared_by_their_turns(cli: Segue, thread: str) -> None:
    cli.ok("fork", thread, "--at", "1", "--name", "idea")
    with NamedSessions("langgraph", cli.store).writing("thread 1") as session:
        session.record(new_record("write", {}), turn(3, "Another idea."))
    assert cli.library.overview(thread).branch == "idea"
    shown = cli.ok("diff", thread, "main", "idea")
    assert "part after turn 1" in shown
    assert "records" not in shown


def test_a_copy_is_a_session_of_no_framework(cli: Segue, thread: str) -> None:
    made = cli.call("fork", thread, "--new", "--id", "copy")
    assert made.text == "copy\n"
    assert made.complaint == f"segue: 3 records of its program stay in {thread}\n"
    copy = cli.library.load("copy")
    assert (copy.agent, records_of(cli, "copy")) == ("", [])
    assert set(copy.extra) == {"forked_from"}
    assert [one.content for one in copy.turns] == ["Why does login fail?", "The token expires."]
    assert [one.id for one in NamedSessions("langgraph", cli.store).all()] == [thread]


def test_a_session_that_only_says_it_has_a_name_is_not_the_framework_s(cli: Segue, thread: str) -> None:
    """A copied or forged file is not what the framework calls by that name."""
    (cli.root / "forged.jsonl").write_bytes((cli.root / f"{thread}.jsonl").read_bytes())
    assert {head.id for head in cli.library.list(agent="langgraph")} == {thread, "forged"}
    assert [one.id for one in NamedSessions("langgraph", cli.store).all()] == [thread]


def test_a_recovered_session_has_its_records(cli: Segue, thread: str) -> None:
    path = cli.root / f"{thread}.jsonl"
    path.write_bytes(path.read_bytes().replace(b"Why does login", b"Why does logon"))
    cli.refuses(5, "export", thread)
    cli.ok("recover", thread, "--yes")
    assert len(records_of(cli, thread)) == 3
    assert cli.library.overview(thread).records["head"].data["n"] == 2

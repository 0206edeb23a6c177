"""Gemini CLI gets a file; until the user has started it, another launch uses the same file."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from segue.integrations import INTEGRATIONS, HandoverContext, LaunchOptions
from segue.testing.events import turn

if TYPE_CHECKING:
    from segue.model import JsonObject

AT = "2026-01-05T09:30:00.000Z"


def test_a_launch_that_was_not_started_is_resumed_with_its_file(tmp_path: Path) -> None:
    (tmp_path / "gemini").write_text("#!/bin/sh\n")
    (tmp_path / "gemini").chmod(0o700)
    options = LaunchOptions(cwd=tmp_path, environ={"PATH": str(tmp_path), "HOME": str(tmp_path)})
    gemini = INTEGRATIONS["gemini"]
    launch = gemini.launch(HandoverContext(turns=(turn(1),)), options)
    assert gemini.resume(launch.native_id, options) == launch
    launch.run(options.environ)  # it removes the file
    assert gemini.resume(launch.native_id, options) is None


@pytest.fixture
def options(tmp_path: Path) -> LaunchOptions:
    (tmp_path / "gemini").write_text("#!/bin/sh\n")
    (tmp_path / "gemini").chmod(0o700)
    return LaunchOptions(cwd=tmp_path, environ={"PATH": str(tmp_path), "HOME": str(tmp_path)})


def write_session(home: Path, name: str, id: str, *records: JsonObject) -> Path:
    folder = home / ".gemini/tmp/project/chats"
    folder.mkdir(parents=True, exist_ok=True)
    header = {"sessionId": id, "projectHash": "0", "startTime": AT, "lastUpdated": AT, "kind": "main"}
    path = folder / f"session-{name}.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in (header, *records)))
    return path


def message(id: str, kind: str, content: object, at: str = AT, **more: object) -> JsonObject:
    return {"id": id, "timestamp": at, "type": kind, "content": content, **more}


def test_a_session_continues_by_a_new_file_that_has_all_of_it_and_every_result_once(options: LaunchOptions) -> None:
    answer = {"functionResponse": {"id": "c", "name": "ls", "response": {"output": "a.py"}}}
    call = {"id": "c", "name": "ls", "args": {}, "status": "success", "result": [answer]}
    write_session(
        options.home,
        "1-abcdabcd",
        "abcdabcd-1",
        message("segue-earlier-0", "user", [{"text": "\u2060/mycmd foo"}]),
        message("2", "gemini", "Let me look.", toolCalls=[call]),
        message("3", "user", [answer]),
        message("4", "gemini", "There it is."),
    )
    launch = INTEGRATIONS["gemini"].resume("abcdabcd-1", options)
    assert launch
    assert launch.argv[1] == f"--session-file={launch.temporary[0]}"
    _, *written = map(json.loads, Path(launch.temporary[0]).read_text().splitlines())
    assert [(line["type"], line["content"]) for line in written] == [
        ("user", [{"text": "\u2060/mycmd foo"}]),
        ("gemini", "Let me look."),
        ("gemini", "There it is."),
    ]
    assert [call["result"][0]["functionResponse"]["response"] for call in written[1]["toolCalls"]] == [
        {"output": "a.py"}
    ]
    assert INTEGRATIONS["gemini"].read_back(launch, options).native_id == ""  # it was not started yet


def test_a_long_session_continues_with_its_last_summary(options: LaunchOptions) -> None:
    listed = [
        message("s", "user", [{"text": "<state_snapshot>all of it</state_snapshot>"}]),
        message("t", "gemini", [{"text": "Got it. Thanks for the additional context!"}]),
    ]
    long = message("1", "user", "x" * 300_001)
    write_session(options.home, "1", "abcd", long, {"$set": {"messages": listed}}, message("2", "user", "And now?"))
    launch = INTEGRATIONS["gemini"].resume("abcd", options)
    assert launch
    text = Path(launch.temporary[0]).read_text()
    assert ("xxx" in text, "all of it" in text, "And now?" in text) == (False, True, True)
    roles = [json.loads(line).get("type") for line in text.splitlines() if "all of it" in line]
    assert roles == ["gemini"]  # as a result: no person said it


def test_a_session_that_gemini_would_delete_as_it_starts_has_another_name_before(options: LaunchOptions) -> None:
    gemini = INTEGRATIONS["gemini"]
    write_session(options.home, "2026-11-16T11-25-abcdabcd", "abcdabcd-1", {"$set": {"messages": []}})
    real = write_session(options.home, "1794828336409-abcdabcd", "abcdabcd-1", message("1", "user", "Hello"))
    other = write_session(options.home, "2026-11-16T11-25-00000000", "00000000-1", message("1", "user", "Alone"))
    (real.parent / "abcdabcd-1").mkdir()
    (real.parent / "abcdabcd-1" / "0123.jsonl").write_text(json.dumps(message("1", "user", "Sub")) + "\n")
    (real.parents[1] / ".project_root").write_text("/project")
    before = {session.id: session.revision for session in gemini.sessions(options.home, {})}
    gemini.launch(HandoverContext(), options)
    gemini.launch(HandoverContext(), options)  # it has the name already
    assert {session.id: session.revision for session in gemini.sessions(options.home, {})} == before
    shutil.rmtree(real.parent)
    (session,) = gemini.sessions(options.home, {})
    builder, turns = gemini.read(session)
    assert [(found.turn.content, found.side) for found in turns] == [("Hello", ""), ("Sub", "agent-0123")]
    assert builder.cwd == "/project"
    assert not (session.path.endswith(other.name))


def test_a_launch_that_was_started_twice_comes_back_whole(options: LaunchOptions) -> None:
    gemini = INTEGRATIONS["gemini"]
    ours = message("segue-launch-0", "user", "Hi")
    write_session(options.home, "1", "one", ours, message("1", "user", "First", at="2026-01-05T09:31:00.000Z"))
    write_session(options.home, "2", "two", ours, message("1b", "user", "Second", at="2026-01-05T09:30:30.000Z"))
    found = gemini.read_back("launch", options)
    assert ([turn.content for turn in found.turns], found.native_id) == (["Second", "First"], "launch")
    assert gemini.resume("launch", options) is None


def test_what_was_said_instead_of_a_turn_of_ours_names_that_turn(options: LaunchOptions) -> None:
    write_session(
        options.home,
        "1",
        "one",
        message("segue-launch-0", "user", "Hi", segue="ours-1"),
        message("segue-launch-1", "gemini", "Yes?", segue="ours-2"),
        message("segue-launch-2", "user", "Bye", segue="ours-3"),
        {"$rewindTo": "segue-launch-2"},
        message("1", "user", "No, stay"),
    )
    found = INTEGRATIONS["gemini"].read_back("launch", options)
    assert [(branch.instead_of, [turn.content for turn in branch.turns]) for branch in found.branches] == [
        ("ours-3", ["No, stay"])
    ]
    launch = INTEGRATIONS["gemini"].resume("one", options)
    assert launch
    _, *written = map(json.loads, Path(launch.temporary[0]).read_text().splitlines())
    assert [line["segue"] for line in written] == ["ours-1", "ours-2", "gemini:1"]

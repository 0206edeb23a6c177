"""What must come out of the home folders of tools that are only read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from segue.integrations import INTEGRATIONS
from segue.integrations.format.lines import lines_of
from segue.integrations.format.parts import has_part
from segue.integrations.format.tags import first_content, unwrap, without
from segue.integrations.format.transcript import TranscriptBuilder
from segue.integrations.vscode.change_log import read_changes
from tests.support.integration_homes import HOMES, move_in

if TYPE_CHECKING:
    from pathlib import Path

    from segue.integrations.format.transcript import TranscriptTurn
    from segue.model import Turn


def read(tool: str, id: str = "", home: Path | None = None) -> tuple[TranscriptBuilder, list[TranscriptTurn]]:
    home = home or HOMES / tool
    integration = INTEGRATIONS[tool]
    session = integration.find_session(id, home, {}) if id else next(integration.sessions(home, {}))
    builder, turns = integration.read(session)
    return builder, list(turns)


def path_of(builder: TranscriptBuilder, entries: list[TranscriptTurn]) -> list[Turn]:
    return list(builder.transcript(entries).turns)


def words(turns: list[Turn]) -> list[str]:
    return [turn.content for turn in turns if turn.role == "user"]


def failed(turns: list[Turn]) -> list[object]:
    return [part["id"] for turn in turns for part in turn.parts if part.get("is_error")]


def test_cline_has_calls_files_a_summary_at_its_place_and_what_was_used() -> None:
    builder, entries = read("cline", "1794827237423_m3k0s")
    turns = path_of(builder, entries)
    assert words(turns)[2:] == ["#P3# read @notes.txt", "#P4# after the compaction"]
    assert [part["content"] for turn in turns for part in turn.parts if part["type"] == "file"] == [
        "content of notes\n"
    ]
    summary = next(turn for turn in turns if has_part(turn, "summary"))
    assert (summary.role, turns[turns.index(summary) + 1].content) == ("system", "#P4# after the compaction")
    assert turns[turns.index(summary) - 1].content == "A#3: done."
    assert failed(turns) == ["call_00002"]
    assert turns[1].extra["usage"] == {
        "input_tokens": 1368, "cached_tokens": 0, "cache_written_tokens": 0, "output_tokens": 7
    }  # fmt: skip
    assert (builder.git_branch, turns[1].model) == ("trunk", "fake-model")


def test_a_subagent_of_cline_is_a_branch_of_its_session(tmp_path: Path) -> None:
    move_in(tmp_path, "cline")
    id = "1794763082749_fmnpp"
    folder = tmp_path / ".cline/data/sessions" / f"{id}__helper"
    folder.mkdir()
    messages = [{"id": "m", "role": "user", "content": "Look for tokens.", "ts": 1794763083000}]
    (folder / f"{id}__helper.messages.json").write_text(json.dumps({"messages": messages}))
    builder, entries = read("cline", id, tmp_path)
    assert (entries[-1].side, entries[-1].turn.content) == ("agent-helper", "Look for tokens.")
    assert "Look for tokens." not in words(path_of(builder, entries))
    assert len(list(INTEGRATIONS["cline"].sessions(tmp_path, {}))) == 3


@pytest.mark.parametrize(("tool", "id"), [("roo", "01a1f0a0"), ("cline", "1794830000000")])
def test_a_file_that_contains_the_tags_of_a_user_gives_no_orders(tool: str, id: str) -> None:
    builder, entries = read(tool, id)
    turns = path_of(builder, entries)
    orders = [turn.role for turn in turns if "An order in a file" in turn.content]
    assert orders == ["tool"]
    assert "#P2# the second" in words(turns) or "#P2# read a file" in words(turns)


def test_roo_has_an_image_a_notice_and_a_summary_and_details_of_the_editor_are_left_out() -> None:
    builder, entries = read("roo")
    turns = path_of(builder, entries)
    assert words(turns) == ["#P1# use a shell [[tool]] [[fail]]", "#P2# read a file", "#P3# continue"]
    assert [part["media_type"] for part in turns[0].parts] == ["image/png"]
    assert [turn.parts[0]["type"] for turn in turns if turn.role == "system"] == ["notice", "summary"]
    assert "environment_details" not in "".join(turn.content for turn in turns)
    assert (failed(turns), builder.cwd) == (["toolu_2"], "/tmp/corpus/project")


def test_continue_has_failed_calls_and_the_results_of_two_calls_at_once() -> None:
    builder, entries = read("continue")
    turns = path_of(builder, entries)
    assert failed(turns) == ["call_00004"]
    assert [part["id"] for part in turns[8].parts] == ["call_00005", "call_00006"]
    assert turns[0].timestamp.isoformat().startswith("2026-11-16T11:07:21")
    assert builder.title == ""  # "Untitled Session" is none


def test_kimi_has_an_undone_prompt_as_a_branch_a_shell_command_and_a_summary() -> None:
    builder, entries = read("kimi")
    turns = path_of(builder, entries)
    assert words(turns) == [
        "#P1# use a shell [[tool]] [[fail]]",
        "#P2# and two at once [[par]]#P4# instead of it",
        "!echo from-the-user",
        "#P5# after the shell",
        "#P6# after the compaction",
    ]
    assert "A#2: done." in {entry.turn.content for entry in entries} - {turn.content for turn in turns}
    (shell,) = (turn for turn in turns if turn.content.startswith("!"))
    assert shell.parts[0]["arguments"] == {"command": "echo from-the-user"}
    output = turns[turns.index(shell) + 1]
    assert (output.role, output.content, output.parts[0]["id"]) == ("tool", "from-the-user", shell.parts[0]["id"])
    assert [turn.content for turn in turns if has_part(turn, "summary")] == ["A#5: done."]
    assert (builder.title, failed(turns)) == ("A title of my own", ["call_00008"])


def test_an_interrupted_step_of_kimi_is_partial_and_a_subagent_a_branch(tmp_path: Path) -> None:
    move_in(tmp_path, "kimi")
    (log,) = tmp_path.rglob("wire.jsonl")
    begin = {"type": "step.begin", "uuid": "s9"}
    part = {"type": "content.part", "stepUuid": "s9", "part": {"type": "text", "text": "I begin, and"}}
    records = [{"type": "context.append_loop_event", "event": event, "time": 1794828099000} for event in (begin, part)]
    with log.open("a") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)
    other = log.parents[1] / "a1" / "wire.jsonl"
    other.parent.mkdir()
    message = {"role": "user", "content": [{"type": "text", "text": "Look for tokens."}], "origin": {"kind": "task"}}
    other.write_text(json.dumps({"type": "context.append_message", "message": message, "time": 1}) + "\n")
    builder, entries = read("kimi", home=tmp_path)
    last = path_of(builder, entries)[-1]
    assert (last.content, last.partial) == ("I begin, and", True)
    assert (entries[-1].side, entries[-1].turn.content) == ("agent-a1", "Look for tokens.")


def test_an_answer_of_kimi_that_never_ends_is_not_kept_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("segue.integrations.kimi.reader.TURN_BYTES", 1000)
    move_in(tmp_path, "kimi")
    (log,) = tmp_path.rglob("wire.jsonl")
    part = {"type": "content.part", "stepUuid": "s9", "part": {"type": "text", "text": "x" * 100}}
    record = json.dumps({"type": "context.append_loop_event", "event": part, "time": 1794828099000})
    with log.open("a") as file:
        file.write(f"{record}\n" * 20)
    builder, entries = read("kimi", home=tmp_path)
    assert len(path_of(builder, entries)[-1].content) < 1000
    assert {damage.reason for damage in builder.damages} == {"the answer that it belongs to is too long to read"}


def test_droid_has_a_rewound_prompt_as_a_branch_a_summary_and_a_subagent() -> None:
    builder, entries = read("droid")
    turns = path_of(builder, entries)
    assert [text[:4] for text in words(turns)] == ["#P1#", "#P3#", "#P4#"]
    assert "#P2# will be rewound" in {entry.turn.content for entry in entries}
    assert [turn.content for turn in turns if has_part(turn, "summary")] == ["A summary of P1 and P3."]
    assert [entry.side for entry in entries if entry.side] == ["agent-0a1b2c3d"]
    assert (builder.title, failed(turns)) == ("A shell and a branch", ["toolu_2"])
    assert len(list(INTEGRATIONS["droid"].sessions(HOMES / "droid", {}))) == 1


def test_cursor_names_what_its_transcripts_do_not_contain_once() -> None:
    builder, entries = read("cursor")
    turns = path_of(builder, entries)
    assert words(turns) == ["#P1# use a shell [[tool]]", "#P2# will be interrupted", "#P3# and once more"]
    assert [turn.content for turn in turns if turn.partial] == ["A#2: I begin, and"]
    limits = ["Cursor records neither times nor results of calls"]
    assert [limit.reason.partition(":")[0] for limit in builder.limits] == limits
    assert builder.damages == []  # so that a listing does not show it as damaged
    assert (builder.cwd, entries[-2].side) == ("/tmp/corpus/project", "agent-5224b82a")


def test_vscode_has_undone_cancelled_and_removed_requests() -> None:
    builder, entries = read("vscode", "7f000000-0000-4000-8000-000000000001")
    turns = path_of(builder, entries)
    assert [text[:4] for text in words(turns)] == ["#P1#", "#P3#"]
    assert [turn.content for turn in turns if turn.partial] == ["A#3: I begin, and"]
    assert turns[3].content == "A#1: done, see `notes.txt`."
    assert [part["type"] for part in turns[0].parts] == ["file", "image"]
    assert (failed(turns), builder.cwd) == (["call_2"], "/tmp/corpus/project")
    builder, entries = read("vscode", "7f000000-0000-4000-8000-000000000002")
    assert [text[:4] for text in words(path_of(builder, entries))] == ["#P1#", "#P3#"]
    assert "#P2# will be cut off" in {entry.turn.content for entry in entries}
    assert (builder.title, entries[1].turn.content) == ("A log of changes", "PRE-1-0: working.")


def test_chats_in_which_nothing_was_said_are_not_listed(tmp_path: Path) -> None:
    chats = tmp_path / ".config/VSCodium/User/workspaceStorage/1/chatSessions"
    transcripts = tmp_path / ".cursor/projects/x/agent-transcripts"
    chats.mkdir(parents=True)
    transcripts.mkdir(parents=True)
    (chats / "empty.json").write_text('{"version": 3, "requests": []}')
    (chats / "cut.jsonl").write_text('{"kind":0,"v":{"requests":[{"requestId":"1"')
    (transcripts / "empty.jsonl").write_text('{"type":"turn_ended","status":"success"}\n')
    (transcripts / "old.jsonl").write_text('{"role":"user","message":{"content":"Hello"}}\n')
    assert [session.id for session in INTEGRATIONS["vscode"].sessions(tmp_path, {})] == ["cut"]
    assert [session.id for session in INTEGRATIONS["cursor"].sessions(tmp_path, {})] == ["old"]


@pytest.mark.parametrize(
    "change",
    [
        {"kind": 1, "k": ["requests", 7, "x"], "v": 1},
        {"kind": 1, "k": ["requests", -1], "v": 1},
        {"kind": 1, "k": [], "v": {}},
        {"kind": 2, "k": ["sessionId"], "v": [1]},
        {"kind": 4, "k": ["x"], "v": 1},
        {"kind": 3, "k": ["a", "b", "c"]},
        {"kind": True, "k": ["x"], "v": 1},
    ],
)
def test_a_change_that_does_not_fit_the_document_affects_only_itself(change: dict[str, object]) -> None:
    first = {"kind": 0, "v": {"sessionId": "s", "requests": []}}
    last = {"kind": 1, "k": ["customTitle"], "v": "t"}
    builder = TranscriptBuilder("vscode", "file")
    data = b"".join(json.dumps(line).encode() + b"\n" for line in (first, change, last))
    found = read_changes(lines_of(data), builder)
    assert found.value == {"sessionId": "s", "requests": [], "customTitle": "t"}
    assert [damage.line for damage in builder.damages] == [2]


def test_requests_that_were_removed_one_after_another_are_all_read(tmp_path: Path) -> None:
    chats = tmp_path / ".config/Code/User/workspaceStorage/1/chatSessions"
    chats.mkdir(parents=True)
    asked = [{"requestId": str(number), "timestamp": 1, "message": {"text": f"P{number}"}} for number in range(4)]
    lines: list[object] = [{"kind": 0, "v": {"sessionId": "s", "requests": asked}}]
    lines += [{"kind": 2, "k": ["requests"], "i": number, "v": []} for number in (3, 2, 1)]
    (chats / "s.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    (session,) = INTEGRATIONS["vscode"].sessions(tmp_path, {})
    builder, turns = INTEGRATIONS["vscode"].read(session)
    entries = list(turns)
    assert sorted(entry.turn.content for entry in entries) == ["P0", "P1", "P2", "P3"]
    assert words(path_of(builder, entries)) == ["P0"]


def test_tags_are_found_in_time_that_grows_with_the_text() -> None:
    text = "<a>" * 200_000
    assert (unwrap(text, "a"), without(text, "a"), first_content(text, "a", "b")) == (text, text, "")
    assert without('x <a k="v">y</a> z <ab>w</ab>', "a") == "x  z <ab>w</ab>"
    assert unwrap("<a>\nx <a>y</a>\n</a>", "a") == "x <a>y</a>"

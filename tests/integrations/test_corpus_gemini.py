"""The sessions that Gemini CLI wrote: every word of them, by the one who said it."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

from segue.index import Index
from segue.integrations import INTEGRATIONS
from segue.integrations.registry import integration_sources
from tests.support.integration_homes import CORPUS, read, sessions

if TYPE_CHECKING:
    from pathlib import Path

    from segue.integrations.format.transcript import TranscriptBuilder, TranscriptTurn
    from segue.model import JsonObject, Turn

HOMES = CORPUS / "homes"
LONG = HOMES / "gemini-slash-bang-cancel-rewind-compress"
SUBAGENT = HOMES / "gemini-subagent"
AT = "2026-01-05T09:30:00.000Z"


def path_to_tip(builder: TranscriptBuilder, entries: list[TranscriptTurn]) -> list[Turn]:
    by_id = {entry.turn.id: entry for entry in entries}
    turns, name = [], builder.tip
    while name:
        turns.append(by_id[name].turn)
        name = by_id[name].after
    return turns[::-1]


def said(turns: list[Turn], role: str) -> list[str]:
    return [turn.content for turn in turns if turn.role == role]


def test_a_compression_erases_nothing_and_its_summary_is_not_the_words_of_the_user() -> None:
    builder, entries = read("gemini", LONG)
    turns = path_to_tip(builder, entries)
    assert builder.damages == []
    (summary,) = [turn for turn in turns if turn.role == "system"]
    assert "SUMMARY-g1.gemini" in summary.content
    assert summary.parts == ({"type": "summary"},)
    assert len(turns) == 46 + 1  # and the summary
    assert said(turns, "user") == [
        "#P1# first edit [[edit]] [[think]]",
        "/mycmd foo bar\n\nCustom body foo bar #Pcmd# [[par]]",
        "!echo hello-from-bang",
        "#P2# two [[par]] [[fail]]",
        "#P3# many steps [[edit]] [[slow]]",
        "and please also remember the word STEERING",
        "#P5# slow to interrupt [[slow]]",
        "#P6# six to be rewound [[par]]",
        "#P7# instead of six [[big]]",
        "#P8# after compress [[par]]",
    ]
    answers = said(turns, "assistant")
    assert [text for text in answers if text.startswith("A#")] == [
        "A#1: done edit+think.",
        "A#cmd: done par.",
        "A#2: done par+fail.",
        "A#7: done big.",
        "A#8: done par.",
    ]
    assert not any("Thanks for the additional context" in text for text in answers)
    assert [turn.timestamp for turn in turns] == sorted(turn.timestamp for turn in turns)


def test_a_rewound_answer_is_a_branch() -> None:
    builder, entries = read("gemini", LONG)
    active = {turn.id for turn in path_to_tip(builder, entries)}
    assert [entry.turn.content for entry in entries if entry.turn.id not in active] == ["A#6: done par."]


def test_a_command_that_the_user_ran_has_its_output_as_a_result() -> None:
    _, entries = read("gemini", LONG)
    number = next(number for number, entry in enumerate(entries) if entry.turn.content.startswith("!echo"))
    typed, output = entries[number].turn, entries[number + 1].turn
    assert typed.parts[0]["arguments"] == {"command": "echo hello-from-bang"}
    assert (output.role, output.content) == ("tool", "hello-from-bang")
    assert output.parts[0]["id"] == typed.parts[0]["id"]


def test_parallel_calls_have_their_own_results_and_answers_their_usage() -> None:
    _, entries = read("gemini", LONG)
    turns = [entry.turn for entry in entries]
    calls = [part["id"] for turn in turns for part in turn.parts if part["type"] == "tool_call"]
    results = [part["id"] for turn in turns for part in turn.parts if part["type"] == "tool_result"]
    assert sorted(calls, key=str) == sorted(results, key=str)
    assert sum("par-two" in text for text in said(turns, "tool")) == 4
    first = next(turn for turn in turns if turn.role == "assistant")
    assert first.extra["usage"] == {
        "input_tokens": 1099,
        "cached_tokens": 3,
        "output_tokens": 59,
        "reasoning_tokens": 2,
    }
    assert first.model == "gemini-2.5-flash"


def test_a_listing_shows_the_first_words_and_a_preview_agrees_with_the_whole(tmp_path: Path) -> None:
    shutil.copytree(LONG, tmp_path, dirs_exist_ok=True)
    for with_text in (False, True):
        with Index(None) as index:
            index.refresh(integration_sources(tmp_path, {}), with_text=with_text)
            (entry,) = index.entries()
        assert entry.title == "#P1# first edit [[edit]] [[think]]"
        assert f"{entry.created_at:%H:%M:%S}" == "16:15:49"
        assert f"{entry.updated_at:%H:%M:%S}" == "16:18:58"
        assert entry.turn_count in {None, 47}


def test_a_subagent_is_a_branch_of_its_session_and_not_a_session() -> None:
    (session,) = sessions("gemini", SUBAGENT)
    builder, entries = read("gemini", SUBAGENT)
    assert said(path_to_tip(builder, entries), "user") == ["#P6# use a sub agent [[agent]]"]
    side = next(number for number, entry in enumerate(entries) if entry.side)
    assert entries[side].side == "agent-d053c73a"
    texts = [(entry.turn.role, entry.turn.content) for entry in entries[side:]]
    assert texts[0] == ("user", "#P6sub# sub agent: [[big]]")
    assert [role for role, text in texts if text.startswith("You have stopped")] == ["system"]
    assert session.revision.count("-") == 1  # it changes with the subagent


# ── What the corpus does not have ────────────────────────────────────────────────────────────────────────────────────


def message(id: str, kind: str, content: object, **more: object) -> JsonObject:
    return {"id": id, "timestamp": AT, "type": kind, "content": content, **more}


def read_lines(home: Path, *records: object) -> tuple[TranscriptBuilder, list[TranscriptTurn]]:
    folder = home / ".gemini/tmp/project/chats"
    folder.mkdir(parents=True, exist_ok=True)
    lines = [{"sessionId": "s-1", "projectHash": "0", "startTime": AT, "lastUpdated": AT, "kind": "main"}, *records]
    (folder / "session-1.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return read("gemini", home)


def test_what_a_compression_keeps_under_new_ids_is_not_said_twice(tmp_path: Path) -> None:
    call = {"id": "c", "name": "grep", "args": {}, "status": "success", "result": [{"functionResponse": {"id": "c"}}]}
    listed = [
        message("s", "user", [{"text": "<state_snapshot>all of it</state_snapshot>"}]),
        message("t", "gemini", [{"text": "Got it. Thanks for the additional context!"}]),
        message("2x", "user", [{"text": "Two"}]),
        message("3x", "gemini", [{"text": "Let me see"}, {"functionCall": {"id": "c", "name": "grep"}}]),
        message("3y", "user", [{"functionResponse": {"id": "c", "response": {"output": "cut"}}}]),
    ]
    builder, entries = read_lines(
        tmp_path,
        message("1", "user", "One"),
        message("2", "user", [{"text": "Two"}]),
        message("3", "gemini", "Let me see", toolCalls=[call]),
        {"$set": {"messages": listed}},
        message("4", "user", "Two"),
        {"$rewindTo": "2x"},
        message("5", "user", "Three"),
    )
    texts = [(entry.turn.role, entry.turn.content) for entry in entries]
    assert texts == [
        ("user", "One"),
        ("user", "Two"),
        ("assistant", "Let me see"),
        ("tool", ""),
        ("system", "<state_snapshot>all of it</state_snapshot>"),
        ("user", "Two"),
        ("user", "Three"),
    ]
    assert [turn.content for turn in path_to_tip(builder, entries)] == ["One", "Three"]


def test_a_message_is_read_from_a_list_if_its_own_line_is_lost(tmp_path: Path) -> None:
    restored = [
        message("1", "user", [{"text": "One"}]),
        message("2", "gemini", [{"text": "Yes"}, {"functionCall": {"id": "c", "name": "ls", "args": {}}}]),
        message("3", "user", [{"functionResponse": {"id": "c", "response": {"error": "denied"}}}]),
    ]
    _, entries = read_lines(tmp_path, {"$set": {"messages": restored}})
    assert [(entry.turn.role, entry.turn.content) for entry in entries] == [
        ("user", "One"),
        ("assistant", "Yes"),
        ("tool", "denied"),
    ]
    assert entries[2].turn.parts[0]["is_error"] is True


def test_files_and_images_of_the_user_are_parts(tmp_path: Path) -> None:
    content = [
        {"text": "Look at @notes.txt and @a.png"},
        {"text": "\n--- Content from referenced files ---"},
        {"text": "\nContent from @notes.txt:\n"},
        {"text": "SECRETWORD alpha"},
        {"text": "\nContent from @a.png:\n"},
        {"inlineData": {"mimeType": "image/png", "data": "aGk="}},
        {"text": "\n--- End of content ---"},
    ]
    shown = [{"text": "Look at @notes.txt and @a.png"}]
    _, (entry,) = read_lines(tmp_path, message("1", "user", content, displayContent=shown))
    turn = entry.turn
    assert turn.content == "Look at @notes.txt and @a.png"
    assert turn.parts == (
        {"type": "file", "path": "notes.txt", "content": "SECRETWORD alpha"},
        {"type": "image", "media_type": "image/png", "data": "aGk="},
    )


def test_failed_calls_images_in_results_and_cancelled_answers_are_marked(tmp_path: Path) -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": "aGk="}}
    calls = [
        {
            "id": "c",
            "name": "read",
            "args": {},
            "status": "success",
            "result": [{"functionResponse": {"id": "c"}}, image],
        },
        {"id": "d", "name": "read", "args": {}, "status": "cancelled", "result": [{"functionResponse": {"id": "d"}}]},
    ]
    _, entries = read_lines(
        tmp_path,
        message("1", "user", "One"),
        message("2", "gemini", "", toolCalls=calls),
        message("3", "user", [{"functionResponse": {"id": "c"}}, {"functionResponse": {"id": "d"}}]),
        message("4", "gemini", "I begin, and"),
        message("5", "info", "Request cancelled."),
        message("6", "error", "[API Error: quota]"),
    )
    _, _, with_image, failed, cut = [entry.turn for entry in entries]
    assert with_image.parts[0]["images"] == [{"type": "image", "media_type": "image/png", "data": "aGk="}]
    assert failed.parts[0]["is_error"] is True
    assert (cut.content, cut.partial) == ("I begin, and", True)


def test_what_gemini_says_by_itself_is_not_the_words_of_the_user(tmp_path: Path) -> None:
    hook = {"text": "<hook_context>be brief</hook_context>"}
    _, entries = read_lines(
        tmp_path,
        message("0", "user", [{"text": "<session_context>\nThis is the Gemini CLI."}]),
        message("1", "user", [{"text": "One"}, hook]),
        message("2", "user", [{"text": "Please continue."}], displayContent=[{"text": "One"}]),
        message("3", "user", [{"text": "Please continue."}]),
    )
    assert [(entry.turn.role, entry.turn.content) for entry in entries] == [
        ("system", "<hook_context>be brief</hook_context>"),
        ("user", "One"),
        ("system", "Please continue."),
        ("user", "Please continue."),
    ]


def test_what_is_not_known_is_reported_once(tmp_path: Path) -> None:
    builder, entries = read_lines(
        tmp_path,
        message("1", "user", "One"),
        message("2", "oracle", "Hear me"),
        message("3", "oracle", "Hear me again"),
        {"$merge": {"messages": []}},
        {"$merge": {"messages": []}},
        {"$rewindTo": "nowhere"},
    )
    assert [entry.turn.content for entry in entries] == ["One"]
    assert [damage.reason for damage in builder.damages] == [
        "it is not a message, and not a known change",
        "it rewinds to a message that is not in the file",
        "messages of type 'oracle' are not known",
    ]


def test_what_gemini_carries_is_what_its_files_contain() -> None:
    assert INTEGRATIONS["gemini"].carries == {"failed", "images", "result_images"}

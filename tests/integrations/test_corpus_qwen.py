"""The sessions that Qwen Code wrote: every word of them, by the one who said it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.support.corpus_events import read_corpus
from tests.support.integration_homes import CORPUS, read, sessions

if TYPE_CHECKING:
    from pathlib import Path

    from segue.integrations.format.transcript import TranscriptBuilder, TranscriptTurn
    from segue.model import JsonObject, Turn

HOME = CORPUS / "homes" / "qwen"
AT = "2026-01-05T09:30:00.000Z"
ID = "9a8b7c6d-0000-4000-8000-000000000001"


def said(turns: list[Turn], role: str) -> list[str]:
    return [turn.content for turn in turns if turn.role == role]


def test_the_conversation_of_the_corpus_comes_out_with_its_calls_and_its_subagent(tmp_path: Path) -> None:
    assert [session.id[:8] for session in sessions("qwen", HOME)] == ["c9312f85", "d37f1426"]
    builder, _ = read("qwen", HOME)
    assert (builder.damages, builder.cwd, builder.git_branch) == ([], "/home/people/e/u1/proj", "trunk")
    session = [*read_corpus("qwen", tmp_path)][1]
    assert said(session.active, "user") == ["#P1# edit [[edit]] [[think]]", "#P2# par [[par]] [[fail]] [[agent]]"]
    assert [text for text in said(session.active, "assistant") if text.startswith("A#")] == [
        "A#1: done edit+think.",
        "A#2: done par+fail+agent.",
    ]
    (notice,) = [turn for turn in session.active if turn.role == "system"]
    assert notice.content.startswith("<task-notification>")
    assert notice.parts == ({"type": "notice"},)
    assert said(session.others, "user") == ["#P2sub# sub agent: [[big]]"]
    assert [entry.side for entry in session.entries if entry.side] == ["agent-general-purpose-call_00342_0"]
    calls = [part["id"] for _, part in session.parts("tool_call")]
    assert calls == [part["id"] for _, part in session.parts("tool_result")]
    assert [part["id"] for _, part in session.parts("tool_result") if part.get("is_error")] == ["call_00341_0"]
    answer = next(turn for turn in session.active if turn.role == "assistant")
    assert (answer.model, answer.tokens, answer.parts[0]["text"]) == (
        "fake-model",
        47,
        "THINK-1-0: pondering the request",
    )
    assert answer.extra["usage"] == {
        "input_tokens": 1337,
        "cached_tokens": 0,
        "output_tokens": 47,
        "reasoning_tokens": 8,
    }


def test_commands_files_and_interruptions_of_the_corpus_come_out(tmp_path: Path) -> None:
    session = [*read_corpus("qwen", tmp_path)][2]
    assert said(session.active, "user") == [
        "#P1# hello",
        "/mycmd foo bar\n\nCustom body foo bar #Pcmd#",
        "#P2# TOOL now",
        "#P3# look at @notes.txt",
        "#P4# HOLD please",
        "#P5# after",
        "#P6# to be rewound",
        "#P7# instead of six",
    ]
    (cut,) = [turn for turn in session.active if turn.partial]
    assert cut.content == "I begin, and"
    assert [part for _, part in session.parts("file")] == [
        {"type": "file", "path": "notes.txt", "content": "SECRETWORD alpha\n"}
    ]


# ── What the corpus does not have ────────────────────────────────────────────────────────────────────────────────────


def record(uuid: str, after: str | None, kind: str, *pieces: object, **more: object) -> JsonObject:
    role = "model" if kind == "assistant" else "user"
    parts = [{"text": piece} if isinstance(piece, str) else piece for piece in pieces]
    message = {"message": {"role": role, "parts": parts}} if pieces else {}
    return {"uuid": uuid, "parentUuid": after, "sessionId": ID, "timestamp": AT, "type": kind, **message, **more}


def of_tool(uuid: str, after: str, subtype: str, **payload: object) -> JsonObject:
    return record(uuid, after, "system", subtype=subtype, provenance="system", systemPayload=payload)


def read_lines(
    home: Path, *records: JsonObject, folder: str = "chats"
) -> tuple[TranscriptBuilder, list[TranscriptTurn]]:
    place = home / ".qwen/projects/-project" / folder
    place.mkdir(parents=True, exist_ok=True)
    (place / f"{ID}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in records))
    return read("qwen", home)


def test_a_rewind_is_a_branch_and_an_archived_session_is_read(tmp_path: Path) -> None:
    builder, entries = read_lines(
        tmp_path,
        record("1", None, "user", "One"),
        record("2", "1", "assistant", "Yes", usageMetadata={"candidatesTokenCount": 1}),
        record("3", "2", "user", "Two"),
        of_tool("4", "2", "rewind", truncatedCount=1),
        of_tool("5", "4", "custom_title", customTitle="Mine", titleSource="manual"),
        record("6", "5", "user", "Three"),
        folder="chats/archive",
    )
    assert [(entry.turn.content, entry.after) for entry in entries] == [
        ("One", ""),
        ("Yes", "qwen:1"),
        ("Two", "qwen:2"),
        ("Three", "qwen:2"),
    ]
    assert (builder.title, builder.tip) == ("Mine", "qwen:6")


def test_a_compression_erases_nothing_and_its_summary_is_not_the_words_of_the_user(tmp_path: Path) -> None:
    history = [
        {"role": "user", "parts": [{"text": "<state_snapshot>all of it</state_snapshot>"}]},
        {"role": "model", "parts": [{"text": "Got it. Thanks for the additional context!"}]},
        {"role": "user", "parts": [{"text": "One"}]},
    ]
    _, entries = read_lines(
        tmp_path,
        record("1", None, "user", "One"),
        of_tool("2", "1", "chat_compression", compressedHistory=history, info={}),
        of_tool("3", "2", "chat_compression", compressedHistory=history[2:], info={}),
        record("4", "3", "user", "Two"),
    )
    assert [(entry.turn.role, entry.turn.content, entry.after) for entry in entries] == [
        ("user", "One", ""),
        ("system", "<state_snapshot>all of it</state_snapshot>", "qwen:1"),
        ("user", "Two", "qwen:2"),
    ]
    assert entries[1].turn.parts == ({"type": "summary"},)


def test_commands_files_and_messages_typed_meanwhile_are_the_words_of_the_user(tmp_path: Path) -> None:
    content = [
        "Look at @notes.txt",
        "\n--- Content from referenced files ---",
        "\nContent from notes.txt:\n",
        "SECRETWORD alpha\n",
        "\n--- End of content ---",
    ]
    _, entries = read_lines(
        tmp_path,
        of_tool("1", "", "slash_command", phase="invocation", rawCommand="/mycmd foo", sentToModel=True),
        of_tool("2", "1", "slash_command", phase="result", rawCommand="/mycmd foo", outputHistoryItems=[]),
        record("3", "2", "user", "Custom body foo", provenance="real_user"),
        of_tool("4", "3", "slash_command", phase="invocation", rawCommand="/compress", sentToModel=False),
        record("5", "4", "user", *content),
        record(
            "6",
            "5",
            "user",
            "[while you worked] and STEERING",
            subtype="mid_turn_user_message",
            systemPayload={"displayText": "and STEERING"},
        ),
        record("7", "6", "user", "Hi\n\n<hook>be brief</hook>", systemPayload={"displayText": "Hi"}),
        record("8", "7", "user", "wake up", subtype="cron", provenance="system"),
    )
    assert [(entry.turn.role, entry.turn.content) for entry in entries] == [
        ("user", "/mycmd foo\n\nCustom body foo"),
        ("user", "Look at @notes.txt"),
        ("user", "and STEERING"),
        ("system", "<hook>be brief</hook>"),
        ("user", "Hi"),
        ("system", "wake up"),
    ]
    assert entries[1].turn.parts == ({"type": "file", "path": "notes.txt", "content": "SECRETWORD alpha\n"},)


def test_an_interrupted_answer_is_partial_and_images_are_parts(tmp_path: Path) -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": "aGk="}}
    answer = {"functionResponse": {"id": "c", "response": {"output": "seen"}, "parts": [image]}}
    _, entries = read_lines(
        tmp_path,
        record("1", None, "user", "One", image),
        record("2", "1", "assistant", "I begin, and"),
        record("3", "2", "user", "Two"),
        of_tool("4", "3", "ui_telemetry", uiEvent={"event.name": "qwen-code.api_response"}),
        record("5", "4", "assistant", "All of it"),
        record("6", "5", "tool_result", answer),
    )
    assert [entry.turn.partial for entry in entries] == [False, True, False, False, False]
    found = {"type": "image", "media_type": "image/png", "data": "aGk="}
    assert entries[0].turn.parts == (found,)
    assert entries[4].turn.parts[0]["images"] == [found]


def test_what_is_not_known_is_reported_once(tmp_path: Path) -> None:
    builder, _ = read_lines(
        tmp_path,
        record("1", None, "oracle", "Hear me"),
        record("2", "1", "oracle", "Hear me again"),
        of_tool("3", "2", "prophecy", text="Hear me"),
    )
    assert [damage.reason for damage in builder.damages] == [
        "records of type 'oracle' are not known",
        "records of the tool with 'prophecy' are not known",
    ]


def test_what_was_said_instead_of_a_turn_of_ours_names_that_turn(tmp_path: Path) -> None:
    builder, entries = read_lines(
        tmp_path,
        record("1", None, "user", "Hi", segue="ours-1"),
        record("2", "1", "user", "Bye", segue="ours-2"),
        of_tool("3", "1", "rewind"),
        record("4", "3", "user", "No, stay"),
    )
    found = builder.transcript(entries)
    assert [(branch.instead_of, [turn.content for turn in branch.turns]) for branch in found.branches] == [
        ("ours-2", ["No, stay"])
    ]

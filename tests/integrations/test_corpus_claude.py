"""Sessions that Claude Code 2.1.325 wrote, and records as older releases wrote them: what a person said comes out."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

import segue
from segue.integrations import INTEGRATIONS, LaunchOptions
from segue.integrations.claude.reader import parse_turns
from segue.integrations.claude.writer import write
from segue.integrations.format.lines import lines_of
from segue.integrations.format.losses import find_losses
from segue.integrations.format.outgoing import outgoing_messages
from segue.integrations.format.transcript import TranscriptBuilder, title_from
from segue.integrations.shared.index_source import PreviewSource
from segue.transfer.handover import import_replies, record_handover
from tests.support.corpus_events import HOMES, ReadSession, _path

if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from pathlib import Path

    from segue.integrations.format.transcript import TranscriptTurn
    from segue.model import JsonObject, Turn

CLAUDE = INTEGRATIONS["claude"]


def opened(home: Path) -> tuple[TranscriptBuilder, ReadSession]:
    (session,) = CLAUDE.sessions(home, {})
    builder, turns = CLAUDE.read(session)
    entries = list(turns)
    return builder, ReadSession(_path(entries, builder.tip), entries)


def words(turns: list[Turn], role: str = "user") -> list[str]:
    return [turn.content for turn in turns if turn.role == role]


def canonical(turns: list[Turn]) -> list[JsonObject]:
    """The turns in the form of `truth/`."""
    found: list[JsonObject] = []
    for turn in turns:
        parts = [part for part in turn.parts if part["type"] in {"reasoning", "tool_call", "tool_result"}]
        found += [{"k": "reasoning", "t": part["text"]} for part in parts if part["type"] == "reasoning"]
        if turn.role in {"user", "assistant"} and turn.content:
            found.append({"k": turn.role, "t": turn.content})
        for part in parts:
            if part["type"] == "tool_call":
                found.append({"k": "call", "id": part["id"], "name": part["name"], "args": part["arguments"]})
            elif part["type"] == "tool_result":
                found += [{"k": "image", "in": "result"} for _ in part.get("images", ())]  # type: ignore[attr-defined]  # a list
                found.append({"k": "result", "id": part["id"], "t": part["content"], "err": part.get("is_error")})
    return found


def test_tools_come_out_as_the_model_got_them_with_the_image_and_the_failures() -> None:
    builder, session = opened(HOMES / "claude-tools")
    truth = json.loads((HOMES / "truth" / "claude-tools.json").read_text(encoding="utf-8"))
    ours = [item for item in canonical(session.active) if item["k"] != "reasoning"]
    heard = [item | ({"err": item["err"] or None} if "err" in item else {}) for item in truth]
    heard = [item for item in heard if item["k"] != "reasoning"]
    assert ours[: len(heard)] == heard
    assert [item["t"] for item in ours[len(heard) :] if item["k"] == "user"] == ["#Psame# same tool [[par]]"]
    thoughts = [item["t"] for item in canonical(session.active) if item["k"] == "reasoning"]
    assert thoughts[:3] == [item["t"] for item in truth if item["k"] == "reasoning"]
    (image,) = [image for _, part in session.parts("tool_result") for image in part.get("images", ())]  # type: ignore[attr-defined]  # a list
    assert image["media_type"] == "image/png"
    assert image["data"].startswith("iVBOR")

    assert not any("task-notification" in text for text in words(session.active))
    (notice,) = [turn for turn, _ in session.parts("notice")]
    assert notice.role == "system"
    assert 'Agent "sub work" finished' in notice.content
    assert [entry.side for entry in session.entries if entry.side] == ["agent-a361dd610ec19b22e"]
    assert words(session.others) == ["#P6sub# sub agent: [[big]]"]
    assert builder.git_branch == "trunk"
    assert builder.damages == []


def test_the_use_of_a_message_is_counted_once_and_with_its_cache() -> None:
    _, session = opened(HOMES / "claude-tools")
    answers = [entry.turn for entry in session.entries if entry.turn.role == "assistant"]
    usage: Counter[str] = Counter()
    for turn in answers:
        usage.update(turn.extra["usage"])  # type: ignore[call-overload]  # counts by their names
    (file,) = (HOMES / "claude-tools").rglob("a26b1912-*.jsonl")
    costs = [record for line in file.read_bytes().splitlines() if (record := json.loads(line))["type"] == "cost-state"]
    total = costs[-1]["modelUsage"]["claude-opus-5-5"]
    assert usage == {
        "output_tokens": total["outputTokens"],
        "cached_tokens": total["cacheReadInputTokens"],
        "cache_written_tokens": total["cacheCreationInputTokens"],
        "input_tokens": total["inputTokens"] + total["cacheReadInputTokens"] + total["cacheCreationInputTokens"],
    }
    assert {turn.extra["effort"] for turn in answers} == {"medium"}


def test_commands_an_interruption_and_a_compaction_come_out_as_they_happened() -> None:
    home = HOMES / "claude-slash-bang-interrupt-compact-rename"
    builder, session = opened(home)
    assert words(session.active) == [
        "/mycmd foo bar\n\nPlease do this custom thing with foo bar #Pcmd# [[par]]",
        "!echo hello-from-bang",
        "#P2# two [[par]]",
        "#P3# slow one [[slow]]",
        "#P4# queued while busy",
        "#P5# slow to interrupt [[slow]]",
        "#P6# after interrupt",
        "/compact",
        "#P7# after compact [[big]]",
    ]
    shell = session.active[6]
    assert [(part["name"], part["arguments"]) for part in shell.parts] == [
        ("shell", {"command": "echo hello-from-bang"})
    ]
    assert (session.active[7].role, session.active[7].content) == ("tool", "hello-from-bang")
    assert session.active[7].parts[0]["id"] == shell.parts[0]["id"]
    assert [turn.content[:4] for turn in session.active if turn.partial] == ["A#5:"]
    (summary,) = [at for at, turn in enumerate(session.active) if turn.parts and turn.parts[0]["type"] == "summary"]
    assert session.active[summary].role == "system"
    assert session.active[summary - 1].content == "A#6: done ."
    assert session.others == []
    assert builder.title == "my-claude-name"

    source = PreviewSource(CLAUDE, home, {})
    (ref,) = source.scan()
    for found in (source.preview(ref.id), source.read(ref.id)):
        head = found.head
        assert (head.title, head.turn_count) == ("my-claude-name", len(session.active))
        assert head.created_at == datetime(2026, 11, 15, 16, 7, 28, 956000, UTC)
        assert head.updated_at == datetime(2026, 11, 15, 16, 8, 14, 292000, UTC)


def test_a_message_typed_while_the_model_works_has_its_place_and_a_rewound_one_is_a_branch() -> None:
    _, session = opened(HOMES / "claude-steering-rewind")
    said = words(session.active)
    assert [text[:4] for text in said] == ["#P1#", "#P2#", "and ", "#P3#", "#P5#"]
    assert said[2] == "and please also remember the word STEERING"
    at = session.active.index(next(turn for turn in session.active if "STEERING" in turn.content))
    assert session.active[at - 1].role == "tool"
    assert session.active[at + 1].content.startswith("PRE-2-1")
    assert words(session.others) == ["#P4# four to be rewound [[par]]"]


def test_an_attached_file_is_part_of_the_message() -> None:
    _, session = opened(HOMES / "claude-at-file")
    ((turn, part),) = session.parts("file")
    assert (turn.role, turn.content) == ("user", "#P1# explain @f.txt please")
    assert str(part["path"]).endswith("/f.txt")
    assert part["content"] == "SECRETWORD alpha\nline two\n"


def test_long_results_stay_results_and_only_the_person_is_the_user() -> None:
    _, session = opened(HOMES / "claude-results-over-15k")
    messages = outgoing_messages(session.active, now=datetime.now(UTC), carries=CLAUDE.carries)
    said = [message.text for message in messages if message.role == "user"]
    assert said == words(session.active)
    assert all(text.startswith("#P") for text in said)
    calls = [call for message in messages for call in message.calls]
    assert calls
    assert not any("interrupted" in call.result[:40] for call in calls)


def test_a_large_session_is_listed_by_its_ends() -> None:
    home = HOMES / "claude-results-over-15k"
    builder, session = opened(home)
    assert builder.read_bytes > 1_000_000
    source = PreviewSource(CLAUDE, home, {})
    (ref,) = source.scan()
    head, whole = source.preview(ref.id).head, source.read(ref.id).head
    assert (head.title, head.created_at, head.updated_at) == (whole.title, whole.created_at, whole.updated_at)
    assert head.created_at == session.active[0].timestamp
    assert head.updated_at == session.active[-1].timestamp


@pytest.mark.parametrize("home", sorted(path.name for path in HOMES.glob("claude-*")))
def test_nothing_of_a_session_is_lost_on_the_way_to_claude_but_reasoning_and_long_results(home: str) -> None:
    _, session = opened(HOMES / home)
    losses = find_losses(session.active, CLAUDE.carries)
    assert [line for line in losses if "reasoning" not in line and "shortened" not in line] == []


@pytest.mark.parametrize("home", sorted(path.name for path in HOMES.glob("claude-*")))
def test_what_is_written_for_claude_is_read_as_it_was(home: str) -> None:
    """Images, failed calls and all: a session becomes messages, those a session, and that the same messages."""
    now = datetime(2027, 1, 1, tzinfo=UTC)
    _, session = opened(HOMES / home)
    messages = outgoing_messages(session.active, now=now, carries=CLAUDE.carries)
    id = "01a1df33-fc2a-4eb2-8416-482a85e91f8c"
    builder = TranscriptBuilder("claude", "file", id)
    data = write(messages, session_id=id, cwd="/x", title="t", now=now)
    entries = list(parse_turns(lines_of(data), builder))
    assert all(entry.is_ours for entry in entries)
    again = outgoing_messages(_path(entries, builder.tip), now=now, carries=CLAUDE.carries)
    assert [replace(message, at=now, turn="") for message in again] == [
        replace(message, at=now, turn="") for message in messages
    ]


# ── Records that the corpus does not have ────────────────────────────────────────────────────────────────────────────


class Session:
    """A session that is written record by record, each after the one before it."""

    def __init__(self, name: str = "u") -> None:
        self.name = name
        self.records: list[JsonObject] = []
        self.last = ""

    def add(self, type: str, message: object = None, **more: object) -> str:
        uuid = f"{self.name}{len(self.records)}"
        record: JsonObject = {"type": type, "uuid": uuid, "parentUuid": self.last or None}
        record |= {"timestamp": f"2026-01-05T09:30:{len(self.records):02d}.000Z"}
        role = "assistant" if type == "assistant" else "user"
        if message is not None:
            record["message"] = message if isinstance(message, dict) else {"role": role, "content": message}
        self.records.append(record | more)
        self.last = uuid
        return uuid

    def data(self) -> bytes:
        return "\n".join(json.dumps(record) for record in self.records).encode()

    def read(self) -> tuple[TranscriptBuilder, list[Turn], list[TranscriptTurn]]:
        builder = TranscriptBuilder("claude", "file", "s")
        entries = list(parse_turns(lines_of(self.data()), builder))
        return builder, _path(entries, builder.tip), entries

    def said(self) -> list[tuple[str, str]]:
        return [(turn.role, turn.content) for turn in self.read()[1]]


def answer(text: str, **more: object) -> JsonObject:
    return {"role": "assistant", "model": "m", "content": [{"type": "text", "text": text}], **more}


def call(*ids: str) -> JsonObject:
    return {"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "Bash", "input": {}} for id in ids]}


def result(id: str, text: str, **more: object) -> list[JsonObject]:
    return [{"type": "tool_result", "tool_use_id": id, "content": text, **more}]


@pytest.mark.parametrize(
    "text",
    [
        "[Request interrupted by user]",
        "[Request interrupted by user for tool use]",
        "<local-command-stdout>Bye!</local-command-stdout>",
        "<command-name>/exit</command-name>\n<command-message>exit</command-message>\n<command-args></command-args>",
        "<command-name>/model</command-name>\n<command-args>opus</command-args>",
        "<system-reminder>\nToday is Monday.\n</system-reminder>",
    ],
)
def test_what_the_program_notes_is_nobodys(text: str) -> None:
    session = Session()
    session.add("user", "Hello")
    session.add("assistant", answer("Hi."))
    session.add("user", text)
    assert session.said() == [("user", "Hello"), ("assistant", "Hi.")]


@pytest.mark.parametrize(
    ("record", "text"),
    [
        ({"message": "<task-notification>done</task-notification>"}, "<task-notification>done</task-notification>"),
        ({"message": "go on", "origin": {"kind": "auto-continuation"}}, "go on"),
        ({"message": "Stop hook feedback: run the tests", "isMeta": True}, "Stop hook feedback: run the tests"),
        ({"type": "system", "subtype": "away_summary", "content": "You were away."}, "You were away."),
        (
            {"type": "assistant", "message": answer("API Error: 529", model="<synthetic>"), "isApiErrorMessage": True},
            "API Error: 529",
        ),
        (
            {
                "type": "attachment",
                "attachment": {"type": "edited_text_file", "filename": "a.py"},
                "rendered": [{"content": "<system-reminder>\na.py was changed\n</system-reminder>"}],
            },
            "a.py was changed",
        ),
        (
            {"type": "attachment", "attachment": {"type": "hook_additional_context", "content": ["Use tabs."]}},
            "Use tabs.",
        ),
        (
            {"type": "attachment", "attachment": {"type": "of_tomorrow"}, "rendered": [{"content": "Something new."}]},
            "Something new.",
        ),
        (
            {
                "type": "attachment",
                "attachment": {"type": "queued_command", "commandMode": "task-notification", "prompt": "task done"},
            },
            "task done",
        ),
    ],
)
def test_what_the_tool_told_the_model_by_itself_is_a_notice(record: JsonObject, text: str) -> None:
    session = Session()
    session.add("user", "Hello")
    session.add(str(record.pop("type", "user")), **record)
    (_, notice) = session.read()[1]
    assert (notice.role, notice.content, notice.parts) == ("system", text, ({"type": "notice"},))


def test_words_of_a_person_are_kept_whatever_they_look_like() -> None:
    session = Session()
    human = {"origin": {"kind": "human"}}
    said = ["<task-notification> is a tag", "<system-reminder> too", "<local-command-x>", "[Image: here]"]
    said += ["<command-name>/x</command-name> is what?", "<bash-input>ls</bash-input> twice"]
    for text in said:
        session.add("user", text, **human)
        session.add("assistant", answer("Yes."))
    assert [text for role, text in session.said() if role == "user"] == said


def test_a_command_of_the_program_with_words_in_it_is_what_was_typed() -> None:
    session = Session()
    session.add("user", "Hello")
    session.add("assistant", answer("Hi."))
    session.add("user", "<command-name>/compact</command-name>\n<command-args>keep the names</command-args>")
    session.add(
        "system", subtype="local_command", content="<command-name>/btw</command-name><command-args>why?</command-args>"
    )
    session.add("user", "<user-memory-input>use tabs</user-memory-input>")
    assert session.said()[2:] == [("user", "/compact keep the names"), ("user", "/btw why?"), ("user", "#use tabs")]


def test_the_errors_of_a_shell_command_follow_its_output() -> None:
    session = Session()
    session.add("user", "<bash-input>make</bash-input>")
    session.add("user", "<bash-stdout>a </bash-stdout> b</bash-stdout><bash-stderr>no rule</bash-stderr>")
    session.add("user", "<bash-stderr>alone</bash-stderr>")
    assert [text for _, text in session.said()] == ["!make", "a </bash-stdout> b\nno rule", "alone"]


def test_many_tags_that_are_never_closed_take_no_time() -> None:
    session = Session()
    for tag in ("<command-name>", "<bash-stdout>", "<system-reminder>", "<command-name>x</command-name>"):
        session.add("user", tag * 50_000, isMeta=tag == "<system-reminder>")
    assert session.read()[0].damages == []


def test_what_an_editor_adds_to_a_message_is_not_the_users_words() -> None:
    session = Session()
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    texts = ["<ide_opened_file>a.py</ide_opened_file>", "<ide_selection>x = 1</ide_selection>", "Why?", "And how?"]
    session.add("user", [image, *({"type": "text", "text": text} for text in texts)])
    ((turn,), _) = session.read()[1:]
    assert (turn.role, turn.content) == ("user", "Why?\n\nAnd how?")
    assert [part.get("data") or part.get("content") for part in turn.parts] == ["AAAA", "x = 1"]


def test_a_skill_that_the_model_called_is_a_notice_after_its_result() -> None:
    session = Session()
    session.add("user", "Greet Bob")
    session.add("assistant", call("c"))
    session.add("user", result("c", "Launching skill: greet"))
    session.add("user", "Greet Bob warmly.", isMeta=True, sourceToolUseID="c")
    session.add("assistant", answer("Hello, Bob!"))
    assert [role for role, _ in session.said()] == ["user", "assistant", "tool", "system", "assistant"]


def test_what_the_tool_adds_between_parallel_results_leaves_none_of_them_on_a_branch() -> None:
    session = Session()
    session.add("user", "Two things")
    asked = session.add("assistant", call("a", "b"))
    session.add("user", result("a", "one"))
    hook = {"type": "hook_additional_context", "content": ["after a"]}
    session.add("attachment", attachment=hook)
    session.last = asked
    session.add("user", result("b", "two"))
    session.add("attachment", attachment={"type": "queued_command", "prompt": "and hurry"})
    session.add("assistant", answer("Done."))
    expected = ["Two things", "", "one", "after a", "two", "and hurry", "Done."]
    assert [text for _, text in session.said()] == expected
    assert len(session.read()[2]) == len(expected)


@pytest.mark.parametrize("is_later", [True, False])
def test_a_queued_message_that_is_recorded_again_is_there_once(*, is_later: bool) -> None:
    session = Session()
    session.add("user", "Hello")
    queued = {"type": "queued_command", "prompt": "faster", "source_uuid": "again"}
    for is_queued in (is_later, not is_later):
        if is_queued:
            session.add("attachment", attachment=queued)
        else:
            session.add("user", "faster", uuid="again")
            session.last = "again"
    session.add("assistant", answer("Yes."))
    assert [text for _, text in session.said()] == ["Hello", "faster", "Yes."]
    assert len(session.read()[2]) == 3


def test_an_answer_before_an_interruption_is_marked_in_older_releases_too() -> None:
    session = Session()
    session.add("user", "Hello")
    session.add("assistant", answer("Hel", stop_reason=None))
    session.add("user", [{"type": "text", "text": "[Request interrupted by user]"}])
    session.add("user", "Again")
    session.add("assistant", answer("Hello!", stop_reason="end_turn"))
    assert [turn.partial for turn in session.read()[1]] == [False, True, False, False]


def test_a_session_that_was_rewound_continues_where_the_user_went_back_to() -> None:
    session = Session()
    session.add("user", "One")
    back = session.add("assistant", answer("First."))
    session.add("user", "Two")
    session.add("assistant", answer("Second."))
    session.records.append({"type": "last-prompt", "leafUuid": back, "explicit": True})
    assert [text for _, text in session.said()] == ["One", "First."]


def test_messages_that_the_user_had_summarized_stay_before_their_summary() -> None:
    session = Session()
    session.add("user", "One")
    kept = session.add("assistant", answer("First."))
    session.add("user", "Two")
    session.add("assistant", answer("Second."))
    session.last = ""
    compacted = {"trigger": "manual", "messagesSummarized": 2}
    session.add("system", subtype="compact_boundary", logicalParentUuid=kept, compactMetadata=compacted)
    session.add("user", "The user counts.", isCompactSummary=True)
    session.add("user", "Three")
    assert [text for _, text in session.said()] == ["One", "First.", "Two", "Second.", "The user counts.", "Three"]


def test_a_record_of_an_unknown_type_with_words_is_named_once() -> None:
    session = Session()
    session.add("user", "Hello")
    for _ in range(3):
        session.records.append({"type": "of-tomorrow", "content": "words"})
        session.records.append({"type": "quiet-one", "value": 1})
    builder = session.read()[0]
    assert [damage.reason for damage in builder.damages] == [
        "records of type 'of-tomorrow' are not known here, and left out"
    ]


def test_blocks_of_unknown_kinds_are_kept_and_reported_as_lost() -> None:
    session = Session()
    block = {"type": "notice", "text": "of tomorrow"}
    session.add("user", [{"type": "text", "text": "Hello"}, block])
    session.add("assistant", {"role": "assistant", "content": [block, {"type": "text", "text": "Hi."}]})
    turns = session.read()[1]
    assert [(turn.content, turn.parts) for turn in turns] == [
        ("Hello", ({"type": "claude_notice", "block": block},)),
        ("Hi.", ({"type": "claude_notice", "block": block},)),
    ]
    assert find_losses(turns, CLAUDE.carries) == ("2 parts of type 'claude_notice' are left out",)


def test_titles_have_their_order_and_the_last_of_a_kind_counts() -> None:
    session = Session()
    session.add("user", "Hello")
    for type, name in (("summary", "summary"), ("ai-title", "aiTitle"), ("custom-title", "customTitle")):
        assert session.read()[0].title == {"summary": "", "ai-title": "summary 2", "custom-title": "ai-title 2"}[type]
        session.records += [{"type": type, name: f"{type} {number}"} for number in (1, 2)]
    session.records.append({"type": "ai-title", "aiTitle": "later"})
    assert session.read()[0].title == "custom-title 2"


def test_a_session_that_begins_with_a_command_is_called_by_what_was_typed() -> None:
    session = Session()
    session.add("user", "<command-name>/greet</command-name>\n<command-args>Bob</command-args>")
    session.add("user", "Base directory for this skill: /x\n\nGreet Bob.", isMeta=True)
    (turn,) = session.read()[1]
    assert turn.content == "/greet Bob\n\nBase directory for this skill: /x\n\nGreet Bob."
    assert title_from(turn) == "/greet Bob"


def spilled(name: str) -> str:
    return f"<persisted-output>\nOutput too large (9KB). Full output saved to: /x/tool-results/{name}\n\nPreview:\n1\n"


def test_a_long_result_is_read_from_the_folder_of_the_session_alone(tmp_path: Path) -> None:
    session = Session()
    session.add("user", "Count")
    session.add("assistant", call("a", "b", "c"))
    for id, name in (("a", "whole.txt"), ("b", "link.txt"), ("c", "../../secret.txt")):
        session.add("user", result(id, spilled(name)))
    project = tmp_path / ".claude" / "projects" / "p"
    results = project / "s" / "tool-results"
    results.mkdir(parents=True)
    (project / "s.jsonl").write_bytes(session.data())
    (project / "secret.txt").write_text("secret", encoding="utf-8")
    (results / "whole.txt").write_text("1\n2\n3\n", encoding="utf-8")
    (results / "link.txt").symlink_to(project / "secret.txt")
    _, found = opened(tmp_path)
    assert words(found.active, "tool") == ["1\n2\n3\n", spilled("link.txt"), spilled("../../secret.txt")]

    results.rename(project / "elsewhere")
    results.symlink_to(project / "elsewhere")
    assert words(opened(tmp_path)[1].active, "tool")[0] == spilled("whole.txt")


def test_subagents_of_older_releases_are_branches_of_their_session_and_no_sessions(tmp_path: Path) -> None:
    main, agent = Session(), Session("v")
    main.add("user", "Ask an agent")
    agent.add("user", "Look for it", isSidechain=True, agentId="1f2e", sessionId="s")
    agent.add("assistant", answer("Found it."), isSidechain=True, agentId="1f2e", sessionId="s")
    project = tmp_path / ".claude" / "projects" / "p"
    project.mkdir(parents=True)
    (project / "s.jsonl").write_bytes(main.data())
    (project / "agent-1f2e.jsonl").write_bytes(agent.data())
    (project / "agent-torn.jsonl").write_bytes(b'{"sessionId"')
    _, found = opened(tmp_path)
    assert words(found.active) == ["Ask an agent"]
    assert [entry.side for entry in found.entries] == ["", "agent-1f2e", ""]
    assert [turn.content for turn in found.others] == ["Look for it", "Found it."]


def test_a_message_that_was_imported_and_then_taken_back_in_the_tool_is_on_a_branch_of_its_own(tmp_path: Path) -> None:
    project = tmp_path / ".claude" / "projects" / "p"
    project.mkdir(parents=True)
    options = LaunchOptions(cwd=tmp_path, environ={"HOME": str(tmp_path)})
    library, tool = segue.open("memory:"), Session()
    tool.add("user", "Handed over", segue=True)
    back = tool.add("assistant", answer("Yes.", id="a"), segue=True)
    with library.create(agent="x") as session:
        session.add("user", "Handed over")
        session.add("assistant", "Yes.")
        record_handover(session, "claude", "s")
        for prompt in ("One", "Two"):
            tool.last = back
            tool.add("user", prompt)
            tool.add("assistant", answer(f"{prompt}!", id=prompt))
            (project / "s.jsonl").write_bytes(tool.data())
            for expected in (2, 0):
                assert len(import_replies(library, session, CLAUDE, "s", options).turns) == expected
        assert [turn.content for turn in session.turns] == ["Handed over", "Yes.", "Two", "Two!"]
        assert [turn.content for turn in library.tail(session.id, 4, branch="main")][2:] == ["One", "One!"]
        session.add("user", "Three, here")
        tool.last = back
        tool.add("user", "Four")
        (project / "s.jsonl").write_bytes(tool.data())
        import_replies(library, session, CLAUDE, "s", options)
        assert [turn.content for turn in session.turns][2:] == ["Two", "Two!", "Three, here"]
        assert [turn.content for turn in library.tail(session.id, 3, branch="branch-3")] == [
            "Handed over",
            "Yes.",
            "Four",
        ]


# ── Broken, and newer than what is known ─────────────────────────────────────────────────────────────────────────────


def shuffled(lines: list[bytes], rng: random.Random) -> list[bytes]:
    at = rng.randrange(len(lines) - 8)
    return [*lines[:at], *rng.sample(lines[at : at + 8], 8), *lines[at + 8 :]]


def flipped(lines: list[bytes], rng: random.Random) -> list[bytes]:
    data = bytearray(b"\n".join(lines))
    for _ in range(20):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(7)
    return bytes(data).split(b"\n")


def newer(lines: list[bytes], rng: random.Random) -> list[bytes]:
    """More fields, other types of values in known ones, and records of unknown types."""
    found: list[bytes] = []
    for line in lines:
        record = json.loads(line) | {"tomorrow": {"type": "user", "message": {"content": "invented"}}}
        if rng.random() < 0.1:
            record[rng.choice(sorted(record))] = rng.choice([None, 7, [], {}, "?", True])
        found.append(json.dumps(record).encode())
        if rng.random() < 0.05:
            found.append(b'{"type": "tomorrow", "content": "invented"}')
    return found


def missing(lines: list[bytes], rng: random.Random) -> list[bytes]:
    return [line for line in lines if rng.random() > 0.1]


@pytest.mark.parametrize("mutate", [shuffled, flipped, newer, missing])
@pytest.mark.parametrize("home", sorted(path.name for path in HOMES.glob("claude-*")))
def test_a_broken_or_newer_file_is_read_and_nothing_is_invented(
    home: str, mutate: Callable[[list[bytes], random.Random], list[bytes]], rng: random.Random
) -> None:
    file = next(file for file in sorted((HOMES / home).rglob("*.jsonl")) if file.parent.name != "subagents")
    said = set(words(opened(HOMES / home)[1].active)) | set(words(opened(HOMES / home)[1].others))
    lines = file.read_bytes().strip().split(b"\n")
    for _ in range(4):
        builder = TranscriptBuilder("claude", "file", "s")
        data = b"\n".join(mutate(lines, rng))
        turns = [entry.turn for entry in parse_turns(lines_of(data), builder)]
        assert len({turn.id for turn in turns}) == len(turns)
        if mutate is flipped:
            continue  # a letter of a prompt may be another one then
        found = set(words(turns))
        assert not any("invented" in turn.content for turn in turns)
        assert all(any(text in one for one in said) or text.startswith("/") for text in found - said)

"""Sessions that the real GitHub Copilot CLI wrote: all that was said comes out, as whose it was."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from segue.integrations import INTEGRATIONS, HandoverContext, LaunchOptions
from segue.integrations.copilot.history import session_in
from segue.integrations.format.lines import ENDS_BYTES
from segue.integrations.format.parts import has_part
from tests.support.corpus_events import HOMES, ReadSession, read_corpus
from tests.support.integration_machine import turn

if TYPE_CHECKING:
    from pathlib import Path

    from segue.integrations.format.transcript import TranscriptBuilder, TranscriptTurn
    from segue.model import JsonObject

COPILOT = INTEGRATIONS["copilot"]


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ReadSession]:
    """By the first words of the user."""
    found = read_corpus("copilot", tmp_path_factory.mktemp("homes"))
    return {session.active[0].content: session for session in found}


def test_calls_failures_and_parallel_results_come_out_in_order(sessions: dict[str, ReadSession]) -> None:
    active = sessions["#P1# edit [[edit]] [[think]]"].active
    assert [(turn.role, turn.content.split("\n")[0][:30]) for turn in active] == [
        ("user", "#P1# edit [[edit]] [[think]]"),
        ("assistant", "PRE-1-0: working."),
        ("tool", "Path already exists"),
        ("assistant", "PRE-1-1: working."),
        ("tool", "File /home/people/e/u1/proj/no"),
        ("assistant", "A#1: done edit+think."),
        ("user", "#P2# par [[par]] [[fail]] [[ag"),
        ("assistant", "PRE-2-0: working."),
        ("tool", "par-one"),
        ("tool", "par-three"),
        ("tool", "par-two"),
        ("assistant", "PRE-2-1: working."),
        ("tool", "Permission denied because no i"),
        ("assistant", "PRE-2-2: working."),
        ("tool", "A#2sub: done big."),
        ("assistant", "A#2: done par+fail+agent."),
    ]
    failed = [part["id"] for turn in active for part in turn.parts if part.get("is_error")]
    assert failed == ["call_00349_0", "call_00353_0"]
    assert [part["type"] for part in active[1].parts] == ["reasoning", "tool_call"]
    assert active[1].extra["usage"] == {
        "input_tokens": 1349,
        "cached_tokens": 0,
        "cache_written_tokens": 0,
        "output_tokens": 59,
    }
    assert (active[1].tokens, active[1].model) == (59, "fake-model")


def test_a_subagent_is_a_branch_of_its_own(sessions: dict[str, ReadSession]) -> None:
    session = sessions["#P1# edit [[edit]] [[think]]"]
    assert [entry.side for entry in session.entries if entry.side] == ["agent-f78a2fd6-9750-47c5-93b2-4a89a92c8808"]
    assert [turn.content[:20] for turn in session.others if turn.role != "tool"] == [
        "#P2sub# sub agent: [",
        "PRE-2sub-0: working.",
        "A#2sub: done big.",
    ]


def test_skills_shell_commands_files_and_images_are_what_they_were(sessions: dict[str, ReadSession]) -> None:
    active = {turn.content: turn for turn in sessions["#P1# first"].active}
    assert active["/sk with args\n\nSKILLBODY do it well."].role == "user"
    asked, result = active["!echo from-bang"], active["from-bang"]
    assert (asked.role, result.role) == ("user", "tool")
    assert (asked.parts[0]["name"], asked.parts[0]["id"]) == ("shell", result.parts[0]["id"])
    file, image = active["#P2# look at @note.txt and @pic.png please"].parts
    assert file == {"type": "file", "path": "/home/people/p/proj/note.txt"}
    assert (image["type"], image["media_type"]) == ("image", "image/png")
    assert str(image["data"]).startswith("iVBORw0KGgo")


def test_a_compaction_a_rewind_an_abort_and_steering_leave_all_turns(sessions: dict[str, ReadSession]) -> None:
    active = sessions["#P1# first"].active
    ends = [(turn.role, turn.content.split("\n")[0][:40], turn.partial) for turn in active[8:]]
    assert ends == [
        ("user", "HOLD this one", False),
        ("user", "#P3# more", False),
        ("assistant", "You said: #P3# more", False),
        ("system", "You said: Please create a detailed summa", False),
        ("user", "HOLD again", False),
        ("assistant", "", True),
        ("user", "HOLD and wait", False),
        ("user", "and remember the word STEERING", False),
        ("assistant", "You said: and remember the word STEERING", False),
    ]
    assert has_part(active[11], "summary")


def test_the_name_the_folder_and_the_git_branch_come_out() -> None:
    names = {}
    for home in sorted(HOMES.glob("copilot*")):
        for session in COPILOT.sessions(home, {}):
            for read in (COPILOT.read, COPILOT.preview):
                builder, turns = read(session)
                assert list(turns)
                names[builder.title] = (builder.cwd, builder.git_branch, builder.damages)
    assert names == {
        "#P1# edit [[edit]] [[think]]": ("/home/people/e/u1/proj", "trunk", []),
        "my-co-name": ("/home/people/p/proj", "master", []),
    }


# ── Files that no corpus has ─────────────────────────────────────────────────────────────────────────────────────────


def read(folder: Path, *events: JsonObject, name: str = "") -> tuple[TranscriptBuilder, list[TranscriptTurn]]:
    place = folder / ".copilot" / "session-state" / "s"
    place.mkdir(parents=True, exist_ok=True)
    lines = [{"id": f"e{number}", "timestamp": "2026-01-05T09:30:00Z", **event} for number, event in enumerate(events)]
    (place / "events.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    (place / "workspace.yaml").write_text(f"id: s\n{name}cwd: /p\n", encoding="utf-8")
    builder, turns = COPILOT.read(session_in(place))
    return builder, list(turns)


def event(kind: str, **data: object) -> JsonObject:
    return {"type": kind, "data": data}


def said(*texts: str) -> list[JsonObject]:
    return [event("user.message", content=text) for text in texts]


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("name: Plain words\n", "Plain words"),
        ("name: '#P1# it''s \"quoted\"'\n", '#P1# it\'s "quoted"'),
        ('name: "a \\u2028 b"\n', "a \u2028 b"),
        ("name: 'two\n  lines'\n", "two lines"),
        ("name: plain\n  lines\n", "plain lines"),
        ("name: |-\n  block\n", "block"),
        ("name: words # and a comment\n", "words"),
        ("name: 7\n", "7"),
        ("name: ''\n", ""),
        ("name:\n", ""),
        ("name: &a [*a, *a]\n", ""),
        ("name: 'torn\n", ""),
        ("", ""),
    ],
)
def test_the_name_is_read_from_the_description(tmp_path: Path, line: str, title: str) -> None:
    builder, _ = read(tmp_path, *said("one"), name=line)
    assert (builder.title, builder.damages) == (title, [])


def test_what_nobody_typed_is_a_notice(tmp_path: Path) -> None:
    builder, found = read(
        tmp_path,
        *said("typed"),
        event("user.message", content="injected", source="skill-pdf"),
        event("user.message", content="go on", isAutopilotContinuation=True),
        event("system.notification", content="the shell has ended"),
        event("skill.invoked", name="pdf", content="how to read them", trigger="agent-invoked"),
        event("session.handoff", summary="what happened elsewhere", sourceType="remote"),
    )
    turns = [entry.turn for entry in found]
    assert [(turn.role, turn.content) for turn in turns] == [
        ("user", "typed"),
        ("system", "injected"),
        ("system", "go on"),
        ("system", "the shell has ended"),
        ("system", "how to read them"),
        ("system", "what happened elsewhere"),
    ]
    assert all(has_part(turn, "notice") for turn in turns[1:])
    assert builder.damages == []


def test_a_recorded_rewind_leaves_a_branch(tmp_path: Path) -> None:
    rewind = event("session.snapshot_rewind", upToEventId="e1", eventsRemoved=1)
    builder, found = read(tmp_path, *said("one", "two"), rewind, *said("three"))
    assert [(entry.turn.content, entry.after) for entry in found] == [
        ("one", ""),
        ("two", found[0].turn.id),
        ("three", found[0].turn.id),
    ]
    assert builder.tip == found[2].turn.id


def test_results_keep_their_images(tmp_path: Path) -> None:
    image = {"type": "image", "mimeType": "image/png"}
    results = [{**image, "data": "aaaa"}, {**image, "assetId": "sha256:1"}, {**image, "omittedReason": "too_large"}]
    builder, found = read(
        tmp_path,
        event("session.binary_asset", assetId="sha256:1", data="bbbb", mimeType="image/png", type="image"),
        event("tool.execution_complete", toolCallId="c", success=True, result={"binaryResultsForLlm": results}),
    )
    (part,) = found[0].turn.parts
    assert part["images"] == [
        {"type": "image", "media_type": "image/png", "data": "aaaa"},
        {"type": "image", "media_type": "image/png", "data": "bbbb"},
        {"type": "image", "media_type": "image/png"},
    ]
    assert builder.damages == []


def test_what_a_newer_copilot_records_is_named_once(tmp_path: Path) -> None:
    builder, found = read(tmp_path, *said("one"), *[event("user.dreamed", words="said?")] * 3, event("hook.start"))
    assert [entry.turn.content for entry in found] == ["one"]
    assert [damage.reason for damage in builder.damages] == [
        "events of type 'user.dreamed' are not known, and are not read"
    ]


def test_a_large_file_is_listed_from_its_ends(tmp_path: Path) -> None:
    whole, turns = read(tmp_path, *said(*(f"{number} {'x' * 1000}" for number in range(1000))), name="name: Big\n")
    (session,) = COPILOT.sessions(tmp_path, {})
    builder, ends = COPILOT.preview(session)
    found = [entry.turn for entry in ends]
    assert (builder.is_partial, builder.title) == (True, "Big")
    assert (found[0], found[-1], builder.tip) == (turns[0].turn, turns[-1].turn, whole.tip)
    assert builder.read_bytes < 4 * ENDS_BYTES


def test_what_is_written_has_no_separators_of_lines_and_a_name_that_comes_back(tmp_path: Path) -> None:
    (tmp_path / "copilot").write_text("#!/bin/sh\n")
    (tmp_path / "copilot").chmod(0o700)
    options = LaunchOptions(cwd=tmp_path, environ={"PATH": str(tmp_path), "HOME": str(tmp_path)})
    context = HandoverContext(turns=(turn("user", "a\u2028b\u2029c"),), title='It\'s: \u2028 "odd" # \ud800')
    launch = COPILOT.launch(context, options)
    for path in launch.written:
        with open(path, "rb") as file:
            assert file.read().isascii()
    (session,) = COPILOT.sessions(tmp_path, {})
    builder, turns = COPILOT.read(session)
    assert [(entry.turn.content, entry.is_ours) for entry in turns] == [("a\u2028b\u2029c", True)]
    assert builder.title == 'It\'s: \u2028 "odd" # \ufffd'
    assert COPILOT.read_back(launch, options).turns == ()

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from segue.formats.transcript import (
    BadTurnError,
    decode_turn,
    iter_json,
    json_document,
    jsonl,
    markdown,
    read_markdown,
    to_json_object,
)
from segue.model import BranchCreated, Decision, Metadata, Session, TitleChanged, Turn, Unknown, fold, overview_of

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


def turn(content: str, *, branch: str = "main", seq: int, **more: object) -> Turn:
    fields = {"role": "user", "tokens": None, "timestamp": NOW, "id": f"t{seq}", **more}
    return Turn(content=content, branch=branch, seq=seq, **fields)  # type: ignore[arg-type]


def conversation() -> Session:
    return fold(
        [
            Metadata(
                session_id="s", agent="qa", created_at=NOW, status="paused", id="m", seq=1, extra={"colour": "blue"}
            ),
            TitleChanged(title="Login\nbug", timestamp=NOW, id="e2", seq=2),
            turn("first", seq=3, tokens=3),
            turn("second", seq=4, role="tool", parts=({"text": "```"},), native={"a": [1]}, extra={"mood": "good"}),
            BranchCreated(name="other", parent="main", at=1, timestamp=NOW, switch=False, id="b", seq=5),
            turn("elsewhere", seq=6, branch="other"),
            Decision(content="Refresh early", timestamp=NOW, id="d", seq=7),
            Unknown(type="future", data={"x": 1}, id="u", seq=8),
        ]
    )


def test_markdown_reads_from_the_title_to_the_decisions() -> None:
    text = markdown(conversation())
    assert text.startswith("# Login bug\n\n- session: `s`\n- agent: qa\n- status: paused\n- branch: main\n")
    assert "\n## 1. user · 2026-11-15T12:00:00Z · 3 tokens\n\nfirst\n" in text
    assert text.endswith("## Decisions\n\n- Refresh early\n")


def test_a_fence_is_longer_than_any_in_what_it_holds() -> None:
    assert '\n````json part\n{"text": "```"}\n````\n' in markdown(conversation())


def test_markdown_of_a_branch_goes_through_what_it_grew_from() -> None:
    text = markdown(conversation(), "other")
    assert "first" in text
    assert "elsewhere" in text
    assert "second" not in text


def test_json_holds_every_branch_and_every_unknown_thing() -> None:
    whole = json.loads(json_document(to_json_object(conversation())))
    assert [each["content"] for each in whole["own_turns"]["other"]] == ["elsewhere"]
    assert whole["unknown"] == [{"type": "future", "x": 1, "id": "u", "seq": 8}]
    assert whole["colour"] == "blue"
    assert whole["branches"]["other"]["at"] == 1
    assert whole["summary"] == ""


def test_json_of_a_branch_has_its_turns_in_order() -> None:
    session = conversation()
    turns = json.loads("".join(iter_json(session, (), {"turns": session.path("other")})))["turns"]
    assert [each["content"] for each in turns] == ["first", "elsewhere"]


def test_json_in_pieces_is_the_same_document() -> None:
    session = conversation()
    pieces = iter_json(overview_of(session), session.unknown, {"own_turns": session.own_turns})
    assert json.loads("".join(pieces)) == json.loads(json_document(to_json_object(session)))


def test_markdown_is_read_back_as_the_turns_it_shows() -> None:
    session = conversation()
    read = [
        decode_turn(json.dumps(turn).encode(), now=NOW, branch="main", id="i")
        for turn in read_markdown(markdown(session))
    ]
    assert [(t.role, t.content, t.timestamp, t.tokens, t.parts) for t in read] == [
        (t.role, t.content, t.timestamp, t.tokens, t.parts) for t in session.turns
    ]


@pytest.mark.parametrize("text", ["", "# Title\n\n- session: `s`\n\n## 1. user · 2026-11-15T12:00:00Z\n\nx\n"])
def test_markdown_of_anybody_else_is_not_read(text: str) -> None:
    with pytest.raises(BadTurnError, match="not exported by this version"):
        read_markdown(text)


def test_json_lines_are_read_back_as_the_turns_they_were() -> None:
    session = conversation()
    lines = jsonl(session).encode().splitlines()
    read = [decode_turn(line, now=NOW, branch="main", id="none") for line in lines]
    assert [(t.id, t.role, t.content, t.tokens, t.parts, t.native, t.extra) for t in read] == [
        (t.id, t.role, t.content, t.tokens, t.parts, t.native, t.extra) for t in session.turns
    ]


def test_a_line_that_says_little_takes_the_time_and_the_id_it_is_given() -> None:
    read = decode_turn(b'{"role":"user","content":"x","seq":9,"branch":"y"}', now=NOW, branch="b", id="i")
    assert (read.timestamp, read.id, read.branch, read.seq, read.tokens, read.extra) == (NOW, "i", "b", 0, None, {})


def test_a_time_without_a_zone_is_utc() -> None:
    line = b'{"role":"user","content":"x","timestamp":"2026-11-15T12:00:00"}'
    assert decode_turn(line, now=NOW, branch="main", id="i").timestamp == NOW


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"null",
        b'{"role":"user"}',
        b'{"role":"user","content":null}',
        b'{"role":"user","content":"x","parts":{}}',
        b'{"role":"user","content":"x","timestamp":5}',
        b'{"role":"user","content":"x","id":7}',
        b'{"type":[],"role":"user","content":"x"}',
        b"\xff",
        b"[" * 100_000,
    ],
)
def test_a_line_that_is_no_turn_says_why(line: bytes) -> None:
    with pytest.raises(BadTurnError, match=r"it |is not a time"):
        decode_turn(line, now=NOW, branch="main", id="i")

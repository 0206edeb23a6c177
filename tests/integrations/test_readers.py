"""Files that the real tools wrote, whole and broken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from segue.integrations.claude import reader as claude
from segue.integrations.codex import reader as codex
from segue.integrations.format.lines import ENDS_BYTES, Ends, lines_of
from segue.integrations.format.native import native_records
from segue.integrations.format.transcript import TranscriptBuilder
from segue.integrations.format.values import child, objects
from segue.integrations.gemini import reader as gemini
from segue.integrations.opencode import reader as opencode

if TYPE_CHECKING:
    from collections.abc import Callable

    from segue.integrations.format.transcript import Transcript

CORPUS = Path(__file__).resolve().parents[1] / "corpus"
READERS: dict[str, Callable[[bytes], Transcript]] = {
    "claude": lambda data: claude.read(data, native_id="s", place="file"),
    "codex": lambda data: codex.read(data, native_id="s", place="file"),
    "gemini": lambda data: gemini.read(data, place="file"),
    "opencode": lambda data: opencode.read(data, place="file"),
}
LINES = ["claude", "codex", "gemini"]


def corpus(tool: str, kind: str) -> bytes:
    return (CORPUS / tool / f"{kind}.{'json' if tool == 'opencode' else 'jsonl'}").read_bytes()


@pytest.mark.parametrize("tool", READERS)
def test_a_question_and_its_answer_are_two_turns(tool: str) -> None:
    found = READERS[tool](corpus(tool, "plain"))
    assert [(turn.role, turn.content) for turn in found.turns] == [
        ("user", "Hello there"),
        ("assistant", "You said: Hello there"),
    ]
    assert found.damages == ()
    assert found.turns[1].tokens == 7
    assert found.turns[1].model
    assert found.turns[0].timestamp < found.turns[1].timestamp


@pytest.mark.parametrize("tool", READERS)
def test_a_tool_call_and_its_result_are_parts_that_name_each_other(tool: str) -> None:
    found = READERS[tool](corpus(tool, "tool"))
    assert [turn.role for turn in found.turns] == ["user", "assistant", "tool", "assistant"]
    (call,), (result,) = found.turns[1].parts, found.turns[2].parts
    assert (call["type"], result["type"], call["id"]) == ("tool_call", "tool_result", result["id"])
    assert "echo from-the-shell" in json.dumps(call["arguments"])
    assert "from-the-shell" in found.turns[2].content


@pytest.mark.parametrize("tool", READERS)
def test_the_ids_of_turns_are_stable_and_name_the_tool(tool: str) -> None:
    first, second = (READERS[tool](corpus(tool, "tool")) for _ in range(2))
    assert first == second
    assert len({turn.id for turn in first.turns}) == len(first.turns)
    assert all(turn.id.startswith(f"{tool}:") for turn in first.turns)
    assert second.after({turn.id for turn in first.turns}) == ()


@pytest.mark.parametrize("tool", READERS)
def test_the_records_of_the_tool_are_kept_verbatim(tool: str) -> None:
    data = corpus(tool, "tool")
    for turn in READERS[tool](data).turns:
        assert turn.native is not None
        assert turn.native["tool"] == tool
        for record in native_records(turn):
            # opencode adds to a message later: what it added is left out, and calls are with their results.
            info = child(record, "info")
            pieces = [*({name: value} for name, value in info.items()), *objects(record["parts"])] if info else [record]
            for piece in pieces:
                assert json.dumps(piece)[1:-1] in json.dumps(_everything(data))


@pytest.mark.parametrize("tool", LINES)
def test_a_transcript_cut_anywhere_gives_what_was_whole(tool: str) -> None:
    data = corpus(tool, "tool")
    whole = {turn.id: turn for turn in READERS[tool](data).turns}
    for end in range(0, len(data), 97):
        found = READERS[tool](data[:end])
        assert len(found.damages) <= 1
        assert [turn.id for turn in found.turns] == list(whole)[: len(found.turns)]


@pytest.mark.parametrize("tool", LINES)
def test_a_broken_line_costs_only_itself_and_is_named(tool: str) -> None:
    lines = corpus(tool, "tool").split(b"\n")
    for number in range(1, len(lines) - 1):
        broken = [*lines[:number], b'{"type": \xff', *lines[number + 1 :]]
        found = READERS[tool](b"\n".join(broken))
        assert [damage.line for damage in found.damages] == [number + 1]
        assert len(found.turns) >= 3


def test_a_torn_export_of_opencode_is_a_damage_and_no_turns() -> None:
    found = READERS["opencode"](corpus("opencode", "tool")[:-50])
    assert found.turns == ()
    assert found.damages[0].place == "file"


@pytest.mark.parametrize("tool", READERS)
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n\n",
        b"[]\n7\nnull\n",
        b'{"type":"user","message":7}\n',
        b"\x00" * 64,
        b"[" * 5000,
        b'{"id":1,"type":"gemini"}',
    ],
)
def test_whatever_a_file_holds_reading_it_does_not_fail(tool: str, data: bytes) -> None:
    READERS[tool](data)


def test_an_answer_of_claude_split_into_blocks_is_one_turn_counted_once() -> None:
    def record(uuid: str, parent: str | None, block: object) -> str:
        usage = {"output_tokens": 9}
        message = {"id": "m", "role": "assistant", "model": "x", "content": [block], "usage": usage}
        head = {"type": "assistant", "uuid": uuid, "parentUuid": parent, "timestamp": "2026-01-05T09:30:00.000Z"}
        return json.dumps({**head, "message": message})

    lines = [
        record("a", None, {"type": "thinking", "thinking": "Hm."}),
        record("b", "a", {"type": "text", "text": "One."}),
        record("c", "b", {"type": "tool_use", "id": "1", "name": "Bash", "input": {}}),
    ]
    (turn,) = READERS["claude"]("\n".join(lines).encode()).turns
    assert (turn.content, turn.tokens) == ("One.", 9)
    assert [part["type"] for part in turn.parts] == ["reasoning", "tool_call"]


def test_only_the_newest_branch_of_claude_is_read() -> None:
    def record(uuid: str, parent: str | None, text: str) -> str:
        head = {"type": "user", "uuid": uuid, "parentUuid": parent, "timestamp": "2026-01-05T09:30:00.000Z"}
        return json.dumps({**head, "message": {"role": "user", "content": text}})

    lines = [record("a", None, "first"), record("b", "a", "abandoned"), record("c", "a", "second")]
    assert [turn.content for turn in READERS["claude"]("\n".join(lines).encode()).turns] == ["first", "second"]


def test_a_message_that_gemini_took_back_is_not_read() -> None:
    lines = [
        {"sessionId": "g", "kind": "main"},
        {"id": "1", "type": "user", "content": "first", "timestamp": "2026-01-05T09:30:00Z"},
        {"id": "2", "type": "user", "content": "second", "timestamp": "2026-01-05T09:30:01Z"},
        {"$rewindTo": "2"},
        {"id": "3", "type": "user", "content": "third", "timestamp": "2026-01-05T09:30:02Z"},
    ]
    found = READERS["gemini"]("\n".join(map(json.dumps, lines)).encode())
    assert [turn.content for turn in found.turns] == ["first", "third"]


def codex_lines(*said: str | int) -> bytes:
    """What the user said, each with an answer; a number takes so many of them back."""
    lines: list[dict[str, object]] = []
    for one in said:
        if isinstance(one, int):
            lines.append({"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": one}})
            continue
        for role, kind in (("user", "input_text"), ("assistant", "output_text")):
            content = [{"type": kind, "text": f"{role}: {one}"}]
            lines.append({"type": "response_item", "payload": {"type": "message", "role": role, "content": content}})
    return "".join(json.dumps({"timestamp": "2026-01-05T09:30:00Z", **line}) + "\n" for line in lines).encode()


@pytest.mark.parametrize(
    ("said", "left"),
    [
        (("a", "b", 1, "c"), ["a", "c"]),
        (("a", "b", "c", 2), ["a"]),
        (("a", "b", 1, 1, "c"), ["c"]),
        (("a", "b", 9, "c"), ["c"]),
        (("a", "b", 1, "c", 1, "d"), ["a", "d"]),
        (("a", 0, -1, "b"), ["a", "b"]),
        (("a", 1), []),
    ],
)
def test_what_codex_took_back_is_not_read(said: tuple[str | int, ...], left: list[str]) -> None:
    turns = READERS["codex"](codex_lines(*said)).turns
    assert [turn.content for turn in turns] == [f"{role}: {text}" for text in left for role in ("user", "assistant")]


def test_what_codex_took_back_stays_a_branch_of_its_own() -> None:
    builder = TranscriptBuilder("codex", "file", "s")
    entries = list(codex.parse_turns(lines_of(codex_lines("a", "b", 1, "c")), builder))
    assert [entry.turn.content for entry in entries[::2]] == ["user: a", "user: b", "user: c"]
    assert entries[2].after == entries[4].after == entries[1].turn.id


@pytest.mark.parametrize("size", [1, 50, 5_000, 300_000])
def test_the_ends_of_a_file_are_its_first_and_last_lines(size: int) -> None:
    lines = [b"%d %s" % (number, b"x" * size) for number in range(1_000_000 // size)]
    data = b"\n".join(lines)
    taken: list[int] = []

    def read(size: int, offset: int) -> bytes:
        taken.append(len(piece := data[offset : offset + size]))
        return piece

    ends = list(Ends(read, len(data)))
    found = [line.data for line in ends]
    assert found[0] == lines[0]
    assert found[-3:] == lines[-3:]
    assert len(set(found)) == len(found)
    assert len({line.place.number for line in ends}) == len(ends)
    assert [data[line.place.offset :][: line.place.size] for line in ends] == found
    assert sum(taken) <= 4 * ENDS_BYTES or size > ENDS_BYTES // 8


def test_a_turn_that_no_store_takes_keeps_its_text() -> None:
    deep: object = "x"
    for _ in range(300):
        deep = [deep]
    record = {"id": "1", "type": "user", "content": "said", "timestamp": "2026-01-05T09:30:00Z", "more": deep}
    found = READERS["gemini"](json.dumps(record).encode())
    assert [(turn.content, turn.native) for turn in found.turns] == [("said", None)]
    assert "only the text" in found.damages[0].reason


def _everything(data: bytes) -> object:
    lines = data.decode().split("\n") if not data.startswith(b"{\n") else [data.decode()]
    return [json.loads(line) for line in lines if line]

"""`segue import` of export archives of ChatGPT and Claude.ai."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from segue.integrations.archives.archive import FoundConversation, UnreadConversation, read_archive
from segue.integrations.archives.json_array import BadArrayError, split_items

if TYPE_CHECKING:
    import random

    from segue.integrations.format.transcript import TranscriptBuilder, TranscriptTurn
    from segue.model import Session
    from tests.support.cli import Segue

ARCHIVES = Path(__file__).resolve().parents[1] / "corpus" / "archives"
KINDS = ["chatgpt", "claude-ai"]
IDS = {"chatgpt": "69190000-0000-8000-8000-000000000001", "claude-ai": "7a000000-0000-4000-8000-000000000001"}


def data_of(kind: str) -> bytes:
    return (ARCHIVES / kind / "conversations.json").read_bytes()


def pack(path: Path, members: dict[str, bytes]) -> str:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return str(path)


def read(path: Path) -> list[tuple[TranscriptBuilder, list[TranscriptTurn]]]:
    opened = [one.source.read(one.session) for one in read_archive(str(path)) if isinstance(one, FoundConversation)]
    return [(builder, list(turns)) for builder, turns in opened]


def said(session: Session, role: str, branch: str = "") -> list[str]:
    return [turn.content for turn in session.path(branch or session.branch) if turn.role == role and turn.content]


@pytest.mark.parametrize("kind", KINDS)
def test_each_conversation_of_an_archive_becomes_a_session_once(kind: str, cli: Segue, tmp_path: Path) -> None:
    members = {"user.json": b"{}", "conversations.json": data_of(kind), "file_0001-screen.png": b"\x89PNG"}
    path = pack(tmp_path / "export.zip", members)
    name = f"{kind}-{IDS[kind]}"
    assert f"{name}: 10 turns\n" in cli.ok("import", path)
    assert cli.ok("import", path).startswith("imported 0, already in the store ")
    session = cli.library.load(name)
    assert said(session, "user") == ["#P1# use a tool", "#P3# instead of it"]
    assert said(session, "user", "main") == ["#P1# use a tool", "#P2# was edited"]
    assert "A#1: done." in said(session, "assistant")
    assert (session.title, f"{session.created_at:%F}") == (f"A tool in {session.title[10:]}", "2026-11-16")
    parts = [part for turn in session.turns for part in turn.parts]
    calls = [part["id"] for part in parts if part["type"] == "tool_call"]
    assert [part["id"] for part in parts if part["type"] == "tool_result"] == calls
    assert "screen.png" in [part.get("path") for part in parts]
    assert "A tool in" in cli.ok("list")
    assert "from-the-tool" in cli.ok("search", "from-the-tool")


def test_what_models_thought_which_model_it_was_and_what_was_cut_off_is_there(cli: Segue) -> None:
    cli.ok("import", str(ARCHIVES / "chatgpt" / "conversations.json"))
    turns = cli.library.load(f"chatgpt-{IDS['chatgpt']}").turns
    assert [turn.parts[0]["type"] for turn in turns if turn.role == "system"] == ["notice"]
    assert {turn.model for turn in turns if turn.role == "assistant"} == {"gpt-5"}
    assert [turn.content for turn in turns if turn.partial] == ["A#3: I begin, and"]
    cli.ok("import", str(ARCHIVES / "claude-ai" / "conversations.json"))
    turns = cli.library.load(f"claude-ai-{IDS['claude-ai']}").turns
    assert [turn.content for turn in turns for part in turn.parts if part.get("is_error")] == ["Error: 1"]
    assert turns[0].parts[0]["content"] == "content of notes\n"


def test_a_later_archive_adds_what_is_new(cli: Segue, tmp_path: Path) -> None:
    name = f"claude-ai-{IDS['claude-ai']}"
    cli.ok("import", str(ARCHIVES / "claude-ai" / "conversations.json"))
    later = json.loads(data_of("claude-ai"))
    message = {"uuid": "h4", "text": "#P4# later", "content": [], "sender": "human", "parent_message_uuid": "a3"}
    later[0]["chat_messages"].append({**message, "created_at": "2026-11-17T09:00:00Z"})
    path = pack(tmp_path / "later.zip", {"data/conversations-000.json": json.dumps(later).encode()})
    assert cli.ok("import", path) == f"{name}: 1 turn\nimported 1, already in the store 1\n"
    assert said(cli.library.load(name), "user") == ["#P1# use a tool", "#P3# instead of it", "#P4# later"]


def test_an_archive_that_decompresses_to_far_more_than_text_is_refused(cli: Segue, tmp_path: Path) -> None:
    path = pack(tmp_path / "bomb.zip", {"conversations.json": b"[" + b" " * (40 << 20) + b"]"})
    assert "conversations.json decompresses to more than 2" in cli.refuses(2, "import", path)


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({"../conversations.json": b"[]"}, "outside of its own folder"),
        ({"notes.txt": b"x"}, "it contains no conversations.json"),
        ({"conversations.json": b'{"a": []}'}, "it is not a list of conversations"),
        ({"conversations.json": b"["}, "it is truncated"),
    ],
)
def test_what_is_not_an_archive_of_conversations_is_refused_with_the_reason(
    members: dict[str, bytes], reason: str, cli: Segue, tmp_path: Path
) -> None:
    assert reason in cli.refuses(2, "import", pack(tmp_path / "export.zip", members))
    assert cli.library.list() == []


def test_a_broken_conversation_or_zip_costs_only_itself(cli: Segue, tmp_path: Path) -> None:
    items = [*json.loads(data_of("claude-ai"))[:1], {"other": 1}]
    path = tmp_path / "conversations.json"
    path.write_bytes(json.dumps(items).encode()[:-1] + b", {bad}, ")
    result = cli.call("import", str(path))
    assert "10 turns" in result.text
    assert "conversation 2: it is neither a conversation of ChatGPT nor of Claude.ai" in result.complaint
    assert "conversation 4: it is truncated" in result.complaint
    assert result.code == 2
    whole = Path(pack(tmp_path / "whole.zip", {"conversations.json": data_of("chatgpt")}))
    (tmp_path / "cut.zip").write_bytes(whole.read_bytes()[:-40])
    assert "cannot be unpacked" in cli.refuses(2, "import", str(tmp_path / "cut.zip"))


@pytest.mark.parametrize("kind", KINDS)
def test_a_mutated_archive_is_read_or_reported(kind: str, tmp_path: Path, rng: random.Random) -> None:
    data = data_of(kind)
    path = tmp_path / "conversations.json"
    path.write_bytes(data)
    words = {entry.turn.content for _, entries in read(path) for entry in entries if entry.turn.role == "user"}
    for place in rng.sample(range(2, len(data)), 60):
        for changed in (data[:place], data[:place] + bytes([data[place] ^ 1 << rng.randrange(7)]) + data[place + 1 :]):
            path.write_bytes(changed)
            try:
                read(path)
            except Exception as error:  # noqa: BLE001 - any other is a failure
                assert type(error).__name__ == "UsageError"  # noqa: PT017 - it is refused with a reason
    newer = json.loads(data)
    for item in newer:
        item["mapping"] = {**item["mapping"], "x": "newer"} if kind == "chatgpt" else None
        item.setdefault("chat_messages", []).append({"sender": "x-newer", "text": "invented"})
    path.write_text(json.dumps(newer))
    found = read(path)
    assert {entry.turn.content for _, entries in found for entry in entries if entry.turn.role == "user"} <= words


def test_a_tree_with_a_circle_or_without_a_root_is_read_once(tmp_path: Path) -> None:
    (item, _) = json.loads(data_of("chatgpt"))
    item["mapping"]["a3"]["children"] = ["u1", "a3"]
    item["mapping"]["lost"] = {"parent": "gone", "children": [], "message": item["mapping"]["u2"]["message"]}
    item["mapping"]["round"] = {"parent": "round", "children": ["round"], "message": None}
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([item]))
    ((builder, entries),) = read(path)
    assert len(entries) == len({entry.turn.id for entry in entries}) == 11
    assert [damage.reason for damage in builder.damages] == ["1 messages are not connected with the first one"]


def test_a_conversation_of_nothing_but_calls_takes_time_and_memory_that_grow_with_it(tmp_path: Path) -> None:
    (item, _) = json.loads(data_of("chatgpt"))
    call = item["mapping"]["c1"]["message"]
    count = 5_000
    item["mapping"] = {
        str(at): {"parent": str(at - 1), "children": [str(at + 1)], "message": call} for at in range(count)
    }
    (tmp_path / "conversations.json").write_text(json.dumps([item]))
    ((_, entries),) = read(tmp_path / "conversations.json")
    assert len(entries) == count
    (item, _) = json.loads(data_of("claude-ai"))
    result = {"type": "tool_result", "tool_use_id": "x", "content": "y" * 100}
    item["chat_messages"][1]["content"] = [result] * 10_000
    (tmp_path / "conversations.json").write_text(json.dumps([item]))
    ((_, entries),) = read(tmp_path / "conversations.json")
    assert len(entries[1].turn.parts) == 10_000


def test_a_list_of_turns_that_mentions_an_archive_is_still_a_list_of_turns(cli: Segue, tmp_path: Path) -> None:
    path = tmp_path / "turns.json"
    path.write_text(json.dumps([{"role": "user", "content": 'what is "mapping": {} here?'}]))
    assert cli.ok("import", str(path)).startswith("turns: 1 turn of one branch")


def test_an_array_is_split_wherever_the_blocks_end() -> None:
    items = [{"a": 'x"]}\\', "b": [1, {"c": "{["}]}, {}, {"d": "\\\\"}]
    data = json.dumps(items).encode()
    for size in range(1, len(data)):
        blocks = [data[at : at + size] for at in range(0, len(data), size)]
        assert [json.loads(item or b"") for item in split_items(blocks, 1000)] == items
    assert list(split_items([b'[{"a": "long"}, {}]'], 5)) == [None, b"{}"]
    with pytest.raises(BadArrayError, match="truncated"):
        list(split_items([data[:-1]], 1000))


def test_a_conversation_that_is_too_long_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("segue.integrations.archives.archive.CONVERSATION_BYTES", 2000)
    path = tmp_path / "conversations.json"
    path.write_bytes(data_of("claude-ai"))
    first, second = read_archive(str(path))
    assert isinstance(first, UnreadConversation)
    assert isinstance(second, FoundConversation)

"""What every integration with a home folder in the corpus can do: a new one gets these tests for its folder alone.

In these conversations every prompt contains `#P<n>#`, and the answer to it starts with `A#<n>:`.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

import segue
from segue.index import Index
from segue.integrations import INTEGRATIONS
from segue.integrations.format.outgoing import outgoing_messages
from segue.integrations.registry import integration_sources
from segue.transfer.import_sessions import import_session
from tests.support import integration_homes
from tests.support.integration_homes import HOMES, PLACES, later, move_in, snapshot

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator
    from pathlib import Path

    from segue.integrations.format.transcript import TranscriptBuilder, TranscriptTurn
    from segue.model import Turn

TOOLS = [tool for tool in INTEGRATIONS if tool not in PLACES and (HOMES / tool).is_dir()]
PROMPT = re.compile(r"#P(\d+)#")
ANSWER = re.compile(r"A#(\d+):")


def read_all(tool: str, home: Path) -> list[tuple[TranscriptBuilder, list[TranscriptTurn]]]:
    found = [INTEGRATIONS[tool].read(session) for session in integration_homes.sessions(tool, home)]
    return [(builder, list(turns)) for builder, turns in found]


def active(builder: TranscriptBuilder, entries: list[TranscriptTurn]) -> list[Turn]:
    """The turns from the first to the tip."""
    return list(builder.transcript(entries).turns)


def said(entries: list[TranscriptTurn]) -> set[tuple[str, str]]:
    return {(entry.turn.role, entry.turn.content) for entry in entries}


def prompts(turns: list[Turn]) -> list[str]:
    return [PROMPT.findall(turn.content)[-1] for turn in turns if turn.role == "user" and PROMPT.search(turn.content)]


def answers(turns: list[Turn]) -> list[str]:
    return [found[1] for turn in turns if turn.role == "assistant" and (found := ANSWER.match(turn.content))]


def test_every_integration_has_files_in_the_corpus() -> None:
    assert [tool for tool in INTEGRATIONS if tool not in PLACES and tool not in TOOLS] == []


@pytest.mark.parametrize("tool", TOOLS)
def test_what_the_user_asked_and_what_was_answered_is_there_in_order(tool: str, tmp_path: Path) -> None:
    move_in(tmp_path, tool)
    sessions = read_all(tool, tmp_path)
    assert sessions
    for builder, entries in sessions:
        turns = active(builder, entries)
        assert prompts(turns) == sorted(set(prompts(turns)), key=int)
        assert answers(turns) == sorted(set(answers(turns)), key=int)
        assert set(answers(turns)) <= set(prompts(turns))
        assert turns[0].role == "user"
        assert builder.cwd
        assert "<" not in turns[0].content.split()[0]


@pytest.mark.parametrize("tool", TOOLS)
def test_turns_have_ids_that_stay_and_follow_turns_before_them(tool: str, tmp_path: Path) -> None:
    move_in(tmp_path, tool)
    for (builder, entries), (_, again) in zip(read_all(tool, tmp_path), read_all(tool, tmp_path), strict=True):
        assert entries == again
        known: set[str] = {""}
        for entry in entries:
            assert entry.turn.id.startswith(f"{tool}:{builder.native_id}")
            assert entry.turn.id not in known
            assert entry.after in known
            known.add(entry.turn.id)
        assert builder.tip in known - {""}


@pytest.mark.parametrize("tool", TOOLS)
def test_every_result_names_its_call_and_words_of_tools_are_no_ones(tool: str, tmp_path: Path) -> None:
    move_in(tmp_path, tool)
    for builder, entries in read_all(tool, tmp_path):
        calls: set[object] = set()
        for turn in active(builder, entries):
            kinds = {part["type"] for part in turn.parts}
            assert kinds <= {"tool_call", "tool_result", "reasoning", "image", "file", "summary", "notice"}
            assert ("tool_result" in kinds) == (turn.role == "tool")
            assert (turn.role == "system") == bool(kinds & {"summary", "notice"})
            calls |= {part["id"] for part in turn.parts if part["type"] == "tool_call"}
            assert {part["id"] for part in turn.parts if part["type"] == "tool_result"} <= calls | {""}
        sent = list(outgoing_messages(active(builder, entries), now=later()))
        typed = "\n".join(turn.content for turn in active(builder, entries) if turn.role == "user")
        results = [turn.content for turn in active(builder, entries) if turn.role == "tool"]
        texts = "\n".join(message.text for message in sent if message.role == "user")
        assert not [text for text in results if text in texts and text not in typed]


@pytest.mark.parametrize("tool", TOOLS)
def test_a_listing_shows_and_finds_it_in_place_and_changes_nothing(tool: str, tmp_path: Path) -> None:
    move_in(tmp_path, tool)
    before = snapshot(tmp_path)
    sources = integration_sources(tmp_path, {})
    with Index(None) as index:
        index.refresh(sources, with_text=False)
        quick = {entry.id: entry for entry in index.entries()}
        index.refresh(sources)
        for entry in index.entries():
            assert (entry.tool, entry.title, entry.folder) == (tool, quick[entry.id].title, quick[entry.id].folder)
            assert entry.title
            assert entry.turn_count
        assert index.search("P1")
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("tool", TOOLS)
def test_it_is_imported_once_with_its_branches(tool: str, tmp_path: Path) -> None:
    move_in(tmp_path, tool)
    store = segue.open("memory:").store
    for session in integration_homes.sessions(tool, tmp_path):
        builder, turns = INTEGRATIONS[tool].read(session)
        entries = list(turns)
        found = import_session(INTEGRATIONS[tool], session, store, clock=later)
        assert found.turns == len(entries)
        assert import_session(INTEGRATIONS[tool], session, store, clock=later).turns == 0
        copy = store.load(found.session_id)
        assert [turn.id for turn in copy.turns] == [turn.id for turn in active(builder, entries)]


def mutations(data: bytes, rng: random.Random) -> Iterator[bytes]:
    """The file with records in another order, twice, of an unknown type, and with fields of a newer release."""
    lines = data.splitlines(keepends=True)
    try:
        document = json.loads(data)
    except ValueError:
        yield b"".join(rng.sample(lines, len(lines)))
        yield b"".join(line for line in lines for _ in range(2))
        newer = b'{"type":"x-newer","kind":9,"role":"x-newer","text":"#P99# invented","content":"#P99# invented"}\n'
        yield b"".join([*lines[:2], newer, *lines[2:], newer])
        yield b"".join(line.replace(b"{", b'{"xNewer":{"text":"#P99# invented"},', 1) for line in lines)
        return
    yield json.dumps(with_newer_fields(document)).encode()
    yield json.dumps(document)[: len(data) // 2].encode()
    yield b"[]"
    yield b'{"messages":7,"history":{},"requests":"x"}'


def with_newer_fields(value: object) -> object:
    if isinstance(value, dict):
        return {**{key: with_newer_fields(item) for key, item in value.items()}, "xNewer": "#P99# invented"}
    if isinstance(value, list):
        newer = {"type": "x-newer", "kind": "x-newer", "role": "x-newer", "text": "#P99# invented"}
        return [*map(with_newer_fields, value), *([newer] if value and isinstance(value[0], dict) else [])]
    return value


@pytest.mark.parametrize("tool", TOOLS)
def test_what_is_malformed_or_unknown_is_read_or_reported_and_nothing_is_invented(
    tool: str, tmp_path: Path, rng: random.Random
) -> None:
    move_in(tmp_path, tool)
    for session in integration_homes.sessions(tool, tmp_path):
        place = type(tmp_path)(session.path)
        data = place.read_bytes()
        whole = said(list(INTEGRATIONS[tool].read(session).turns))
        for changed in mutations(data, rng):
            place.write_bytes(changed)
            builder, turns = INTEGRATIONS[tool].read(session)
            found = said(list(turns))
            invented = {content for role, content in found if role in {"user", "assistant"} and "#P99#" in content}
            assert invented == set()
            if changed == b"[]":
                continue  # nothing was said
            assert found or builder.damages
            lost = {content for role, content in whole - found if role == "user"}
            assert not lost or builder.damages or len(found) >= len(whole) // 2
        place.write_bytes(data)


@pytest.mark.parametrize("tool", TOOLS)
def test_an_unknown_kind_of_record_is_named_once(tool: str, tmp_path: Path) -> None:
    move_in(tmp_path, tool)
    (session, *_) = integration_homes.sessions(tool, tmp_path)
    place = type(tmp_path)(session.path)
    known = len(INTEGRATIONS[tool].read(session).builder.damages)
    data = place.read_bytes()
    try:
        place.write_text(json.dumps(with_newer_fields(json.loads(data))))
    except ValueError:
        place.write_bytes(data + b'{"type":"x-newer","kind":9,"role":"x-newer","text":"words"}\n' * 2)
    builder, turns = INTEGRATIONS[tool].read(session)
    list(turns)
    reasons = [damage.reason for damage in builder.damages[known:]]
    assert any("x-newer" in reason or "9" in reason for reason in reasons)
    assert len(reasons) == len(set(reasons))

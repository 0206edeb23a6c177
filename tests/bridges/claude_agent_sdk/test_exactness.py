"""Every entry comes back as it was, in order, however the entries are spread over appends and processes."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING

import anyio
import pytest
from claude_agent_sdk import fold_session_summary
from hypothesis import given
from hypothesis import strategies as st

import segue
from segue.bridges.claude_agent_sdk import SegueSessionStore
from segue.bridges.claude_agent_sdk.entries import LARGE_BYTES
from segue.model import Turn
from tests.bridges.claude_agent_sdk.conversations import KEY, PICTURE, SUBAGENT, append, load, made_up

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from claude_agent_sdk import SessionKey

    from segue.library import Library
    from tests.bridges.claude_agent_sdk.conversations import Entry


def without_repeated(entries: Iterable[Entry]) -> list[Entry]:
    found: dict[str, Entry] = {}
    for number, entry in enumerate(entries):
        uuid = entry.get("uuid")
        found.setdefault(uuid if isinstance(uuid, str) and uuid else f"{number} ", entry)
    return list(found.values())


def shape(library: Library) -> tuple[object, ...]:
    """What users see of the only session: every turn on its branch, and the branches."""
    (head,) = library.list()
    session = library.load(head.id)
    turns = [
        (event.role, event.content, event.branch, event.tokens, len(event.parts))
        for event in library.store.read(head.id)
        if isinstance(event, Turn)
    ]
    branches = [(branch.name, branch.parent, branch.at, branch.own) for branch in session.branches.values()]
    return turns, branches, session.branch, session.title


@pytest.mark.parametrize("key", [KEY, SUBAGENT], ids=["main", "subagent"])
def test_conversations_come_back_as_they_were(tmp_path: Path, key: SessionKey, pytestconfig: pytest.Config) -> None:
    """Once with a store that has seen all of it, and once with a new one for each append; and some appends again."""
    for seed in range(300 if pytestconfig.getoption("long") else 12):
        chance = Random(seed)
        entries = made_up(chance, rounds=chance.randint(1, 12))
        warm, cold = (segue.open(f"journal:{tmp_path}/{seed}/{name}") for name in ("warm", "cold"))
        stores = [SegueSessionStore(warm), SegueSessionStore(cold)]
        rest = entries
        while rest:
            size = chance.choice([1, 2, 5, 40])
            batch, rest = rest[:size], rest[size:]
            again = [entry for entry in batch if entry.get("uuid")] if chance.random() < 0.3 else []
            for store in stores:
                append(store, batch, key)
                append(store, again, key)
            stores[1] = SegueSessionStore(cold)
        for store in stores:
            assert json.dumps(load(store, key)) == json.dumps(without_repeated(entries)), seed
        assert shape(warm) == shape(cold), seed


texts = st.text(max_size=20) | st.sampled_from(["\ud800", "x" * 150, "ab" * LARGE_BYTES, PICTURE, "\u2028\x00\n"])
numbers = st.integers() | st.sampled_from([2**64, 10**400, 10**2000]) | st.floats(allow_nan=False)
odd_names = st.sampled_from(["$same", "value", "from", "to", "type", "text", "hash", "data", "uuid", "at"])
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(odd_names, inner, max_size=3),
    max_leaves=6,
)
names = st.sampled_from(
    ["type", "uuid", "parentUuid", "message", "attachment", "content", "timestamp", "cwd", "isMeta"]
)


@given(changes=st.lists(st.tuples(st.integers(0, 50), names, values), min_size=1, max_size=8), seed=st.integers(0, 5))
def test_odd_values_come_back_as_they_were(changes: list[tuple[int, str, object]], seed: int) -> None:
    entries = made_up(Random(seed), rounds=3)
    for number, name, value in changes:
        entries[number % len(entries)][name] = value
    library = segue.open("memory:")
    store = SegueSessionStore(library)
    for at in range(0, len(entries), 4):
        append(store, entries[at : at + 4])
    wanted = without_repeated(entries)
    assert json.dumps(load(SegueSessionStore(library))) == json.dumps(wanted)
    (summary,) = anyio.run(store.list_session_summaries, "p")
    assert json.dumps(summary["data"]) == json.dumps(fold_session_summary(None, KEY, wanted)["data"])  # type: ignore[arg-type]
    assert anyio.run(store.list_sessions, "p") == [{"session_id": "s", "mtime": summary["mtime"]}]


def test_what_is_nested_too_deeply_for_most_readers_comes_back(tmp_path: Path) -> None:
    deep: object = 1
    for _ in range(500):
        deep = [deep]
    entry = {"type": "user", "uuid": "u", "message": {"content": "hi"}, "deep": deep}
    store = SegueSessionStore(f"journal:{tmp_path}")
    append(store, [entry])
    assert json.dumps(load(store)) == json.dumps([entry])


@pytest.mark.parametrize(
    "size", [LARGE_BYTES + 1, 3 << 20, pytest.param(100 << 20, marks=pytest.mark.long)], ids=["64K", "3M", "100M"]
)
@pytest.mark.parametrize("kind", ["user", "attachment", "x"])
def test_a_large_entry_is_a_blob_and_comes_back(tmp_path: Path, size: int, kind: str) -> None:
    large = [{"type": "tool_use", "id": "1", "name": "Write", "input": {"text": "x" * size}}]
    entries: list[Entry] = [
        {"type": kind, "uuid": "u1", "parentUuid": None, "message": {"id": "m", "content": large}, "more": "y" * size},
        {"type": "user", "uuid": "u2", "parentUuid": "u1", "message": {"content": "and now?"}},
    ]
    library = segue.open(f"journal:{tmp_path}")
    append(SegueSessionStore(library), entries)
    (head,) = library.list()
    assert sum(path.stat().st_size for path in tmp_path.glob("*.jsonl")) < 2 * size
    append(SegueSessionStore(library), entries)  # all of it is known
    assert json.dumps(load(SegueSessionStore(library))) == json.dumps(entries)
    assert library.load(head.id).turns[-1].content == "and now?"

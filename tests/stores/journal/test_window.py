"""Reading from the end gives what reading from the beginning gives."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from segue.library import Library
from segue.model import head_of, overview_of
from segue.store import Durability
from segue.stores.journal import JournalStore
from segue.stores.journal.file import JournalFile

if TYPE_CHECKING:
    from pathlib import Path


def build(root: Path, seed: int, steps: int) -> JournalStore:
    """A session with branches left and right, long and short turns, plain and several-line appends."""
    choice = random.Random(seed)
    store = JournalStore(str(root), durability=Durability.WRITTEN)
    with Library(store).create(id="x") as session:
        for number in range(steps):
            match choice.randrange(20):
                case 0:
                    session.fork(at=choice.randrange(session.overview.turn_count + 1))
                case 1 | 2:
                    session.switch(choice.choice(list(session.overview.branches)))
                case 3:
                    session.decide(f"decision {number}")
                case 4:
                    session.add("assistant", "\ud800" * choice.randrange(20))
                case _:
                    session.add("user", f"{number} " + "x" * choice.choice([3, 30, 300, 3000]))
    return store


@pytest.mark.parametrize("seed", range(6))
def test_the_last_turns_of_every_branch_are_those_of_the_whole(tmp_path: Path, seed: int) -> None:
    store = build(tmp_path, seed, 400)
    whole = store.load("x")
    for name in whole.branches:
        path = whole.path(name)
        for count in (0, 1, 2, 7, 50, len(path), len(path) + 5):
            assert store.tail("x", count, branch=name) == path[max(0, len(path) - count) :]


@pytest.mark.parametrize("seed", range(3))
def test_reading_beyond_any_event_gives_the_rest(tmp_path: Path, seed: int) -> None:
    store = build(tmp_path, seed, 150)
    events = list(store.read("x"))
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    for after in range(len(events) + 2):
        assert list(store.read("x", after=after)) == events[after:]


def test_a_writer_knows_everything_but_the_turns_without_reading_them(tmp_path: Path) -> None:
    store = build(tmp_path, 7, 600)
    whole = store.load("x")
    read: list[int] = []
    with JournalFile(store.folder, "x") as file:
        pread = file._read

        def counting(size: int, offset: int) -> bytes:
            data = pread(size, offset)
            read.append(len(data))
            return data

        file._read = counting  # type: ignore[method-assign]
        end = file.end()
    assert end.overview == overview_of(whole)
    assert sum(read) < file.size / 4


def test_a_listing_reads_only_the_end(tmp_path: Path) -> None:
    store = build(tmp_path, 8, 600)
    whole = store.load("x")
    assert replace(store.head("x"), updated_at=whole.updated_at) == head_of(whole)
    assert store.overview("x") == overview_of(whole)


def test_lines_of_another_writer_among_ours_are_counted_everywhere(tmp_path: Path) -> None:
    store = build(tmp_path, 9, 100)
    foreign = b'{"type":"turn","role":"user","content":"from elsewhere %d","timestamp":"2026-11-15T09:00:00"}\n'
    with (tmp_path / "x.jsonl").open("ab") as file:
        for number in range(60):
            file.write(foreign % number)
    whole = store.load("x")
    main = whole.path("main")
    assert [turn.content for turn in main[-2:]] == ["from elsewhere 58", "from elsewhere 59"]
    for count in (1, 10, 60, 70, 1000):
        assert store.tail("x", count, branch="main") == main[max(0, len(main) - count) :]
    assert store.overview("x") == overview_of(whole)
    assert [event.seq for event in store.read("x", after=whole.seq - 1)] == [whole.seq]
    with Library(store).open("x") as session:
        session.add("user", "ours again")
    assert store.load("x").seq == whole.seq + 1


def test_a_journal_entirely_of_another_writer_is_read_and_written(tmp_path: Path) -> None:
    lines = [b'{"type": "metadata", "session_id": "x", "agent": "qa", "created_at": "2026-11-15T09:00:00"}']
    for number in range(30):
        role = b"user" if number % 2 == 0 else b"assistant"
        lines.append(b'{"type": "turn", "role": "%s", "content": "%d", "timestamp": "", "tokens": 1}' % (role, number))
    lines = [line.replace(b'"timestamp": ""', b'"timestamp": "2026-11-15T09:00:00"') for line in lines]
    (tmp_path / "x.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    store = JournalStore(str(tmp_path))
    assert [turn.content for turn in store.tail("x", 2)] == ["28", "29"]
    assert (store.head("x").turn_count, store.head("x").status) == (30, "interrupted")
    with Library(store).resume("x") as session:
        session.add("user", "30")
    assert [turn.content for turn in store.load("x").turns] == [str(number) for number in range(31)]
    assert (tmp_path / "x.jsonl").read_bytes().startswith(b"\n".join(lines) + b"\n")

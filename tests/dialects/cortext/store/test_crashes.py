"""A process that dies at any call, and a disk that forgets, cost nothing that was acknowledged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from segue.dialects.cortext.format import MESSAGES, SESSION
from segue.errors import NotFoundError
from segue.testing.conformance.chapter import ID, create_session, event_ids
from segue.testing.events import fork, status, turn, turns
from segue.testing.harness_cortext import CortextHarness
from tests.support.crash_points import crash_points, found, recover

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from segue.store import Store


def converse(store: Store, told: list[str]) -> None:
    """A short life; what was acknowledged is told at once."""
    with create_session(store, turn(1)) as writer:
        told.append("turn-1")
        writer.append(turn(2), ids_are_new=True)
        told.append("turn-2")
        writer.append(turn(3), status("paused"), turn(4))
        told += ["turn-3", "paused-0", "turn-4"]
        writer.append(*turns(5, 6))
        told += ["turn-5", "turn-6"]
        writer.append(fork("other", 2))
        told.append("fork-other")
        writer.put_blob(b"an image")
    with store.open(ID) as writer:
        writer.append(turn(7))
        told.append("turn-7")


TOGETHER = (["turn-3", "paused-0", "turn-4"], ["turn-5", "turn-6"])


@pytest.mark.parametrize("end", [CortextHarness.kill, CortextHarness.power_cut], ids=["killed", "power cut"])
def test_the_end_at_any_call_costs_nothing_that_was_acknowledged(
    root: Path, end: Callable[[CortextHarness], None]
) -> None:
    for harness, told in crash_points(CortextHarness, root, CortextHarness.make, converse):
        end(harness)
        store = harness.make()
        there = found(store)
        assert there[: len(told)] == told
        assert all(len(set(append) & set(there)) in {0, len(append)} for append in TOGETHER)
        heads = list(store.heads())
        assert [head.turn_count for head in heads] == [len(store.load(head.id).turns) for head in heads]
        try:
            writer = store.open(ID)
        except NotFoundError:
            writer = create_session(store)
        with writer:
            writer.append(turn(100))
        harness.power_cut()
        after = harness.make()
        assert found(after) == [*there, "turn-100"]
        assert after.examine(ID).damages == ()
        assert after.examine(ID).torn_bytes == 0


def test_recovery_that_ends_at_any_call_can_be_done_again(root: Path) -> None:
    def damaged(harness: CortextHarness) -> None:
        with create_session(harness.make(), *turns(1, 3)) as writer:
            writer.append(status("paused"), turn(4), turn(5))
        harness.damage(ID, "turn-3")

    for harness, _ in crash_points(CortextHarness, root, damaged, recover):
        harness.power_cut()
        recover(harness.make(), [])
        store = harness.make()
        assert event_ids(store) == ["turn-1", "turn-2", "paused-0", "turn-4", "turn-5"]
        kept = [path for path in harness.file(ID, MESSAGES).parent.glob("*corrupt*") if MESSAGES in path.name]
        assert any(b"turn-3" in path.read_bytes() for path in kept)
        with store.open(ID) as writer:
            assert writer.append(turn(6)).seqs == (7,)
        assert b'"whole"' not in harness.file(ID, SESSION).read_bytes()


def test_a_kill_between_the_line_and_session_json_leaves_the_turn_and_the_next_open_settles_it(root: Path) -> None:
    harness = CortextHarness(root)
    with create_session(harness.make(), turn(1)) as writer:
        before = harness.file(ID, SESSION).read_bytes()
        writer.append(turn(2))
        after = harness.file(ID, SESSION).read_bytes()
    harness.file(ID, SESSION).write_bytes(before)
    store = harness.make()
    assert event_ids(store) == ["turn-1", "turn-2"]
    assert [head.turn_count for head in store.heads()] == [2]
    assert [event.id for event in store.tail(ID, 1)] == ["turn-2"]
    assert store.overview(ID).seq == 3
    store.open(ID).close()
    assert harness.file(ID, SESSION).read_bytes() == after


def test_a_kill_between_the_lines_and_session_json_leaves_none_of_an_append_that_needs_both(root: Path) -> None:
    harness = CortextHarness(root)
    with create_session(harness.make(), turn(1)) as writer:
        before = harness.file(ID, SESSION).read_bytes()
        writer.append(turn(2), status("completed"), turn(3))
        lines = harness.file(ID, MESSAGES).read_bytes()
    harness.file(ID, SESSION).write_bytes(before)
    store = harness.make()
    assert event_ids(store) == ["turn-1"]
    examination = store.examine(ID)
    assert examination.damages == ()
    assert examination.torn_bytes == len(b"".join(lines.splitlines(keepends=True)[1:]))
    assert [head.turn_count for head in store.heads()] == [1]
    with store.open(ID) as writer:
        writer.append(turn(2), status("completed"), turn(3))
    assert event_ids(store) == ["turn-1", "turn-2", "completed-0", "turn-3"]
    (fragment,) = (harness.root / ".workspace" / "quarantine").glob("*.fragment")
    assert lines.endswith(fragment.read_bytes())

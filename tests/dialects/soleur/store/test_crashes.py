"""A process that dies at any call, and a disk that forgets, cost nothing that was acknowledged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from segue.errors import NotFoundError
from segue.testing.conformance.chapter import ID, create_session, event_ids
from segue.testing.events import turn, turns
from segue.testing.harness_soleur import SoleurHarness
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
        writer.append(*turns(3, 5))
        told += [event.id for event in turns(3, 5)]
        writer.put_blob(b"an image")
    with store.open(ID) as writer:
        writer.append(turn(6))
        told.append("turn-6")


@pytest.mark.parametrize("end", [SoleurHarness.kill, SoleurHarness.power_cut], ids=["killed", "power cut"])
def test_the_end_at_any_call_costs_nothing_that_was_acknowledged(
    tmp_path: Path, end: Callable[[SoleurHarness], None]
) -> None:
    for harness, told in crash_points(SoleurHarness, tmp_path, SoleurHarness.make, converse):
        end(harness)
        store = harness.make()
        assert found(store)[: len(told)] == told
        try:
            writer = store.open(ID)
        except NotFoundError:
            writer = create_session(store)
        with writer:
            writer.append(turn(100))
        harness.power_cut()
        assert [*told, "turn-100"] == [name for name in found(harness.make()) if name in {*told, "turn-100"}]
        assert harness.make().examine(ID).damages == ()


def test_recovery_that_ends_at_any_call_can_be_done_again(tmp_path: Path) -> None:
    def damaged(harness: SoleurHarness) -> None:
        create_session(harness.make(), *turns(1, 5)).close()
        harness.damage(ID, "turn-3")

    for harness, _ in crash_points(SoleurHarness, tmp_path, damaged, recover):
        harness.power_cut()
        recover(harness.make(), [])
        assert event_ids(harness.make()) == ["turn-1", "turn-2", "turn-4", "turn-5"]
        assert any(b"turn-3" in path.read_bytes() for path in harness.root.glob("*corrupt*"))

"""A process that dies at any call, and a disk that forgets, cost nothing that was acknowledged."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from segue.errors import NotFoundError
from segue.testing.conformance.chapter import ID, create_session, event_ids
from segue.testing.events import fork, switched, turn, turns
from segue.testing.harness_gptel import GptelHarness
from tests.support.crash_points import crash_points, found, recover

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from segue.store import Store

ENDS = [GptelHarness.kill, GptelHarness.power_cut]


def converse(store: Store, told: list[str]) -> None:
    """A short life with a branch; what was acknowledged is told at once."""
    with create_session(store, turn(1)) as writer:
        told.append("turn-1")
        writer.append(turn(2), ids_are_new=True)
        told.append("turn-2")
        writer.append(fork("other", 1))
        told.append("fork-other")
        writer.append(turn(3, branch="other"), turn(4))
        told += ["turn-3", "turn-4"]
    with store.open(ID) as writer:
        writer.append(switched("main"))
        told.append("switch-main-0")


def edit(harness: GptelHarness) -> Path:
    """What a person saved in an editor that knows nothing of bounds."""
    create_session(harness.make(), *turns(1, 3), fork("other", 2, switch=False)).close()
    path = harness.root / ID / "branches" / "main" / "session.md"
    text = path.read_text().replace("said in turn 1.", "said in turn one.").replace("\f\n", "\n### And this?\n\f\n")
    path.write_text(text)
    with path.open("rb") as file:
        harness.disk.sync(file.fileno(), str(path))
    return path


def take_in(store: Store, told: list[str]) -> None:
    with store.open(ID) as writer:
        writer.append(turn(9))
        told.append("turn-9")


def current_is_valid(harness: GptelHarness) -> None:
    folder = harness.root / ID
    target = os.readlink(folder / "current")
    assert target.startswith("branches/")
    assert (folder / target / "session.md").is_file()
    assert (folder / "current").resolve().parent == folder / "branches"


@pytest.mark.parametrize("end", ENDS, ids=["killed", "power cut"])
def test_the_end_at_any_call_costs_nothing_that_was_acknowledged(
    tmp_path: Path, end: Callable[[GptelHarness], None]
) -> None:
    for harness, told in crash_points(GptelHarness, tmp_path, GptelHarness.make, converse):
        end(harness)
        store = harness.make()
        assert found(store)[: len(told)] == told
        if told:
            current_is_valid(harness)
        try:
            writer = store.open(ID)
        except NotFoundError:
            writer = create_session(store)
        with writer:
            writer.append(turn(100))
        harness.power_cut()
        after = harness.make()
        assert [*told, "turn-100"] == [name for name in found(after) if name in {*told, "turn-100"}]
        assert after.examine(ID).damages == ()
        current_is_valid(harness)
        assert os.readlink(harness.root / ID / "current") == f"branches/{after.load(ID).branch}"


@pytest.mark.parametrize("end", ENDS, ids=["killed", "power cut"])
def test_the_end_while_an_edit_is_taken_in_loses_neither_the_edit_nor_what_was_acknowledged(
    tmp_path: Path, end: Callable[[GptelHarness], None]
) -> None:
    for harness, told in crash_points(GptelHarness, tmp_path, edit, take_in):
        end(harness)
        for store in (harness.make(), harness.make()):
            said = [event.content for event in store.load(ID).path("main")]
            assert said[0] == "This is what was said in turn one."
            assert said.count("And this?") == 1
            assert len(said) == (5 if "turn-9" in found(store) else 4)
            assert "turn-9" in found(store) or not told
            untouched = [event.content for event in store.load(ID).path("other")]
            assert untouched == [event.content for event in turns(1, 2)]
            with store.open(ID) as writer:
                writer.append(turn(9))
        current_is_valid(harness)


@pytest.mark.parametrize("damaged", ["events", "text", "events of an edited text"])
def test_recovery_that_ends_at_any_call_can_be_done_again(tmp_path: Path, damaged: str) -> None:
    def damage(harness: GptelHarness) -> None:
        create_session(harness.make(), *turns(1, 5)).close()
        path = harness.root / ID / "branches" / "main" / "session.md"
        if damaged != "text":
            harness.damage(ID, "turn-3")
        if damaged == "events":
            return
        if damaged == "text":
            os.truncate(path, 60)
        else:
            path.write_bytes(path.read_bytes().replace(b"\f\n", b"\nAnd this?\n\f\n"))
        with path.open("rb") as file:
            harness.disk.sync(file.fileno(), str(path))

    for harness, _ in crash_points(GptelHarness, tmp_path, damage, recover):
        harness.power_cut()
        recover(harness.make(), [])
        kept = [1, 2, 3, 4, 5] if damaged == "text" else [1, 2, 4, 5]
        ids = [name for name in event_ids(harness.make()) if name.startswith("turn-")]
        assert ids == [f"turn-{number}" for number in kept]
        said = [one.content for one in harness.make().load(ID).turns]
        assert said.count("And this?") == (damaged == "events of an edited text")
        assert list(harness.root.rglob("*.corrupt"))

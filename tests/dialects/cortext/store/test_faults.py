"""Each system call of each operation fails, once and for good: an honest success or a typed error, nothing lost."""

from __future__ import annotations

import errno
import shutil
from functools import partial
from typing import TYPE_CHECKING

import pytest

from segue.dialects.cortext.store import CortextStore
from segue.errors import DiskFullError, SegueError, WriterStoppedError
from segue.model import Head
from segue.store import Examination
from segue.testing.conformance.chapter import create_and_close, create_session, event_ids
from segue.testing.events import status, turn, turns
from segue.testing.failing import SHORT, FailingKernel, Fault, WatchedKernel
from segue.testing.harness import snapshot_of
from segue.testing.harness_cortext import CortextHarness
from tests.support.faults import attempt, each_fault
from tests.support.journals import descriptors, temporaries

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from segue.dialects.cortext.store.writer import CortextWriter

ERRORS = (errno.EIO, errno.ENOSPC, SHORT)
FIRST = ["turn-1", "paused-0", "turn-2"]

WRITING: dict[str, Callable[[CortextWriter], object]] = {
    "a turn": lambda writer: writer.append(turn(90), ids_are_new=True),
    "a turn with its id": lambda writer: writer.append(turn(90)),
    "turns": lambda writer: writer.append(*turns(90, 92), ids_are_new=True),
    "a status": lambda writer: writer.append(status("completed", 90), ids_are_new=True),
    "both": lambda writer: writer.append(turn(90), status("active", 90), turn(91)),
}
ADDED = {"turns": 3, "both": 3}

READING: dict[str, Callable[[CortextStore], object]] = {
    "load": lambda store: store.load("sound"),
    "examine": lambda store: store.examine("damaged"),
    "heads": lambda store: sorted(store.heads(), key=lambda head: head.id),
    "head": lambda store: store.head("sound"),
    "overview": lambda store: store.overview("sound"),
    "tail": lambda store: store.tail("long", 3),
    "read": lambda store: list(store.read("sound", after=2)),
    "ids": lambda store: sorted(store.ids()),
    "owner": lambda store: store.owner("sound"),
}


@pytest.fixture
def prepared(root: Path) -> Path:
    harness = CortextHarness(root)
    store = harness.make()
    for name in ("sound", "other", "damaged", "torn"):
        create_and_close(store, turn(1), status("paused"), turn(2), session_id=name)
    create_and_close(store, *turns(1, 40), session_id="long")
    harness.damage("damaged", "turn-1")
    harness.tear("torn", turn(3))
    return harness.root


@pytest.fixture
def copies(prepared: Path, root: Path) -> Callable[[Fault | str], Path]:
    def copy(fault: Fault | str) -> Path:
        shutil.copytree(prepared, root / str(fault))
        return root / str(fault)

    return copy


def calls_of(root: Path, run: Callable[[CortextStore], object]) -> int:
    kernel = WatchedKernel()
    run(CortextStore(str(root), kernel=kernel))
    return len(kernel.calls)


def goes_on(root: Path, session_id: str, there: list[str]) -> None:
    """The claim behind every fault: a new writer gets the lock at once, its append is there, and so is all that was."""
    store = CortextStore(str(root))
    with store.open(session_id, timeout_seconds=0) as writer:
        writer.append(turn(900), ids_are_new=True)
    assert event_ids(store, session_id) == [*there, "turn-900"]
    assert store.examine(session_id).damages == ()
    assert event_ids(store, "other") == FIRST


@pytest.mark.parametrize("name", WRITING)
def test_an_append_that_raises_is_not_there_and_one_that_returns_is(
    copies: Callable[[Fault | str], Path], name: str
) -> None:
    for fault in each_fault(14, ERRORS):
        folder = copies(fault)
        kernel = FailingKernel()
        open_before = descriptors()
        writer = CortextStore(str(folder), kernel=kernel).open("sound", timeout_seconds=0)
        kernel.arm(fault)
        _, error = attempt(fault, partial(WRITING[name], writer))
        kernel.mend()
        there = error is None
        is_undone = not {"ftruncate", "rename", "unlink"} & set(kernel.failed)
        if isinstance(error, DiskFullError) and set(kernel.failed) <= {"write"}:
            WRITING[name](writer)
            there = True
        writer.close()
        assert descriptors() == open_before, fault
        found = event_ids(CortextStore(str(folder)), "sound")
        assert found[:3] == FIRST, fault
        if there or is_undone:
            assert len(found) == 3 + there * ADDED.get(name, 1), (fault, kernel.calls)
        else:  # the disk refused the undoing as well: whole or not at all is what is left to promise
            assert len(found) in {3, 3 + ADDED.get(name, 1)}, fault
        assert temporaries(folder) == [] or "unlink" in kernel.failed, fault
        goes_on(folder, "sound", found)


def test_a_writer_that_met_an_io_error_takes_nothing_more(copies: Callable[[Fault | str], Path]) -> None:
    folder = copies("stopped")
    kernel = FailingKernel()
    with CortextStore(str(folder), kernel=kernel).open("sound", timeout_seconds=0) as writer:
        kernel.arm(Fault(at=1, error=errno.EIO))
        with pytest.raises(SegueError):
            writer.append(turn(90), ids_are_new=True)
        for attempted in (partial(writer.append, turn(91)), partial(writer.put_blob, b"")):
            with pytest.raises(WriterStoppedError):
                attempted()
    assert event_ids(CortextStore(str(folder)), "sound") == FIRST


@pytest.mark.parametrize("name", READING)
def test_reading_gives_the_truth_or_says_that_it_cannot_and_writes_nothing(
    prepared: Path, copies: Callable[[Fault | str], Path], name: str
) -> None:
    run = READING[name]
    true = run(CortextStore(str(prepared)))
    calls = calls_of(copies("counted"), run)
    before = snapshot_of(prepared)
    for fault in each_fault(calls, ERRORS):
        open_before = descriptors()
        found, error = attempt(fault, partial(run, CortextStore(str(prepared), kernel=FailingKernel(fault))))
        assert descriptors() == open_before, fault
        assert error is not None or found == true or says_what_is_wrong(found), (fault, found)
    assert snapshot_of(prepared) == before


def says_what_is_wrong(found: object) -> bool:
    match found:
        case Examination(damages=damages):
            return bool(damages)
        case [*heads]:
            return any(isinstance(head, Head) and head.damage for head in heads)
        case Head(damage=damage):
            return bool(damage)
    return False


def test_a_session_is_created_whole_or_not_at_all(copies: Callable[[Fault | str], Path]) -> None:
    def create(store: CortextStore) -> None:
        create_session(store, turn(1), status("paused"), turn(2), session_id="2026-01-02-001-plan-x").close()

    for fault in each_fault(calls_of(copies("counted"), create), ERRORS):
        folder = copies(fault)
        kernel = FailingKernel(fault)
        open_before = descriptors()
        _, error = attempt(fault, partial(create, CortextStore(str(folder), kernel=kernel)))
        assert descriptors() == open_before, fault
        store = CortextStore(str(folder))
        if error is not None and "2026-01-02-001-plan-x" not in set(store.ids()):
            assert not list(folder.glob("conversations/2026*")) or kernel.failed, fault
            create(store)
        assert event_ids(store, "2026-01-02-001-plan-x") == FIRST, fault
        assert temporaries(folder) == [] or "unlink" in kernel.failed, fault
        goes_on(folder, "2026-01-02-001-plan-x", FIRST)


def test_deleting_removes_a_session_whole_or_leaves_it_whole(copies: Callable[[Fault | str], Path]) -> None:
    for fault in each_fault(calls_of(copies("counted"), lambda store: store.delete("sound")), ERRORS):
        folder = copies(fault)
        open_before = descriptors()
        attempt(fault, partial(CortextStore(str(folder), kernel=FailingKernel(fault)).delete, "sound"))
        assert descriptors() == open_before, fault
        store = CortextStore(str(folder))
        if "sound" in set(store.ids()):
            assert event_ids(store, "sound") == FIRST, fault
            store.delete("sound")
        create_and_close(store, turn(1), status("paused"), turn(2), session_id="sound")
        goes_on(folder, "sound", FIRST)


def test_recovery_that_fails_half_way_can_be_done_again(copies: Callable[[Fault | str], Path]) -> None:
    original = None
    for fault in each_fault(calls_of(copies("counted"), lambda store: store.recover("damaged")), ERRORS):
        folder = copies(fault)
        hidden = folder / "conversations" / "other" / "damaged" / ".session"
        original = (hidden / "messages.jsonl").read_bytes()
        open_before = descriptors()
        attempt(fault, partial(CortextStore(str(folder), kernel=FailingKernel(fault)).recover, "damaged"))
        assert descriptors() == open_before, fault
        store = CortextStore(str(folder))
        if store.examine("damaged").damages:
            store.recover("damaged")
        assert event_ids(store, "damaged") == FIRST[1:], fault
        assert original in [path.read_bytes() for path in hidden.glob("messages.jsonl*")], fault
        goes_on(folder, "damaged", FIRST[1:])
    assert original


@pytest.mark.parametrize("session_id", ["sound", "torn"])
def test_opening_that_fails_half_way_can_be_done_again(copies: Callable[[Fault | str], Path], session_id: str) -> None:
    def run(store: CortextStore) -> None:
        store.open(session_id, timeout_seconds=0).close()

    for fault in each_fault(calls_of(copies("counted"), run), ERRORS):
        folder = copies(fault)
        open_before = descriptors()
        attempt(fault, partial(run, CortextStore(str(folder), kernel=FailingKernel(fault))))
        assert descriptors() == open_before, fault
        assert event_ids(CortextStore(str(folder)), session_id) == FIRST, fault
        goes_on(folder, session_id, FIRST)
        fragments = list((folder / ".workspace" / "quarantine").glob("*.fragment"))
        assert len(fragments) == (session_id == "torn"), fault

"""Each system call of each operation fails, once and for good: an honest success or a typed error, nothing lost."""

from __future__ import annotations

import errno
from functools import partial
from typing import TYPE_CHECKING

import pytest

from segue.errors import DamagedError, DiskFullError, NotFoundError, WriterStoppedError
from segue.model import Head
from segue.store import Examination
from segue.stores.journal import JournalStore
from segue.testing.failing import SHORT, FailingKernel, Fault, WatchedKernel
from tests.support.faults import attempt, each_fault
from tests.support.journal_operations import BLOB, BLOB_NAME, FIRST, OTHERS, READING, WRITING, copy, create, prepare
from tests.support.journals import descriptors, goes_on, metadata, snapshot, temporaries, turn

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from segue.stores.journal.writer import JournalWriter

ERRORS = (errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, SHORT)


@pytest.fixture
def prepared(root: Path) -> Path:
    prepare(root / "prepared")
    return root / "prepared"


def count(prepared: Path, root: Path, run: Callable[[JournalStore], object]) -> int:
    kernel = WatchedKernel()
    run(JournalStore(str(copy(prepared, root)), kernel=kernel))
    return len(kernel.calls)


def ids(root: Path, session_id: str) -> tuple[str, ...]:
    return tuple(event.id for event in JournalStore(str(root)).read(session_id))


def nothing_else_is_touched(prepared: Path, root: Path, session_id: str, kernel: FailingKernel, fault: Fault) -> None:
    for path in prepared.glob("*.jsonl"):
        if path.stem != session_id:
            assert (root / path.name).read_bytes() == path.read_bytes(), fault
    assert temporaries(root) == [] or "unlink" in kernel.failed, fault


def reads_alone(kernel: FailingKernel) -> bool:
    """Whether the fault came before anything was written, so that the writer knows where it is."""
    return not {"write", "fdatasync"} & set(kernel.failed)


def takes_nothing_more(writer: JournalWriter) -> None:
    with pytest.raises(WriterStoppedError):
        writer.append(turn(99), ids_are_new=True)
    with pytest.raises(WriterStoppedError):
        writer.put_blob(b"")


@pytest.mark.parametrize("name", WRITING)
def test_an_append_that_raises_is_not_there_and_one_that_returns_is(prepared: Path, root: Path, name: str) -> None:
    for fault in each_fault(6, ERRORS):
        folder = copy(prepared, root / str(fault))
        kernel = FailingKernel()
        open_before = descriptors()
        writer = JournalStore(str(folder), kernel=kernel).open("sound", timeout_seconds=0)
        kernel.arm(fault)
        _, error = attempt(fault, partial(WRITING[name], writer))
        kernel.mend()
        undone = "ftruncate" not in kernel.failed
        there = error is None
        if isinstance(error, DiskFullError) and undone and "fdatasync" not in kernel.failed:
            WRITING[name](writer)
            there = True
        elif kernel.failed and error is not None and not reads_alone(kernel):
            takes_nothing_more(writer)
        writer.close()
        assert descriptors() == open_before, fault
        found = ids(folder, "sound")
        assert found[:3] == FIRST, fault
        if there or undone:
            assert len(found) == 3 + there * (3 if name == "append many" else 1), fault
        else:  # the disk refused the sync and the undoing: whole or not at all is what is left to promise
            assert len(found) in (3, 6 if name == "append many" else 4), fault
        nothing_else_is_touched(prepared, folder, "sound", kernel, fault)
        goes_on(folder, "sound")


def test_a_blob_that_was_not_acknowledged_is_whole_or_missing(prepared: Path, root: Path) -> None:
    kernel = WatchedKernel()
    with JournalStore(str(copy(prepared, root / "counted")), kernel=kernel).open("sound") as writer:
        before = len(kernel.calls)
        name = writer.put_blob(b"another" * 50)
        calls = len(kernel.calls) - before
    for fault in each_fault(calls, ERRORS):
        folder = copy(prepared, root / str(fault))
        failing = FailingKernel()
        open_before = descriptors()
        store = JournalStore(str(folder))
        with JournalStore(str(folder), kernel=failing).open("sound", timeout_seconds=0) as writer:
            failing.arm(fault)
            _, error = attempt(fault, partial(writer.put_blob, b"another" * 50))
            failing.mend()
            if error is None:
                assert store.get_blob("sound", name) == b"another" * 50, fault
            else:
                found, missing = attempt(fault, partial(store.get_blob, "sound", name))
                assert isinstance(missing, NotFoundError) or found == b"another" * 50, fault
            assert writer.put_blob(b"another" * 50) == name, fault
        assert store.get_blob("sound", name) == b"another" * 50, fault
        assert store.get_blob("sound", BLOB_NAME) == BLOB, fault
        assert descriptors() == open_before, fault
        nothing_else_is_touched(prepared, folder, "sound", failing, fault)
        goes_on(folder, "sound")


def test_closing_lets_go_whatever_fails(prepared: Path, root: Path) -> None:
    for fault in each_fault(6, ERRORS):
        folder = copy(prepared, root / str(fault))
        kernel = FailingKernel()
        open_before = descriptors()
        writer = JournalStore(str(folder), kernel=kernel).open("sound", timeout_seconds=0)
        kernel.arm(fault)
        attempt(fault, writer.close)
        assert descriptors() == open_before, fault
        assert JournalStore(str(folder)).owner("sound") is None, fault
        goes_on(folder, "sound")


@pytest.mark.parametrize("name", READING)
def test_reading_gives_the_truth_or_a_typed_error(prepared: Path, root: Path, name: str) -> None:
    _, run = OTHERS[name]
    true = run(JournalStore(str(prepared)))
    before = snapshot(prepared)
    for fault in each_fault(count(prepared, root / "counted", run), ERRORS):
        kernel = FailingKernel(fault)
        store = JournalStore(str(prepared), kernel=kernel)
        open_before = descriptors()
        found, error = attempt(fault, partial(run, store))
        assert descriptors() == open_before, fault
        assert error is not None or found == true or says_what_is_wrong(found), (fault, kernel.calls, found)
    assert snapshot(prepared) == before


def says_what_is_wrong(found: object) -> bool:
    match found:
        case Examination(damages=damages):
            return bool(damages)
        case [*heads]:
            return any(isinstance(head, Head) and head.damage for head in heads)
        case Head(damage=damage):
            return bool(damage)
    return False


def test_a_session_is_created_whole_or_not_at_all(prepared: Path, root: Path) -> None:
    for empty in (False, True):  # also where even the root has to be made
        start = root / "nothing" if empty else prepared
        start.mkdir(exist_ok=True)
        where = "below/here" if empty else ""
        kernel = WatchedKernel()
        create(JournalStore(str(copy(start, root / f"counted-{empty}") / where), kernel=kernel))
        for fault in each_fault(len(kernel.calls), ERRORS):
            folder = copy(start, root / f"{fault} {empty}") / where
            failing = FailingKernel(fault)
            open_before = descriptors()
            store = JournalStore(str(folder))
            _, error = attempt(fault, partial(create, JournalStore(str(folder), kernel=failing)))
            assert descriptors() == open_before, fault
            if error is None:
                assert ids(folder, "new") == FIRST, fault
            elif list(store.ids()).count("new"):
                assert "unlink" in failing.failed, fault
                assert ids(folder, "new") == FIRST, fault
            else:
                create(store)
            nothing_else_is_touched(start, folder, "new", failing, fault)
            goes_on(folder, "new")


def test_deleting_removes_a_session_whole_or_leaves_it_whole(prepared: Path, root: Path) -> None:
    _, run = OTHERS["delete"]
    for fault in each_fault(count(prepared, root / "counted", run), ERRORS):
        folder = copy(prepared, root / str(fault))
        kernel = FailingKernel(fault)
        open_before = descriptors()
        _, error = attempt(fault, partial(run, JournalStore(str(folder), kernel=kernel)))
        assert descriptors() == open_before, fault
        nothing_else_is_touched(prepared, folder, "sound", kernel, fault)
        store = JournalStore(str(folder))
        if error is not None and "sound" in list(store.ids()):
            assert ids(folder, "sound") == FIRST, fault
            assert store.get_blob("sound", BLOB_NAME) == BLOB, fault
            store.delete("sound")
        assert "sound" not in list(store.ids()), fault
        with store.create("sound", [metadata("sound")]):
            pass
        assert ids(folder, "other") == FIRST, fault
        assert store.get_blob("other", BLOB_NAME) == BLOB, fault


def test_recovery_that_fails_half_way_can_be_done_again(prepared: Path, root: Path) -> None:
    _, run = OTHERS["recover"]
    original = (prepared / "damaged.jsonl").read_bytes()
    JournalStore(str(copy(prepared, root / "sound"))).recover("damaged")
    recovered = (root / "sound" / "damaged.jsonl").read_bytes()
    for fault in each_fault(count(prepared, root / "counted", run), ERRORS):
        folder = copy(prepared, root / str(fault))
        kernel = FailingKernel(fault)
        open_before = descriptors()
        attempt(fault, partial(run, JournalStore(str(folder), kernel=kernel)))
        assert descriptors() == open_before, fault
        assert (folder / "damaged.jsonl").read_bytes() in (original, recovered), fault
        store = JournalStore(str(folder))
        if store.examine("damaged").damages:
            store.recover("damaged")
        assert (folder / "damaged.jsonl").read_bytes() == recovered, fault
        assert [path.read_bytes() for path in folder.glob("damaged.jsonl.corrupt*")] == [original], fault
        nothing_else_is_touched(prepared, folder, "damaged", kernel, fault)
        goes_on(folder, "damaged")


@pytest.mark.parametrize("name", ["open", "open what was left", "open with a torn tail"])
def test_opening_that_fails_half_way_can_be_done_again(prepared: Path, root: Path, name: str) -> None:
    session_id, run = OTHERS[name]
    held = ids(prepared, session_id)
    for fault in each_fault(count(prepared, root / "counted", run), ERRORS):
        folder = copy(prepared, root / str(fault))
        kernel = FailingKernel(fault)
        open_before = descriptors()
        attempt(fault, partial(run, JournalStore(str(folder), kernel=kernel)))
        assert descriptors() == open_before, fault
        assert ids(folder, session_id) == held, fault
        nothing_else_is_touched(prepared, folder, session_id, kernel, fault)
        goes_on(folder, session_id)
        assert ids(folder, session_id)[: len(held)] == held, fault
        if name == "open with a torn tail":
            assert len(list((folder / ".quarantine").glob("*.fragment"))) == 1, fault


def test_damage_that_opening_meets_is_not_set_aside(prepared: Path, root: Path) -> None:
    """A damaged end is no torn end: whatever a failing read makes of it, no byte moves."""
    folder = copy(prepared, root / "damaged end")
    path = folder / "damaged.jsonl"
    path.write_bytes(path.read_bytes()[:-3] + b"~" + path.read_bytes()[-2:])
    before = path.read_bytes()
    with pytest.raises(DamagedError):
        JournalStore(str(folder)).open("damaged", timeout_seconds=0)
    assert path.read_bytes() == before

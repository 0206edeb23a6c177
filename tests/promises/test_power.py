"""The power goes after every system call: what was acknowledged survives, and whole files are old or new."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from segue.errors import SegueError
from segue.stores.journal import JournalStore
from segue.testing.power import Disk, KilledError, PowerKernel
from tests.support.journal_operations import BLOB, BLOB_NAME, FIRST, OTHERS, WRITING, copy, create, prepare
from tests.support.journals import goes_on, metadata, turn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Act = Callable[[JournalStore], object]


@pytest.fixture
def prepared(root: Path) -> Path:
    prepare(root / "prepared")
    return root / "prepared"


class Machine:
    """A folder on a disk, and processes that use it one after the other."""

    def __init__(self, root: Path, *, below: str = "") -> None:
        self.root = root
        self._below = below
        self._disk = Disk(str(root))

    def run(self, act: Act, *, dies_at: int = 0) -> bool:
        """Whether it came to its end."""
        kernel = PowerKernel(self._disk).die_at(dies_at)
        try:
            act(self._store(kernel))
        except KilledError:
            return False
        kernel.die()
        return True

    def count(self, act: Act) -> int:
        kernel = PowerKernel(self._disk)
        act(self._store(kernel))
        kernel.die()
        return kernel.calls

    def cut_power(self) -> JournalStore:
        self._disk.cut()
        return JournalStore(str(self.root / self._below))

    def _store(self, kernel: PowerKernel) -> JournalStore:
        return JournalStore(str(self.root / self._below), kernel=kernel)


def each_death(start: Path, root: Path, act: Act, *, below: str = "") -> Iterator[tuple[int, Machine]]:
    """A fresh machine for every call of an operation, and one more that survives it."""
    calls = Machine(copy(start, root / "counted"), below=below).count(act)
    for at in range(1, calls + 2):
        yield at, Machine(copy(start, root / f"dies at {at}"), below=below)


def ids(store: JournalStore, session_id: str) -> tuple[str, ...]:
    return tuple(event.id for event in store.read(session_id))


def appending(name: str) -> Act:
    def act(store: JournalStore) -> None:
        with store.open("sound", timeout_seconds=0) as writer:
            WRITING[name](writer)

    return act


def add(session_id: str) -> Act:
    def act(store: JournalStore) -> None:
        with store.open(session_id, timeout_seconds=0) as writer:
            writer.append(turn(500), ids_are_new=True)

    return act


@pytest.mark.parametrize("name", WRITING)
def test_an_acknowledged_append_survives(prepared: Path, root: Path, name: str) -> None:
    many = 3 if name == "append many" else 1
    for at, machine in each_death(prepared, root, appending(name)):
        is_done = machine.run(appending(name), dies_at=at)
        store = machine.cut_power()
        found = ids(store, "sound")
        assert found[:3] == FIRST, at
        assert len(found) == 3 + many if is_done else len(found) in (3, 3 + many), at
        goes_on(machine.root, "sound")


@pytest.mark.parametrize("below", ["", "made/for/it"])
def test_a_created_session_survives_with_the_folders_above_it(root: Path, below: str) -> None:
    (root / "empty").mkdir()
    for at, machine in each_death(root / "empty", root, create, below=below):
        is_done = machine.run(create, dies_at=at)
        store = machine.cut_power()
        assert list(store.ids()) == ["new"] if is_done else list(store.ids()) in ([], ["new"]), at
        if "new" not in list(store.ids()):
            create(store)
        assert ids(store, "new") == FIRST, at
        goes_on(machine.root / below, "new")


def test_creation_can_be_done_again_after_a_kill(root: Path) -> None:
    (root / "empty").mkdir()
    for at, machine in each_death(root / "empty", root, create):
        machine.run(create, dies_at=at)
        assert machine.run(go_on_with_new), at
        assert ids(JournalStore(str(machine.root)), "new") == (*FIRST, "t-500"), at


@pytest.mark.parametrize("below", ["", "made/for/it"])
def test_what_is_appended_after_a_kill_in_creation_survives(root: Path, below: str) -> None:
    """The killed process synced nothing more, so whoever goes on must not rely on it."""
    (root / "empty").mkdir()
    for at, machine in each_death(root / "empty", root, create, below=below):
        machine.run(create, dies_at=at)
        machine.run(go_on_with_new)
        store = machine.cut_power()
        assert list(store.ids()) == ["new"], at
        assert ids(store, "new") == (*FIRST, "t-500"), at


def go_on_with_new(store: JournalStore) -> None:
    if "new" not in list(store.ids()):
        create(store)
    add("new")(store)


def test_a_torn_tail_set_aside_is_in_one_of_the_two_places(prepared: Path, root: Path) -> None:
    held = ids(JournalStore(str(prepared)), "torn")
    fragment = (prepared / "torn.jsonl").read_bytes()
    for at, machine in each_death(prepared, root, add("torn")):
        is_done = machine.run(add("torn"), dies_at=at)
        store = machine.cut_power()
        found = ids(store, "torn")
        assert found[: len(held)] == held, at
        assert found[len(held) :] == ("t-500",) if is_done else found[len(held) :] in ((), ("t-500",)), at
        kept = [path.read_bytes() for path in (machine.root / ".quarantine").glob("*.fragment")]
        assert (machine.root / "torn.jsonl").read_bytes() == fragment or (kept and fragment.endswith(kept[0])), at
        goes_on(machine.root, "torn")


def test_a_fragment_survives_a_kill_in_setting_it_aside(prepared: Path, root: Path) -> None:
    torn = (prepared / "torn.jsonl").read_bytes()
    for at, machine in each_death(prepared, root, add("torn")):
        machine.run(add("torn"), dies_at=at)
        machine.run(add("torn"))
        machine.cut_power()
        kept = [path.read_bytes() for path in (machine.root / ".quarantine").glob("*.fragment")]
        assert len(kept) == 1, at
        assert torn.endswith(kept[0]), at


def test_recovery_leaves_the_damaged_or_the_recovered_and_never_loses_the_original(prepared: Path, root: Path) -> None:
    _, recover = OTHERS["recover"]
    original = (prepared / "damaged.jsonl").read_bytes()
    for at, machine in each_death(prepared, root, recover):
        is_done = machine.run(recover, dies_at=at)
        store = machine.cut_power()
        is_old = (machine.root / "damaged.jsonl").read_bytes() == original
        assert not (is_done and is_old), at
        assert is_old or (machine.root / "damaged.jsonl.corrupt").read_bytes() == original, at
        if is_old:
            store.recover("damaged")
        store.load("damaged")
        goes_on(machine.root, "damaged")


def test_deletion_is_old_or_new(prepared: Path, root: Path) -> None:
    _, delete = OTHERS["delete"]
    for at, machine in each_death(prepared, root, delete):
        is_done = machine.run(delete, dies_at=at)
        store = machine.cut_power()
        assert not is_done or "sound" not in list(store.ids()), at
        if "sound" in list(store.ids()):
            assert ids(store, "sound") == FIRST, at
        assert ids(store, "other") == FIRST, at


def keep_blob(store: JournalStore) -> None:
    with store.create("fresh", [metadata("fresh")]) as writer:
        assert writer.put_blob(BLOB) == BLOB_NAME


def keep_it_again(store: JournalStore) -> None:
    if "fresh" not in list(store.ids()):
        store.create("fresh", [metadata("fresh")]).close()
    with store.open("fresh", timeout_seconds=0) as writer:
        assert writer.put_blob(BLOB) == BLOB_NAME


def test_an_acknowledged_blob_survives(root: Path) -> None:
    (root / "empty").mkdir()
    for at, machine in each_death(root / "empty", root, keep_blob):
        is_done = machine.run(keep_blob, dies_at=at)
        store = machine.cut_power()
        with suppress(SegueError):
            assert store.get_blob("fresh", BLOB_NAME) == BLOB, at
        assert not is_done or store.get_blob("fresh", BLOB_NAME) == BLOB, at


def test_a_blob_that_is_kept_again_after_a_kill_survives(root: Path) -> None:
    (root / "empty").mkdir()
    for at, machine in each_death(root / "empty", root, keep_blob):
        machine.run(keep_blob, dies_at=at)
        machine.run(keep_it_again)
        store = machine.cut_power()
        assert store.get_blob("fresh", BLOB_NAME) == BLOB, at

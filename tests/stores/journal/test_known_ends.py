"""A store that has seen a journal before answers as one that sees it for the first time, whatever happened between."""

from __future__ import annotations

import errno
import os
import random
import threading
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from segue.durable.kernel import Kernel
from segue.errors import ConflictError, DamagedError, DiskFullError, SegueError
from segue.model import BranchCreated, Record, StatusChanged
from segue.store import Durability
from segue.stores.journal import JournalStore
from segue.stores.journal.file import journal_name
from segue.stores.journal.known_ends import _MOST_IDS, _MOST_SESSIONS, FileState, KnownEnd, KnownEnds
from segue.testing.power import Disk, PowerKernel
from tests.support.journals import START, metadata, turn

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from segue.model import Event

ID = "x"


def write(store: JournalStore, *numbers: int, new: bool = True) -> None:
    with store.open(ID, timeout_seconds=0) as writer:
        writer.append(*[turn(number, "text " * 9) for number in numbers], ids_are_new=new)


def create(store: JournalStore, *numbers: int) -> None:
    with store.create(ID, [metadata(ID), *[turn(number, "text " * 9) for number in numbers]]):
        pass


def later(path: Path) -> None:
    """As if the change before had been made a while later than the last one."""
    found = path.stat()
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns + 1_000_000))


def long_ago(path: Path) -> None:
    os.utime(path, ns=(0, 1_000_000_000))


def answers(store: JournalStore) -> list[object]:
    """What every way to read gives, or how it fails."""
    calls: list[Callable[[], object]] = [
        lambda: store.overview(ID),
        lambda: store.tail(ID, 5),
        lambda: store.load(ID),
        *[partial(read, store, after) for after in (0, 1, 20, 100_000)],
        lambda: store.overview(ID),
    ]
    return [attempt(call) for call in calls]


def read(store: JournalStore, after: int) -> list[Event]:
    return list(store.read(ID, after=after))


def attempt(call: Callable[[], object]) -> object:
    try:
        return call()
    except SegueError as error:
        return type(error), str(error)


class World:
    """Two stores that have seen the session, as in two processes, and everything that others may do to its file."""

    def __init__(self, root: Path, seed: int) -> None:
        self._choice = random.Random(seed)
        self.root = root
        self.stores = [JournalStore(str(root), durability=Durability.WRITTEN) for _ in range(2)]
        self.path = root / journal_name(ID)
        self._number = 0
        create(self.stores[0], 0)

    def step(self) -> str:
        name = self._choice.choice([name for name in vars(World) if name.startswith("do_")])
        with suppress(SegueError, FileNotFoundError):  # a damaged session refuses
            getattr(self, name)()
        return name

    def next(self) -> int:
        self._number += 1
        return self._number

    def any_store(self) -> JournalStore:
        return self._choice.choice(self.stores)

    def do_append(self) -> None:
        write(self.any_store(), self.next())

    def do_append_many(self) -> None:
        write(self.any_store(), *[self.next() for _ in range(self._choice.randrange(2, 60))])

    def do_append_with_own_ids(self) -> None:
        write(self.any_store(), self.next(), max(1, self._number - self._choice.randrange(40)), new=False)

    def do_append_again(self) -> None:
        write(self.any_store(), self.next(), self._number, new=False)

    def do_fork_and_record(self) -> None:
        number = self.next()
        with self.any_store().open(ID, timeout_seconds=0) as writer:
            writer.append(
                BranchCreated(name=f"b-{number}", parent=writer.branch, at=1, timestamp=START, id=f"b-{number}"),
                Record(kind="k", name="state", data={"n": number}, timestamp=START, id=f"r-{number}"),
            )

    def do_only_open(self) -> None:
        with self.any_store().open(ID, timeout_seconds=0):
            pass

    def do_tear(self) -> None:
        """A process is killed in its append."""
        with self.path.open("ab") as file:
            file.write(b'{"type":"turn","role":"user","cont')

    def do_add_foreign_line(self) -> None:
        with self.path.open("ab") as file:
            file.write(b'{"type":"turn","role":"user","content":"by hand"}' + self._choice.choice([b"", b"\n"]))

    def do_edit_in_place(self) -> None:
        data = bytearray(self.path.read_bytes())
        at = self._choice.randrange(max(0, len(data) - 3000), len(data))
        data[at] ^= 1
        self.path.write_bytes(data)
        later(self.path)

    def do_edit_and_add_in_place(self) -> None:
        data = self.path.read_bytes()
        self.path.write_bytes(data.replace(b"text ", b"TEXT ") + b'{"type":"turn","role":"user","content":"more"}\n')

    def do_touch(self) -> None:
        later(self.path)

    def do_age(self) -> None:
        long_ago(self.path)

    def do_replace_by_an_older_one(self) -> None:
        data = self.path.read_bytes()
        self.path.unlink()
        self.path.write_bytes(data[: data.rfind(b"\n", 0, len(data) // 2) + 1] or data)

    def do_delete_and_create(self) -> None:
        self.any_store().delete(ID)
        create(self.any_store(), self.next())

    def do_discard_and_restore(self) -> None:
        trash = self.any_store().trash
        assert trash is not None
        trash.restore(trash.put(ID))

    def do_recover(self) -> None:
        self.any_store().recover(ID)

    def do_repair(self) -> None:
        """So that the rest of the steps has something to work on."""
        for store in self.stores:
            with suppress(SegueError):
                store.recover(ID)


@pytest.mark.parametrize("seed", range(6))
def test_every_answer_is_that_of_a_store_that_knows_nothing(tmp_path: Path, seed: int) -> None:
    world = World(tmp_path, seed)
    steps: list[str] = []
    for _ in range(40):
        steps.append(world.step())
        expected = answers(JournalStore(str(tmp_path)))
        for store in world.stores:
            assert answers(store) == expected, steps


@pytest.mark.parametrize("seed", range(6))
def test_a_writer_accepts_and_refuses_what_one_that_knows_nothing_does(tmp_path: Path, seed: int) -> None:
    """What is known must not let a writer into a session whose end is damaged, nor record an event twice."""
    world = World(tmp_path / "warm", seed)
    for _ in range(40):
        world.step()
        if not world.path.exists():
            continue
        (tmp_path / "cold").mkdir(exist_ok=True)
        (tmp_path / "cold" / journal_name(ID)).write_bytes(world.path.read_bytes())
        repeated = world.next() - 1
        outcomes = [
            attempt(partial(write, store, repeated, new=False))
            for store in (world.any_store(), JournalStore(str(tmp_path / "cold")))
        ]
        if outcomes[0] != outcomes[1]:  # an id is looked up in what was sound when it was read: the end is checked
            assert outcomes[0] is None
            assert outcomes[1] is not None
            assert b"TEXT" in world.path.read_bytes()
            continue
        assert world.path.read_bytes() == (tmp_path / "cold" / journal_name(ID)).read_bytes()


def test_an_event_of_another_process_is_known_by_its_id(tmp_path: Path) -> None:
    one, other = JournalStore(str(tmp_path)), JournalStore(str(tmp_path))
    create(one)
    for number in range(1, 30):
        write(one if number % 2 else other, number, new=False)
        write(other if number % 2 else one, number, new=False)
    assert [event.id for event in one.read(ID)] == ["m-1", *[f"t-{number}" for number in range(1, 30)]]
    with one.open(ID) as writer, pytest.raises(ConflictError):
        writer.append(turn(29, "something else"))


def test_an_append_that_was_undone_is_not_known(tmp_path: Path) -> None:
    """A reader sees it for a moment; the id must be free afterwards."""

    class Interrupted(Kernel):
        on = False

        def fdatasync(self, fd: int) -> None:  # type: ignore[override]
            if self.on:
                reader.overview(ID)
                store.overview(ID)
                raise KeyboardInterrupt
            os.fdatasync(fd)

    kernel = Interrupted()
    store, reader = JournalStore(str(tmp_path), kernel=kernel), JournalStore(str(tmp_path))
    create(store)
    write(store, 1, new=False)
    kernel.on = True
    with pytest.raises(KeyboardInterrupt):
        write(store, 2, new=False)
    kernel.on = False
    write(store, 2, new=False)
    assert [event.id for event in JournalStore(str(tmp_path)).read(ID)] == ["m-1", "t-1", "t-2"]
    assert reader.overview(ID) == store.overview(ID) == JournalStore(str(tmp_path)).overview(ID)


def test_what_a_caller_changes_in_an_overview_is_its_own(tmp_path: Path) -> None:
    store = JournalStore(str(tmp_path))
    create(store)
    with store.open(ID) as writer:
        writer.append(Record(kind="k", name="state", data={"n": 1}, timestamp=START, id="r-1"))
    long_ago(tmp_path / journal_name(ID))
    for _ in range(3):
        store.overview(ID).records["state"].data["n"] = 2
        with store.open(ID) as writer:
            writer.overview.records["state"].data["n"] = 3
    assert store.overview(ID).records["state"].data == {"n": 1}


def test_what_was_changed_for_an_append_that_failed_is_not_known(tmp_path: Path) -> None:
    class Full(Kernel):
        on = False

        def write(self, fd: int, data: bytes) -> int:  # type: ignore[override]
            if self.on:
                raise OSError(errno.ENOSPC, "full")
            return os.write(fd, data)

    kernel = Full()
    store = JournalStore(str(tmp_path), kernel=kernel)
    create(store)
    with store.open(ID) as writer:
        writer.append(Record(kind="k", name="state", data={"n": 1}, timestamp=START, id="r-1"))
        state = writer.overview.records["state"]
        state.data["n"] = 2
        kernel.on = True
        with pytest.raises(DiskFullError):
            writer.append(replace(state, id="r-2"))
        kernel.on = False
    assert store.overview(ID).records["state"].data == {"n": 1}


def test_an_edit_at_the_end_is_found_although_more_was_added_since(tmp_path: Path) -> None:
    store = JournalStore(str(tmp_path))
    create(store, *range(1, 16))
    write(store, 16)
    path = tmp_path / journal_name(ID)
    data = path.read_bytes()
    path.write_bytes(data.replace(b"text ", b"TEXT ", 1) + b'{"type":"turn","role":"user","content":"more"}\n')
    with pytest.raises(DamagedError):
        store.open(ID)


class Counting(Kernel):
    def __init__(self) -> None:
        self.read_bytes = 0
        self.opened = 0

    def pread(self, fd: int, size: int, offset: int) -> bytes:
        data = os.pread(fd, size, offset)
        self.read_bytes += len(data)
        return data

    def open(self, path: str, flags: int, mode: int = 0o777) -> int:  # type: ignore[override]
        self.opened += 1
        return os.open(path, flags, mode)


def test_a_session_is_read_once_however_often_it_is_opened(tmp_path: Path) -> None:
    kernel = Counting()
    store = JournalStore(str(tmp_path), kernel=kernel, durability=Durability.WRITTEN)
    create(store, *range(1, 2000))
    write(store, 2000, new=False)
    other = JournalStore(str(tmp_path), durability=Durability.WRITTEN)
    kernel.read_bytes = 0
    for number in range(2001, 2101, 2):
        write(store, number, new=False)
        write(other, number + 1)
    assert kernel.read_bytes < 50 * 8_000


def test_an_unchanged_session_is_not_even_opened(tmp_path: Path) -> None:
    kernel = Counting()
    store = JournalStore(str(tmp_path), kernel=kernel)
    create(store, *range(1, 50))
    with store.open(ID) as writer:
        writer.append(StatusChanged(status="paused", timestamp=START, id="s-1"))
    path = tmp_path / journal_name(ID)
    until_settled(path)
    before = store.overview(ID)
    kernel.opened = 0
    assert store.overview(ID) == before
    assert not list(store.read(ID, after=before.seq))
    assert kernel.opened == 0
    later(path)
    assert store.overview(ID) == before
    assert kernel.opened == 1


def until_settled(path: Path) -> None:
    """Wait until the clock of the file system has moved on: no program can set the ctime."""
    while not FileState.of(path.stat()).is_settled():
        threading.Event().wait(0.01)


def test_few_sessions_are_remembered() -> None:
    ends = KnownEnds()
    for number in range(2 * _MOST_SESSIONS):
        recorded = {f"{number}-{at}": (1, 1) for at in range(_MOST_IDS // _MOST_SESSIONS)}
        ends.put(f"s-{number}", KnownEnd(FileState(1, 2, 3, 4, 5), b"", 1, 1, 0, b"", recorded=recorded))
    held = [number for number in range(2 * _MOST_SESSIONS) if ends.get(f"s-{number}") is not None]
    assert held == list(range(2 * _MOST_SESSIONS - len(held), 2 * _MOST_SESSIONS))
    assert _MOST_SESSIONS - 1 <= len(held) <= _MOST_SESSIONS


def test_a_name_that_another_process_left_unsynced_is_synced_before_an_append(tmp_path: Path) -> None:
    """The folder has changed, although this store synced it before."""
    disk = Disk(str(tmp_path))
    store = JournalStore(str(tmp_path), kernel=PowerKernel(disk))
    create(store)
    trash = store.trash
    assert trash is not None
    key = trash.put(ID)
    with store.create("y", [metadata("y")]):
        pass
    until_settled(tmp_path)
    with store.open("y"):
        pass  # the state of the folder is known from now on

    class Killed(PowerKernel):
        def fsync(self, fd: int) -> None:  # type: ignore[override]
            """It is killed before it syncs a folder."""

    killed = JournalStore(str(tmp_path), kernel=Killed(disk))
    assert killed.trash is not None
    killed.trash.restore(key)
    write(store, 1)
    disk.cut()
    assert [event.id for event in JournalStore(str(tmp_path)).read(ID)] == ["m-1", "t-1"]


def test_a_forked_child_knows_nothing_and_needs_no_lock_of_a_thread(tmp_path: Path) -> None:
    store = JournalStore(str(tmp_path))
    create(store)
    write(store, 1, new=False)
    with store._written._lock, store._seen._lock:
        child = os.fork()
        if child == 0:
            write(store, 2, new=False)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    write(store, 2, 3, new=False)
    assert [event.id for event in store.read(ID)] == ["m-1", "t-1", "t-2", "t-3"]

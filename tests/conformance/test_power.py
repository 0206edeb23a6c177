"""A process that dies at any call, and a disk that forgets what was not synced, cost nothing that was acknowledged."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from segue.errors import NotFoundError
from segue.testing.conformance.chapter import ID, create_session, event_ids
from segue.testing.events import status, turn, turns
from segue.testing.harness_journal import JournalHarness
from segue.testing.power import Disk, KilledError, PowerKernel

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from segue.store import Store

MORE_CALLS_THAN_NEEDED = 400


# ── The disk ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def kernel(tmp_path: Path) -> PowerKernel:
    (tmp_path / "there").write_bytes(b"before")
    return PowerKernel(Disk(str(tmp_path)))


def write(kernel: PowerKernel, path: Path, data: bytes, *, sync: bool) -> None:
    fd = kernel.open(str(path), os.O_RDWR | os.O_CREAT, 0o600)
    kernel.write(fd, data)
    if sync:
        kernel.fdatasync(fd)
    kernel.close(fd)


def sync(kernel: PowerKernel, folder: Path) -> None:
    fd = kernel.open(str(folder), os.O_RDONLY)
    kernel.fsync(fd)
    kernel.close(fd)


def cut(kernel: PowerKernel, folder: Path) -> dict[str, bytes]:
    kernel._disk.cut()
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_what_was_there_at_first_is_durable(kernel: PowerKernel, tmp_path: Path) -> None:
    assert cut(kernel, tmp_path) == {"there": b"before"}


def test_a_new_file_needs_its_content_and_its_name_synced(kernel: PowerKernel, tmp_path: Path) -> None:
    write(kernel, tmp_path / "neither", b"x", sync=False)
    write(kernel, tmp_path / "name", b"x", sync=False)
    write(kernel, tmp_path / "both", b"x", sync=True)
    kernel.unlink(str(tmp_path / "neither"))
    sync(kernel, tmp_path)
    write(kernel, tmp_path / "content", b"x", sync=True)
    assert cut(kernel, tmp_path) == {"there": b"before", "name": b"", "both": b"x"}


def test_a_change_of_content_needs_a_sync(kernel: PowerKernel, tmp_path: Path) -> None:
    write(kernel, tmp_path / "there", b"AFTER!", sync=False)
    assert cut(kernel, tmp_path) == {"there": b"before"}
    write(kernel, tmp_path / "there", b"AFTER!", sync=True)
    assert cut(kernel, tmp_path) == {"there": b"AFTER!"}


def test_renaming_linking_and_removing_need_a_sync_of_the_folder(kernel: PowerKernel, tmp_path: Path) -> None:
    there, away = str(tmp_path / "there"), str(tmp_path / "away")
    kernel.unlink(there)
    assert cut(kernel, tmp_path) == {"there": b"before"}
    kernel.rename(there, away)
    assert cut(kernel, tmp_path) == {"there": b"before"}
    kernel.link(there, away)
    assert cut(kernel, tmp_path) == {"there": b"before"}
    kernel.link(there, away)
    sync(kernel, tmp_path)
    assert cut(kernel, tmp_path) == {"there": b"before", "away": b"before"}
    assert (tmp_path / "there").samefile(tmp_path / "away")
    kernel.unlink(there)
    kernel.rename(away, str(tmp_path / "new"))
    sync(kernel, tmp_path)
    assert cut(kernel, tmp_path) == {"new": b"before"}


def test_a_folder_needs_its_own_name_synced(kernel: PowerKernel, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    kernel.mkdir(str(folder), 0o700)
    write(kernel, folder / "file", b"x", sync=True)
    sync(kernel, folder)
    assert cut(kernel, tmp_path) == {"there": b"before"}
    kernel.mkdir(str(folder), 0o700)
    sync(kernel, tmp_path)
    write(kernel, folder / "file", b"x", sync=True)
    assert cut(kernel, tmp_path) == {"there": b"before"}
    write(kernel, folder / "file", b"x", sync=True)
    sync(kernel, folder)
    assert cut(kernel, tmp_path) == {"there": b"before", "folder/file": b"x"}


# ── Dying at every call ──────────────────────────────────────────────────────────────────────────────────────────────


def converse(store: Store, told: list[str]) -> None:
    """A life with everything in it; what was acknowledged is told at once."""
    with create_session(store, turn(1)) as writer:
        told.append("turn-1")
        writer.append(turn(2), ids_are_new=True)
        told.append("turn-2")
        writer.append(*turns(3, 30))
        told += [event.id for event in turns(3, 30)]
        told.append(writer.put_blob(b"an image"))
        writer.append(status("paused"))
        told.append("paused-0")
    with store.open(ID) as writer:
        writer.append(turn(31))
        told.append("turn-31")


def go_on(store: Store, told: list[str]) -> None:
    """The life after: whatever is found, made anew if need be, and one turn more."""
    try:
        writer = store.open(ID)
    except NotFoundError:
        writer = create_session(store)
    with writer:
        told.append(writer.put_blob(b"an image"))
        writer.append(turn(100))
        told.append("turn-100")


def recover(store: Store, told: list[str]) -> None:
    if store.examine(ID).damages:
        store.recover(ID)
    told.append("recovered")


def delete(store: Store, told: list[str]) -> None:
    store.delete(ID)
    told.append("deleted")


def crash_points(
    place: Path, before: Callable[[JournalHarness], object], life: Callable[[Store, list[str]], None]
) -> list[tuple[JournalHarness, list[str]]]:
    """One world for each call at which that life can end, as it is when it has."""
    worlds: list[tuple[JournalHarness, list[str]]] = []
    for call in range(1, MORE_CALLS_THAN_NEEDED):
        folder = place / str(call)
        folder.mkdir(parents=True)
        harness, told = JournalHarness(folder), list[str]()
        before(harness)
        harness.kernel.die_at(harness.kernel.calls + call)
        try:
            life(harness.make(), told)
        except KilledError:
            worlds.append((harness, told))
        else:
            return worlds
    raise AssertionError("it makes more calls than that")


def found(store: Store, told: list[str]) -> list[str]:
    recorded = set(event_ids(store)) if ID in set(store.ids()) else set()
    blobs = [name for name in told if name.startswith("sha256:")]
    assert [store.get_blob(ID, name) for name in blobs] == [b"an image"] * len(blobs)
    return [name for name in told if name in recorded or name in blobs]


def test_dying_at_any_call_costs_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    for harness, told in crash_points(tmp_path, JournalHarness.make, converse):
        harness.kill()
        assert found(harness.make(), told) == told
        go_on(harness.make(), told)
        assert found(harness.make(), told) == told
        assert harness.make().examine(ID).damages == ()


def test_losing_power_at_any_call_costs_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    for harness, told in crash_points(tmp_path, JournalHarness.make, converse):
        harness.power_cut()
        assert found(harness.make(), told) == told
        go_on(harness.make(), told)
        assert found(harness.make(), told) == told
        assert harness.make().examine(ID).damages == ()


def test_losing_power_after_dying_at_any_call_costs_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    """What the dead left unsynced is in plain sight of the next writer, who must not rely on it."""
    for harness, told in crash_points(tmp_path, JournalHarness.make, converse):
        harness.kill()
        go_on(harness.make(), told)
        harness.power_cut()
        assert found(harness.make(), told) == told


def test_recovery_that_ends_at_any_call_can_be_done_again(tmp_path: Path) -> None:
    def damaged(harness: JournalHarness) -> None:
        create_session(harness.make(), *turns(1, 5)).close()
        harness.damage(ID, "turn-3")

    for harness, _ in crash_points(tmp_path, damaged, recover):
        harness.power_cut()
        recover(harness.make(), [])
        assert event_ids(harness.make()) == ["turn-1", "turn-2", "turn-4", "turn-5"]
        assert any(b"turn-3" in path.read_bytes() for path in harness.root.glob("*corrupt*"))


def test_deleting_that_ends_at_any_call_is_done_or_not(tmp_path: Path) -> None:
    def prepared(harness: JournalHarness) -> None:
        with create_session(harness.make(), turn(1)) as writer:
            writer.put_blob(b"an image")
        create_session(harness.make(), session_id=f"{ID}-2").close()

    for harness, _ in crash_points(tmp_path, prepared, delete):
        harness.power_cut()
        store = harness.make()
        if ID in set(store.ids()):
            assert event_ids(store) == ["turn-1"]
            store.delete(ID)
        assert list(store.ids()) == [f"{ID}-2"]
        create_session(store).close()
        store.delete(ID)

"""Deleting, restoring and erasing that end at any call: nothing is lost that was not erased, and nothing is left."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

from segue.errors import SegueError
from segue.testing.events import metadata, turn
from segue.testing.harness_cortext import CortextHarness
from segue.testing.harness_gptel import GptelHarness
from segue.testing.harness_journal import JournalHarness
from segue.testing.harness_soleur import SoleurHarness
from segue.testing.power import KilledError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from segue.store import Store
    from segue.testing.harness_file_store import FileStoreHarness

ID, OTHER = "login-bug", "login-bug-2"
SECRET = b"xyzzyplugh"
HARNESSES = [JournalHarness, SoleurHarness, CortextHarness, GptelHarness]
shelves = pytest.mark.parametrize("kind", HARNESSES, ids=lambda kind: kind.__name__.removesuffix("Harness").lower())
ends = pytest.mark.parametrize("end", ["kill", pytest.param("power_cut", marks=pytest.mark.long)])


def prepare(harness: FileStoreHarness) -> None:
    """A session with a secret in its text, in a blob, in a damaged original and in a fragment; and its neighbour."""
    store = harness.make()
    for session_id in (ID, OTHER):
        with store.create(session_id, [metadata(session_id), turn(1, SECRET.decode())]) as writer:
            writer.append(turn(2))
            writer.put_blob(SECRET + session_id.encode())
    harness.damage(ID, "turn-1")
    store.recover(ID)
    if not isinstance(harness, SoleurHarness):
        harness.tear(ID, turn(3, SECRET.decode() * 9))
        store.open(ID).close()


def crash_points(
    place: Path, kind: type[FileStoreHarness], act: Callable[[Store], object], before: Callable[[Store], object] = id
) -> Iterator[FileStoreHarness]:
    """A process that dies instead of each call of an operation, one after the other."""
    for at in itertools.count(1):
        folder = place / str(at)
        folder.mkdir()
        harness = kind(folder)
        prepare(harness)
        before(harness.make())
        store = harness.make()
        harness.kernel.die_at(harness.kernel.calls + at)
        try:
            act(store)
        except KilledError:
            yield harness
        else:
            assert at > 5
            return


def trash(store: Store) -> str:
    assert store.trash is not None
    return store.trash.put(ID)


def keys(store: Store) -> list[str]:
    assert store.trash is not None
    return sorted(entry.key for entry in store.trash.entries() if entry.head.id == ID)


def restore(store: Store) -> None:
    assert store.trash is not None
    store.trash.restore(keys(store)[-1])


def erase(store: Store) -> None:
    assert store.trash is not None
    store.trash.erase(keys(store)[-1])


def contents(harness: FileStoreHarness) -> dict[str, bytes]:
    """Every file but locks, by its path."""
    paths = [path for path in harness.root.rglob("*") if path.is_file() and not path.is_symlink()]
    found = {str(path.relative_to(harness.root)): path.read_bytes() for path in paths}
    return {path: data for path, data in found.items() if "locks/" not in path and not path.endswith(".gitignore")}


def unfinished(harness: FileStoreHarness) -> list[str]:
    return [str(path) for path in harness.root.rglob(".new-*")]


def mentions(harness: FileStoreHarness) -> list[str]:
    return [path for path, data in contents(harness).items() if SECRET in data and OTHER not in path]


@ends
@shelves
def test_a_session_that_is_being_deleted_is_there_or_in_the_trash(
    tmp_path: Path, kind: type[FileStoreHarness], end: str
) -> None:
    (tmp_path / "whole").mkdir()
    whole = kind(tmp_path / "whole")
    prepare(whole)
    for harness in crash_points(tmp_path, kind, trash):
        getattr(harness, end)()
        store = harness.make()
        if ID not in store.ids():
            assert len(keys(store)) == 1
            restore(store)
        assert store.load(ID).turns
        store.open(ID).close()
        assert store.load(OTHER).turns
        trash(store)
        assert ID not in store.ids()
        restore(store)
        if end == "kill":  # strictly, a power cut may leave a second copy in the trash
            store.sweep()
            assert contents(harness).keys() == contents(whole).keys()
        assert unfinished(harness) == []


@ends
@shelves
def test_a_session_that_is_being_restored_is_there_or_in_the_trash(
    tmp_path: Path, kind: type[FileStoreHarness], end: str
) -> None:
    for harness in crash_points(tmp_path, kind, restore, before=trash):
        getattr(harness, end)()
        store = harness.make()
        if ID not in store.ids():
            restore(store)
        assert store.load(ID).turns
        store.open(ID).close()
        assert store.load(OTHER).turns


@ends
@shelves
def test_a_new_session_takes_nothing_over_from_one_that_was_being_deleted(
    tmp_path: Path, kind: type[FileStoreHarness], end: str
) -> None:
    for harness in crash_points(tmp_path, kind, trash):
        getattr(harness, end)()
        store = harness.make()
        if ID in store.ids():
            continue
        store.create(ID, [metadata(ID)]).close()
        assert [path for path in mentions(harness) if "trash/" not in path] == []
        trash(store)
        first = keys(store)[0]
        assert store.trash is not None
        store.trash.restore(first)
        assert store.load(ID).turns


@shelves
def test_deleting_for_good_again_after_a_kill_leaves_nothing_with_the_text(
    tmp_path: Path, kind: type[FileStoreHarness]
) -> None:
    for harness in crash_points(tmp_path, kind, lambda store: store.delete(ID)):
        harness.kill()
        store = harness.make()
        if store.has_remains(ID):
            store.delete(ID)
        assert mentions(harness) == []
        assert unfinished(harness) == []
        assert store.load(OTHER).turns
        with pytest.raises(SegueError):
            store.delete(ID)


@shelves
def test_erasing_again_after_a_kill_leaves_nothing_with_the_text(tmp_path: Path, kind: type[FileStoreHarness]) -> None:
    for harness in crash_points(tmp_path, kind, erase, before=trash):
        harness.kill()
        store = harness.make()
        for key in keys(store):
            assert store.trash is not None
            store.trash.erase(key)
        store.sweep()
        assert mentions(harness) == []
        assert store.load(OTHER).turns

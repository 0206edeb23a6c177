"""A folder that cannot be written: everything that reads works, with no write at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import segue
from segue.errors import NotFoundError, ReadOnlyError
from segue.stores.journal import JournalStore
from segue.testing.failing import ReadOnlyKernel
from tests.support.journal_operations import BLOB, BLOB_NAME, OTHERS, READING, prepare
from tests.support.journals import metadata, snapshot
from tests.support.mounts import make_read_only, small_disk

if TYPE_CHECKING:
    from pathlib import Path


def everything_reads(store: JournalStore, sound: JournalStore) -> None:
    for name in READING:
        _, run = OTHERS[name]
        assert run(store) == run(sound), name
    assert store.examine("torn").torn_bytes
    assert store.examine("damaged").damages
    assert store.revision("sound") == sound.revision("sound")
    assert sorted(store.ids()) == sorted(sound.ids())
    assert store.get_blob("sound", BLOB_NAME) == BLOB
    library = segue.Library(store)
    assert library.resolve("lef") == "left"
    assert {head.id for head in library.list()} == set(sound.ids())
    assert library.follower("sound", after=0).poll()
    assert library.verify("damaged").damages
    with pytest.raises(NotFoundError):
        store.load("nobody")


def every_writer_is_refused(store: JournalStore) -> None:
    for refused in (
        lambda: store.create("new", [metadata("new")]),
        lambda: store.open("sound", timeout_seconds=0),
        lambda: store.open("torn", timeout_seconds=0),
        lambda: store.recover("damaged"),
        lambda: store.delete("sound"),
    ):
        with pytest.raises(ReadOnlyError):
            refused()


def test_reading_attempts_no_write(root: Path) -> None:
    prepare(root)
    before = snapshot(root)
    kernel = ReadOnlyKernel()
    everything_reads(JournalStore(str(root), kernel=kernel), JournalStore(str(root)))
    assert kernel.attempts == []
    assert snapshot(root) == before


def test_writers_of_a_read_only_folder_are_told_so(root: Path) -> None:
    prepare(root)
    before = snapshot(root)
    every_writer_is_refused(JournalStore(str(root), kernel=ReadOnlyKernel()))
    assert snapshot(root) == before


def test_a_folder_that_is_missing_reads_as_empty_and_stays_missing(root: Path) -> None:
    kernel = ReadOnlyKernel()
    store = JournalStore(str(root / "nowhere"), kernel=kernel)
    assert list(store.heads()) == []
    assert list(store.ids()) == []
    assert store.owner("nobody") is None
    with pytest.raises(NotFoundError):
        store.open("nobody")
    assert kernel.attempts == []
    assert list(root.iterdir()) == []


def test_a_read_only_file_system_can_be_read(root: Path) -> None:
    place = root / "mounted"
    with small_disk(place, 1 << 20) as is_mounted:
        prepare(place)
        if is_mounted:
            make_read_only(place)
        before = snapshot(place)
        store = JournalStore(str(place)) if is_mounted else JournalStore(str(place), kernel=ReadOnlyKernel())
        everything_reads(store, JournalStore(str(place)))
        every_writer_is_refused(store)
        assert snapshot(place) == before

"""Folders held by their descriptors: what is moved or linked meanwhile changes nothing, and failures leave nothing."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from segue.durable.descent import DirectoryEntry, descend
from segue.durable.kernel import Kernel
from segue.errors import StorageError

if TYPE_CHECKING:
    from pathlib import Path


class FullKernel(Kernel):
    """Has room for a name and for nothing else."""

    @staticmethod
    def write(_fd: int, _data: object, /) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_folder_that_is_moved_away_is_still_the_one_that_is_held(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with descend(str(tmp_path / "a")) as held:
        (tmp_path / "a").rename(tmp_path / "b")
        (tmp_path / "a").mkdir()
        assert held.write("file", b"data") is False
        assert held.write("file", b"more") is True
        assert held.read("file", size_bytes=10) == (b"more", 4)
        assert held.entries() == [DirectoryEntry("file", "file", 4)]
    assert (tmp_path / "b" / "file").read_bytes() == b"more"
    assert list((tmp_path / "a").iterdir()) == []


def test_only_the_beginning_of_a_large_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"0123456789")
    with descend(str(tmp_path)) as held:
        assert held.read("file", size_bytes=4) == (b"0123", 10)


@pytest.mark.parametrize("path", ["link", "link/inner", "file"])
def test_neither_a_link_nor_a_file_is_a_step(tmp_path: Path, path: str) -> None:
    (tmp_path / "real" / "inner").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "file").touch()
    with pytest.raises(StorageError), descend(str(tmp_path / path)):
        pass


def test_what_is_missing_is_made_only_if_wanted(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="it does not exist"), descend(str(tmp_path / "a" / "b")):
        pass
    with descend(str(tmp_path / "a" / "b"), make=True) as held:
        held.write("file", b"")
    assert (tmp_path / "a" / "b" / "file").exists()


def test_a_file_that_cannot_be_written_stays_as_it_was_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    with descend(str(tmp_path), kernel=FullKernel()) as held, pytest.raises(StorageError, match="the disk is full"):
        held.write("file", b"new")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("file", b"old")]


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    before = len(os.listdir("/proc/self/fd"))
    with descend(str(tmp_path / "a" / "b"), make=True) as held:
        held.write("file", b"new")
        held.entries()
        with pytest.raises(StorageError):
            held.read("nothing", size_bytes=1)
    assert len(os.listdir("/proc/self/fd")) == before

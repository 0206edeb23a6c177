from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING

import pytest

from segue.durable.folder import TEMPORARY, Folder
from segue.errors import ReadOnlyError, SegueError, StorageError, UsageError
from segue.testing.failing import FailingKernel, Fault, WatchedKernel

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(str(tmp_path / "a" / "b"))
    made.make()
    return made


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o777])
def test_modes_are_ours_whatever_the_umask(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        folder = Folder(str(tmp_path / "new" / "deep"))
        folder.make()
        folder.create("file", b"x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "new" / "deep").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "new" / "deep" / "file").stat().st_mode) == 0o600


def test_a_folder_that_was_there_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir(mode=0o755)
    Folder(str(tmp_path / "theirs")).make()
    assert stat.S_IMODE((tmp_path / "theirs").stat().st_mode) == 0o755


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/etc/passwd", "a\0b"])
def test_a_name_never_leaves_the_folder(folder: Folder, name: str) -> None:
    with pytest.raises(UsageError):
        folder.path_of(name)


def test_a_new_file_is_there_whole_or_not_at_all(folder: Folder) -> None:
    folder.create("x", b"one")
    with pytest.raises(FileExistsError):
        folder.create("x", b"two")
    assert folder.read("x") == b"one"
    assert os.listdir(folder.path) == ["x"]


def test_replacing_leaves_no_trace_of_the_temporary_file(folder: Folder) -> None:
    folder.create("x", b"one")
    folder.replace("x", b"two" * 1_000_000)
    assert folder.read("x") == b"two" * 1_000_000
    assert not [name for name in os.listdir(folder.path) if name.startswith(TEMPORARY)]


def test_a_link_is_never_followed(folder: Folder, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    os.symlink(secret, folder.path_of("x"))
    with pytest.raises(StorageError, match="symbolic link"):
        folder.read("x")
    folder.replace("x", b"mine")
    assert secret.read_bytes() == b"secret"
    assert folder.read("x") == b"mine"


def test_a_link_in_the_place_of_a_folder_is_refused(folder: Folder, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    os.symlink(elsewhere, folder.path_of("sub"))
    with pytest.raises(StorageError, match="link"):
        folder.sub("sub").make()
    assert not list(elsewhere.iterdir())


def test_a_pipe_in_the_place_of_a_file_does_not_hang(folder: Folder) -> None:
    os.mkfifo(folder.path_of("pipe"))
    with pytest.raises(StorageError, match="not a regular file"):
        folder.read("pipe")


def test_a_folder_in_the_place_of_a_file_is_named(folder: Folder) -> None:
    os.mkdir(folder.path_of("x"))
    with pytest.raises(SegueError, match="folder"):
        folder.read("x")


def test_a_file_in_the_place_of_the_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageError) as caught:
        Folder(str(tmp_path / "file")).make()
    assert caught.value.hint
    with pytest.raises(SegueError):
        Folder(str(tmp_path / "file" / "below")).make()


def test_scanning_what_is_not_there_gives_nothing(tmp_path: Path) -> None:
    assert list(Folder(str(tmp_path / "no")).scan()) == []


def test_an_error_says_what_to_do_next(folder: Folder) -> None:
    class Kernel(type(folder.kernel)):  # type: ignore[misc]
        def open(self, path: str, flags: int, mode: int = 0) -> int:  # noqa: ARG002
            raise PermissionError(13, "Permission denied")

    with pytest.raises(ReadOnlyError) as caught:
        Folder(folder.path, Kernel()).read("x")
    assert caught.value.path == f"{folder.path}/x"
    assert caught.value.hint


# ── Links of ours ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_link_of_ours_is_relative_and_replaced_whole(folder: Folder) -> None:
    for name in ("one", "two"):
        folder.sub("branches").sub(name).make()
        folder.point("current", f"branches/{name}")
        assert folder.target("current") == f"branches/{name}"
        assert os.path.samefile(folder.path_of("current"), folder.path_of("branches") + f"/{name}")
    assert sorted(os.listdir(folder.path)) == ["branches", "current"]


@pytest.mark.parametrize("target", ["", "/etc", "..", "../x", "a/../b", "a//b", "a/", "a\0b"])
def test_a_link_of_ours_never_leads_out(folder: Folder, target: str) -> None:
    with pytest.raises(UsageError):
        folder.point("current", target)
    assert os.listdir(folder.path) == []


def test_what_is_no_link_has_no_target(folder: Folder) -> None:
    folder.create("file", b"x")
    assert folder.target("file") == folder.target("missing") == ""


def test_a_link_that_could_not_be_made_leaves_the_old_one(folder: Folder) -> None:
    folder.point("current", "one")
    kernel = WatchedKernel()
    Folder(folder.path, kernel).point("current", "two")
    for at in range(1, len(kernel.calls) + 1):
        for error in (errno.EIO, errno.ENOSPC, errno.EROFS, errno.EACCES):
            failing = FailingKernel(Fault(at=at, error=error))
            folder.point("current", "old")
            try:
                Folder(folder.path, failing).point("current", "new")
            except StorageError:
                assert folder.target("current") in {"old", "new"}
            else:
                assert folder.target("current") == "new"
            assert os.listdir(folder.path) == ["current"]


def test_two_that_write_one_file_at_once_do_not_meet(tmp_path: Path) -> None:
    folder = Folder(str(tmp_path))
    one, first = folder.begin(b"one", "file")
    other, second = folder.begin(b"other", "file")
    assert (folder.read(first), folder.read(second)) == (b"one", b"other")
    for fd, name in ((one, first), (other, second)):
        folder.close(fd)
        folder.discard(name)

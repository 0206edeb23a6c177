from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from segue.durable.folder import Folder
from segue.durable.kernel import Kernel
from segue.durable.log import Log
from segue.errors import ConflictError, WriterStoppedError
from segue.library import Library
from segue.stores.journal import JournalStore

if TYPE_CHECKING:
    from pathlib import Path


class InterruptedKernel(Kernel):
    """As if Ctrl-C was pressed while a call was under way."""

    def __init__(self) -> None:
        self.call = ""

    def write(self, fd: int, data: bytes) -> int:  # type: ignore[override]
        written = os.write(fd, data)
        self._interrupt("write")
        return written

    def fdatasync(self, fd: int) -> None:  # type: ignore[override]
        os.fdatasync(fd)
        self._interrupt("fdatasync")

    def _interrupt(self, call: str) -> None:
        if call == self.call:
            self.call = ""
            raise KeyboardInterrupt


def open_log(root: Path, kernel: Kernel | None = None) -> Log:
    folder = Folder(str(root), kernel or Kernel())
    return Log(folder, "log", folder.open("log", os.O_RDWR | os.O_APPEND | os.O_CREAT))


def test_what_was_appended_is_there(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    log.append(b"one\n")
    log.append(b"two\n", sync=False)
    assert (tmp_path / "log").read_bytes() == b"one\ntwo\n"
    assert log.size == 8


@pytest.mark.parametrize("how", ["replaced", "moved away and replaced", "deleted"])
def test_nothing_is_acknowledged_in_a_file_that_another_program_put_away(tmp_path: Path, how: str) -> None:
    log = open_log(tmp_path)
    log.append(b"one\n")
    theirs = tmp_path / "theirs"
    theirs.write_bytes(b"One\n")
    if how == "moved away and replaced":
        (tmp_path / "log").rename(tmp_path / "version")
    if how == "deleted":
        (tmp_path / "log").unlink()
    else:
        theirs.rename(tmp_path / "log")
    with pytest.raises(ConflictError, match="changed by another program"):
        log.append(b"two\n")
    with pytest.raises(WriterStoppedError):
        log.append(b"two\n")


@pytest.mark.parametrize("call", ["write", "fdatasync"])
def test_an_interrupted_append_never_was(tmp_path: Path, call: str) -> None:
    kernel = InterruptedKernel()
    log = open_log(tmp_path, kernel)
    log.append(b"one\n")
    kernel.call = call
    with pytest.raises(KeyboardInterrupt):
        log.append(b"two\n")
    assert (tmp_path / "log").read_bytes() == b"one\n"
    log.append(b"three\n")
    assert (tmp_path / "log").read_bytes() == b"one\nthree\n"


@pytest.mark.parametrize("call", ["write", "fdatasync"])
def test_a_session_goes_on_after_an_interrupted_append(tmp_path: Path, call: str) -> None:
    kernel = InterruptedKernel()
    lib = Library(JournalStore(str(tmp_path), kernel=kernel))
    with lib.create(id="x") as session:
        session.add("user", "one")
        kernel.call = call
        with pytest.raises(KeyboardInterrupt):
            session.add("user", "two")
        session.add("user", "three")
    assert [turn.content for turn in lib.load("x").turns] == ["one", "three"]


def test_a_writer_that_no_longer_knows_what_the_file_holds_stops(tmp_path: Path) -> None:
    lib = Library(JournalStore(str(tmp_path)))
    session = lib.create(id="x")
    session._writer._log.append(b"")  # type: ignore[attr-defined]
    session._writer._log.size += 1  # type: ignore[attr-defined]
    with pytest.raises(WriterStoppedError):
        session.add("user", "one")
    session.release()
    with lib.open("x") as session:
        session.add("user", "one")


def test_a_program_that_writes_behind_our_back_is_noticed_and_keeps_what_it_wrote(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    log.append(b"one\n")
    with (tmp_path / "log").open("ab") as other:
        other.write(b"theirs\n")
    with pytest.raises(ConflictError):
        log.append(b"two\n")
    with pytest.raises(WriterStoppedError):
        log.append(b"two\n")
    assert (tmp_path / "log").read_bytes() == b"one\ntheirs\n"


def test_a_closed_log_takes_nothing(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    log.close()
    log.close()
    with pytest.raises(WriterStoppedError, match="closed"):
        log.append(b"x")

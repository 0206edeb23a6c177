"""An editor saves while Segue writes: whatever was saved is there in the end."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

import segue
from segue.dialects.gptel.store import GptelStore
from segue.durable.exchange import exchange
from segue.durable.folder import Folder
from segue.durable.kernel import Kernel
from tests.emacs.test_emacs import LISP, emacs

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ID = "together-20260101120000"
LONG = [pytest.mark.long, pytest.mark.timeout(1800)]
SAVES = pytest.mark.parametrize("saves", [30, pytest.param(1000, marks=LONG)])

IN_A_ROW = 2
"""So often an editor saves before it waits for Segue to write."""

WRITER = """
import sys, segue
from pathlib import Path
root, stop, name = sys.argv[1:]
with segue.open(f"gptel:{root}") as library:
    count = 0
    while not Path(stop).exists():
        with library.open(name) as live:
            for _ in range(5):
                count += 1
                live.add("assistant", f"answer{count}x")
print(count)
"""


def in_place(path: Path, data: bytes) -> None:
    """As Emacs saves for the second time: the file is emptied, then written."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    half = len(data) // 2
    os.write(fd, data[:half])
    os.write(fd, data[half:])
    os.close(fd)


def with_a_backup(path: Path, data: bytes) -> None:
    """As Emacs saves for the first time: the old file is renamed, and a new one written."""
    path.rename(path.with_name("session.md~"))
    in_place(path, data)


def whole(path: Path, data: bytes) -> None:
    """As careful editors save."""
    new = path.with_name(".session.md.swp")
    new.write_bytes(data)
    new.replace(path)


def begun(root: Path) -> Path:
    with segue.open(f"gptel:{root}") as library, library.create(id=ID, agent="executor") as live:
        live.add("user", "How?")
        live.add("assistant", "Thus.")
    return root / ID / "branches" / "main" / "session.md"


def signature(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_ino, found.st_mtime_ns


class Writer:
    """A process that appends until it is told to stop, and then says how often."""

    def __init__(self, root: Path) -> None:
        self._stop = root.parent / "stop"
        self._process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(root), str(self._stop), ID], stdout=subprocess.PIPE, env={**os.environ}
        )

    def stop(self) -> int:
        self._stop.touch()
        printed, _ = self._process.communicate(timeout=120)
        assert self._process.returncode == 0
        return int(printed)


def check(root: Path, saved: list[str], appended: int) -> None:
    """Everything is there, and said by whom it was said."""
    store = GptelStore(str(root))
    assert store.examine(ID).damages == ()
    with segue.Library(store).open(ID):  # what a writer that ended had replaced is taken in, too
        pass
    turns = store.load(ID).turns
    typed = "\n".join(turn.content for turn in turns if turn.role == "user")
    assert [word for word in saved if word not in typed] == []
    answers = {turn.content for turn in turns if turn.role == "assistant"}
    assert {f"answer{number}x" for number in range(1, appended + 1)} <= answers
    assert not list((root / ID / "branches" / "main").glob(".replaced-*"))


@SAVES
@pytest.mark.parametrize("save", [in_place, with_a_backup, whole])
def test_what_an_editor_saves_while_segue_writes_is_never_lost(
    tmp_path: Path, save: Callable[[Path, bytes], None], saves: int
) -> None:
    root = tmp_path / "sessions"
    path = begun(root)
    writer = Writer(root)
    saved: list[str] = []
    ours: list[tuple[int, int]] = []
    try:
        while len(saved) < saves:
            try:
                before = signature(path)
                if before in ours[-1:] and len(ours) > IN_A_ROW:
                    continue  # it is the writer's turn
                ours = ours if before in ours[-1:] else []
                body, feed, footer = path.read_bytes().rpartition(b"\n\f\n")
            except FileNotFoundError:
                continue
            word = f"word{len(saved)}w"
            if not feed or signature(path) != before:  # an editor would ask now
                continue
            save(path, body + f"\n### {word}\n".encode() + feed + footer)
            saved.append(word)
            with suppress(FileNotFoundError):
                ours.append(signature(path))
    finally:
        appended = writer.stop()
    check(root, saved, appended)


TYPE = """(progn (segue-mode 1) (setq segue-command "/nowhere/segue" warning-minimum-log-level :emergency)
  (let ((vc-handled-backends nil) (count 0) (in-a-row 0))
    (find-file "%s")
    (while (< count %d)
      (condition-case nil               ; where Emacs would ask, since the file changed on disk, it is read again
          (progn
            (while (and (> in-a-row 2) (verify-visited-file-modtime)) (sleep-for 0.001))
            (unless (verify-visited-file-modtime) (setq in-a-row 0) (revert-buffer t t))
            (goto-char (or (segue-footer-start) (point-max)))
            (insert (format "\n### word%%dw\n" count))
            (segue-autosave)
            (unless (buffer-modified-p)
              (princ (format "word%%dw\n" count))
              (setq count (1+ count) in-a-row (1+ in-a-row))))
        (error nil))
      (set-buffer-modified-p nil))))"""


@pytest.mark.needs("emacs")
@SAVES
def test_what_emacs_saves_while_segue_writes_is_never_lost(tmp_path: Path, saves: int) -> None:
    root = tmp_path / "sessions"
    path = begun(root)
    writer = Writer(root)
    try:
        printed = emacs("-L", LISP, "-l", "segue", "--eval", TYPE % (path, saves), cwd=tmp_path)
    finally:
        appended = writer.stop()
    saved = [line for line in printed.split("\n") if line.startswith("word")]
    assert len(saved) == saves
    check(root, saved, appended)


class OlderKernel(Kernel):
    """One that cannot exchange two files."""

    @staticmethod
    def exchange(one: str, other: str) -> None:  # noqa: ARG004 - as the others
        raise OSError(38, "not implemented")


def content(path: Path) -> bytes:
    """Nothing where there is no file just now."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


@pytest.mark.parametrize("kernel", [Kernel(), OlderKernel()], ids=["at once", "step by step"])
def test_what_is_still_being_written_when_it_is_replaced_comes_out_whole(tmp_path: Path, kernel: Kernel) -> None:
    path = tmp_path / "session.md"
    path.write_bytes(b"old")
    fd = os.open(path, os.O_WRONLY | os.O_TRUNC)
    os.write(fd, b"first half, ")
    found: list[bytes | None] = []
    folder = Folder(str(tmp_path), kernel)
    replacing = threading.Thread(target=lambda: found.append(exchange(folder, "session.md", b"new", ".aside")))
    replacing.start()
    while content(path) != b"new":
        pass
    os.write(fd, b"second half")
    os.close(fd)
    replacing.join()
    assert found == [b"first half, second half"]
    assert (tmp_path / ".aside").read_bytes() == b"first half, second half"
    assert path.read_bytes() == b"new"


def test_what_a_killed_writer_had_replaced_is_taken_in_by_the_next(tmp_path: Path) -> None:
    path = begun(tmp_path)
    theirs = path.read_bytes().replace(b"### \n", b"### And then?\n")
    (path.parent / ".replaced-0123456789abcdef").write_bytes(theirs)
    with segue.open(f"gptel:{tmp_path}") as library:
        with library.open(ID) as live:
            live.tag("x")
        assert [turn.content for turn in library.load(ID).turns] == ["How?", "Thus.", "And then?"]
    assert b"And then?" in path.read_bytes()
    assert not list(path.parent.glob(".replaced-*"))

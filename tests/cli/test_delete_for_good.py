"""Deleted for good: no file of the machine has a word of it left, also where it was killed and called again."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import segue
from segue.chat.drafts import Drafts
from segue.chat.terminal.input_history import InputHistory
from segue.durable.kernel import KERNEL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.support.cli import Segue

ID, OTHER = "login-bug", "holidays"
SECRET = "xyzzyplugh"  # noqa: S105 - a word that stands nowhere else
_CHANGING = ("write", "ftruncate", "fsync", "fdatasync", "rename", "link", "unlink", "mkdir", "rmdir")


@pytest.fixture
def machine(cli: Segue) -> Segue:
    """A session of which a machine remembers all that it can, and its neighbour."""
    for id in (ID, OTHER):
        word = SECRET if id == ID else "harmless"
        with cli.library.create(id=id, title=f"About {word}") as live:
            live.add("user", f"What is {word}?")
            live.add("assistant", f"{word} is a word.")
            live.put_blob(word.encode() * 100)
            overview = live.overview
            state = state_folder(cli)
            draft = Drafts(state / "drafts").begin(overview)
            draft.add(f"{word} came half-way")
            draft.close()
        InputHistory(state / "history.jsonl").add(f"/note {word}", id)
        with (state / "history.jsonl").open("a") as file:  # as older versions wrote it
            file.write(json.dumps(f"What is {word}?") + "\n")
    journal = cli.root / f"{ID}.jsonl"
    data = journal.read_bytes()
    journal.write_bytes(data.replace(b"is a word", b"was a word"))
    assert cli.ok("recover", ID, "--yes")
    with journal.open("ab") as file:
        file.write(b'{"type":"turn","role":"user","content":"' + SECRET.encode())
    cli.library.open(ID).close()
    (cli.root / f".new-{ID}.jsonl-0123456789abcdef").write_text(SECRET)
    assert SECRET in cli.ok("search", SECRET)
    return cli


def state_folder(cli: Segue) -> Path:
    return cli.home / ".local" / "state" / "segue"


def mentions(home: Path, word: str = SECRET) -> list[str]:
    return [str(path) for path in home.rglob("*") if path.is_file() and word.encode() in path.read_bytes()]


def test_the_machine_remembers_it_in_many_places(machine: Segue) -> None:
    names = [Path(path).name for path in mentions(machine.home)]
    assert len(names) >= 7, names
    assert {"history.jsonl", "catalog.sqlite3", f"{ID}.jsonl", f"{ID}.jsonl.corrupt"} <= set(names)


def test_what_is_deleted_for_good_is_nowhere_any_more(machine: Segue) -> None:
    machine.ok("delete", ID, "--for-good", "--yes")
    assert mentions(machine.home) == []
    assert list(InputHistory(state_folder(machine) / "history.jsonl").texts()) == [
        "What is harmless?",
        "/note harmless",
    ]
    assert len(list((state_folder(machine) / "drafts").iterdir())) == 1
    assert "harmless" in machine.ok("search", "harmless")
    assert machine.library.load(OTHER).turns


def test_what_is_erased_from_the_trash_is_nowhere_any_more(machine: Segue) -> None:
    machine.ok("delete", ID, "--yes")
    assert mentions(machine.home)
    machine.ok("trash", "empty", "--yes")
    left = mentions(machine.home)
    # An older version did not record in which session a line was typed, and the session is gone by now.
    assert left in ([], [str(state_folder(machine) / "history.jsonl")])


def test_a_deletion_that_was_killed_at_any_call_is_finished_by_calling_it_again(machine: Segue, tmp_path: Path) -> None:
    kept = tmp_path.with_name(f"{tmp_path.name}-kept")
    shutil.copytree(machine.home, kept, symlinks=True)
    for at in itertools.count(1):
        shutil.rmtree(machine.home)
        shutil.copytree(kept, machine.home, symlinks=True)
        is_killed = killed_at(machine, at, "delete", ID, "--for-good", "--yes")
        if is_killed and (segue.open(machine.store).has_remains(ID) or mentions(machine.home)):
            done = machine.run("delete", ID, "--for-good", "--yes")
            assert done.code == 0, (at, done.complaint)
        assert mentions(machine.home) == [], at
        assert machine.library.load(OTHER).turns
        if not is_killed:
            assert at > 10
            return


def killed_at(cli: Segue, at: int, *args: str) -> bool:
    """Run a command in a process that kills itself at its n-th call that changes a file; whether it came to that."""
    process = os.fork()
    if process == 0:
        try:
            os.environ.clear()
            os.environ.update(cli.environment())
            os.chdir(cli.home)
            left = itertools.count(1)
            for name in _CHANGING:
                setattr(KERNEL, name, _dying(getattr(KERNEL, name), left, at))
            from segue.cli.app import run

            sink = os.open(os.devnull, os.O_WRONLY)
            os.dup2(sink, 1)
            os.dup2(sink, 2)
            os._exit(run(args))
        finally:
            os._exit(99)
    _, status = os.waitpid(process, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(status) == 0
    return False


def _dying(call: Callable[..., object], left: Iterator[int], at: int) -> Callable[..., object]:
    def instead(*args: object) -> object:
        if next(left) == at:
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*args)

    return instead

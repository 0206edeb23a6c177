from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from segue.durable.folder import Folder
from segue.durable.lock import WriterLock, find_owner

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")

NOW = datetime(2026, 11, 15, 9, 0, tzinfo=UTC)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(str(tmp_path / "locks"))


def acquire(folder: Folder, timeout_seconds: float = 0.0) -> WriterLock | None:
    found = WriterLock.acquire(folder, "x.lock", timeout_seconds=timeout_seconds, since=NOW)
    return found if isinstance(found, WriterLock) else None


def test_there_is_one_holder(folder: Folder) -> None:
    first = acquire(folder)
    assert first is not None
    assert acquire(folder) is None
    first.release()
    second = acquire(folder)
    assert second is not None
    second.release()


def test_the_holder_says_who_where_and_since_when(folder: Folder) -> None:
    assert find_owner(folder, "x.lock") is None
    lock = acquire(folder)
    assert lock is not None
    owner = find_owner(folder, "x.lock")
    assert owner is not None
    assert (owner.pid, owner.since) == (os.getpid(), NOW)
    assert owner.host
    lock.release()
    assert find_owner(folder, "x.lock") is None


def test_asking_does_not_take_the_lock(folder: Folder) -> None:
    lock = acquire(folder)
    assert lock is not None
    for _ in range(100):
        assert find_owner(folder, "x.lock") is not None
    lock.release()
    again = acquire(folder)
    assert again is not None
    again.release()


def test_the_lock_file_stays(folder: Folder) -> None:
    lock = acquire(folder)
    assert lock is not None
    inode = os.stat(folder.path_of("x.lock")).st_ino
    lock.release()
    assert os.stat(folder.path_of("x.lock")).st_ino == inode


def test_releasing_twice_is_releasing_once(folder: Folder) -> None:
    first = acquire(folder)
    assert first is not None
    first.release()
    second = acquire(folder)
    assert second is not None
    first.release()
    assert acquire(folder) is None
    second.release()


def test_the_lock_ends_with_the_process_however_that_ends(folder: Folder) -> None:
    code = (
        "import sys, os, datetime\n"
        "from segue.durable.folder import Folder\n"
        "from segue.durable.lock import WriterLock\n"
        "lock = WriterLock.acquire(Folder(sys.argv[1]), 'x.lock', timeout_seconds=0,"
        " since=datetime.datetime.now(datetime.UTC))\n"
        "print(lock is not None, flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, folder.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"True\n"
        owner = find_owner(folder, "x.lock")
        assert owner is not None
        assert owner.pid == child.pid
        assert acquire(folder) is None
        child.kill()
        child.wait()
    assert find_owner(folder, "x.lock") is None
    lock = acquire(folder)
    assert lock is not None
    lock.release()


def test_a_forked_child_holds_nothing(folder: Folder) -> None:
    lock = acquire(folder)
    assert lock is not None
    ready, go = os.pipe()
    child = os.fork()
    if child == 0:  # outlives the release below
        os.close(go)
        os.read(ready, 1)
        os._exit(0)
    os.close(ready)
    lock.release()
    again = acquire(folder)
    assert again is not None
    again.release()
    os.close(go)
    os.waitpid(child, 0)


def test_a_forked_child_does_not_free_the_lock_of_its_parent(folder: Folder) -> None:
    lock = acquire(folder)
    assert lock is not None
    child = os.fork()
    if child == 0:
        lock.release()
        os._exit(0)
    os.waitpid(child, 0)
    assert acquire(folder) is None
    lock.release()


def test_a_waiting_writer_gets_the_lock_when_it_is_free(folder: Folder) -> None:
    lock = acquire(folder)
    assert lock is not None
    child = os.fork()
    if child == 0:
        waited = acquire(folder, timeout_seconds=30)
        os._exit(0 if waited is not None else 1)
    lock.release()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

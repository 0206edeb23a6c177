"""What killed writers leave unfinished is removed by whoever comes next, and nothing of a living writer ever is."""

from __future__ import annotations

import os
import random
import signal
from functools import partial
from typing import TYPE_CHECKING

import pytest

from segue.dialects.cortext.store import CortextStore
from segue.dialects.gptel.store import GptelStore
from segue.dialects.ralph.store import RalphStore
from segue.dialects.soleur.store import SoleurStore
from segue.stores.journal import JournalStore
from segue.testing.failing import DyingKernel
from tests.support.journals import metadata, temporaries, turn

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FileStore = JournalStore | SoleurStore | RalphStore | CortextStore | GptelStore
STORES: tuple[type[FileStore], ...] = (JournalStore, SoleurStore, RalphStore, CortextStore, GptelStore)
stores = pytest.mark.parametrize("make", STORES, ids=lambda kind: kind.scheme)
_MOST_CALLS = 60


def write(store: FileStore, session_id: str) -> None:
    """Make a session, or go on with it, and let it go."""
    has_session = session_id in store.ids()
    writer = store.open(session_id) if has_session else store.create(session_id, [metadata(session_id)])
    for number in range(3):
        writer.append(turn(number), ids_are_new=True)
    writer.put_blob(os.urandom(8))
    writer.close()


def kill_at(at: int, do: Callable[[DyingKernel], object]) -> None:
    """In a process of its own, which kills itself at its n-th system call or lives to its end."""
    process = os.fork()
    if process == 0:
        try:
            do(DyingKernel(at))
        finally:
            os._exit(0)
    _, status = os.waitpid(process, 0)
    assert os.WIFEXITED(status) or os.WTERMSIG(status) == signal.SIGKILL


@pytest.mark.parametrize("kills", [60, pytest.param(1500, marks=[pytest.mark.long, pytest.mark.timeout(1800)])])
@stores
def test_after_a_storm_of_kills_and_one_writer_each_nothing_unfinished_is_left(
    tmp_path: Path, make: Callable[..., FileStore], seed: int, kills: int
) -> None:
    chance = random.Random(seed)
    root = tmp_path / "sessions"
    for number in range(kills):
        at, session_id = chance.randrange(1, _MOST_CALLS), f"killed-{number % 7}"
        kill_at(at, partial(_write, make, root, session_id))
    store = make(str(root))
    for session_id in list(store.ids()):
        store.open(session_id).close()
        assert store.examine(session_id).damages == ()
    make(str(root)).create("last", [metadata("last")]).close()
    assert temporaries(root) == []


@stores
def test_what_a_living_writer_has_not_finished_is_left_alone(tmp_path: Path, make: Callable[..., FileStore]) -> None:
    root = tmp_path / "sessions"
    store = make(str(root))
    write(store, "other")
    with store.create("alive", [metadata("alive")]):
        name = store.content_files("alive")[0].rpartition("/")[2] if make is not GptelStore else "alive"
        place = next(iter(store._shared_folders()))
        place.make()
        ours, ancient = f".new-{name}-{'0' * 16}", f".new-{'1' * 16}"
        for left in (ours, ancient):
            (root / place.path / left).write_text("half")
            os.utime(root / place.path / left, (0, 0))
        make(str(root)).sweep()
        kill_at(2, partial(_open, make, root))
        make(str(root)).open("other").close()
        make(str(root)).create("new", [metadata("new")]).close()
        assert {ours, ancient} <= set(os.listdir(place.path))
    make(str(root)).sweep()
    assert temporaries(root) == []


def _write(make: Callable[..., FileStore], root: Path, session_id: str, kernel: DyingKernel) -> None:
    write(make(str(root), kernel=kernel), session_id)


def _open(make: Callable[..., FileStore], root: Path, kernel: DyingKernel) -> None:
    make(str(root), kernel=kernel).open("other")

"""A journal cut at every byte: complete appends stay, the fragment is set aside, and the next append just works.

A line that was cut exactly before its newline is whole, and stays.
"""

from __future__ import annotations

import errno
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from segue.errors import DamagedError, SegueError
from segue.stores.journal import JournalStore
from segue.testing.failing import FailingKernel, Fault, WatchedKernel
from tests.support.journals import CORPUS, complete_at_each_byte, goes_on, lay, snapshot, temporaries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from segue.model import Event

GOLDEN = sorted(path.stem for path in CORPUS.glob("*.jsonl"))
LONG = [pytest.param("branches", marks=pytest.mark.long)]


@pytest.mark.parametrize("name", GOLDEN)
def test_reading_a_cut_journal_gives_every_complete_append_and_changes_nothing(
    root: Path, name: str, positions: Callable[[bytes], Iterator[int]]
) -> None:
    data = (CORPUS / f"{name}.jsonl").read_bytes()
    path = lay(root, name, data)
    whole = list(JournalStore(str(root)).read(name))
    chosen = {*positions(data), len(data)}
    for cut, complete in enumerate(complete_at_each_byte(data)):
        if cut not in chosen:
            continue
        path.write_bytes(data[:cut])
        before = snapshot(root)
        expected = whole[: complete.events]
        store = JournalStore(str(root))
        examination = store.examine(name)
        heads = list(store.heads())
        if not expected:  # not even its birth is there: the one thing that can be said of it
            assert examination.session is None, cut
            assert heads[0].damage, cut
            with pytest.raises(DamagedError):
                store.load(name)
            with pytest.raises(DamagedError):
                store.open(name)
        else:
            assert examination.damages == (), cut
            assert examination.torn_bytes == cut - complete.end, cut
            assert list(store.read(name)) == expected, cut
            session = examination.session
            assert session is not None, cut
            assert cut % 16 or store.load(name) == session, cut
            assert store.tail(name, 2) == session.turns[-2:], cut
            assert (heads[0].damage, heads[0].turn_count) == ("", len(session.turns)), cut
            assert snapshot(root) == before, cut


@pytest.mark.parametrize("name", ["small", "newer", "aurora", *LONG])
def test_a_writer_sets_the_fragment_aside_and_goes_on(root: Path, name: str) -> None:
    data = (CORPUS / f"{name}.jsonl").read_bytes()
    store = JournalStore(str(root))
    for cut, (expected, end) in enumerate(complete_at_each_byte(data)):
        if not expected:
            continue
        path = lay(root, name, data[:cut])
        with store.open(name, timeout_seconds=0) as writer:
            assert writer.overview.seq == expected, cut
            assert path.read_bytes() == ended(data[:end]), cut
        assert set_aside(root) == ([data[end:cut]] if end < cut else []), cut
        goes_on(root, name)
        assert path.read_bytes().startswith(data[:end]), cut
        assert store.load(name).seq == expected + 1, cut
        for fragment in (root / ".quarantine").glob("*"):
            fragment.unlink()


@pytest.mark.parametrize("for_good", [False, True])
@pytest.mark.parametrize("cut", [-2, -40, -140, -200])
def test_setting_aside_twice_is_setting_aside_once(root: Path, cut: int, *, for_good: bool) -> None:
    data = (CORPUS / "small.jsonl").read_bytes()[:cut]
    end = complete_at_each_byte((CORPUS / "small.jsonl").read_bytes())[len(data)].end
    for at in range(1, len(calls_of_opening(root / "counted", data)) + 1):
        folder = root / str(at)
        folder.mkdir()
        path = lay(folder, "small", data)
        kernel = FailingKernel(Fault(at=at, error=errno.EIO, for_good=for_good))
        with suppress(SegueError):
            JournalStore(str(folder), kernel=kernel).open("small", timeout_seconds=0).close()
        assert path.read_bytes() in (data, data[:end]), at
        assert path.read_bytes() == data or set_aside(folder) == [data[end:]], at
        with JournalStore(str(folder)).open("small", timeout_seconds=0):
            assert path.read_bytes() == data[:end], at
        assert set_aside(folder) == [data[end:]], at
        assert temporaries(folder) == [] or "unlink" in kernel.failed, at
        goes_on(folder, "small")


@pytest.mark.parametrize("for_good", [False, True])
def test_a_last_line_gets_its_newline_or_stays_as_it_is(root: Path, *, for_good: bool) -> None:
    whole = (CORPUS / "small.jsonl").read_bytes()
    events = list(read_alone(root / "whole", whole))
    for at in range(1, len(calls_of_opening(root / "counted", whole[:-1])) + 1):
        folder = root / str(at)
        folder.mkdir()
        path = lay(folder, "small", whole[:-1])
        kernel = FailingKernel(Fault(at=at, error=errno.EIO, for_good=for_good))
        with suppress(SegueError):
            JournalStore(str(folder), kernel=kernel).open("small", timeout_seconds=0).close()
        assert path.read_bytes() in (whole[:-1], whole), at
        assert list(JournalStore(str(folder)).read("small")) == events, at
        assert set_aside(folder) == [], at
        goes_on(folder, "small")
        assert path.read_bytes().startswith(whole), at


def read_alone(root: Path, data: bytes) -> Iterator[Event]:
    root.mkdir()
    lay(root, "small", data)
    return JournalStore(str(root)).read("small")


def ended(data: bytes) -> bytes:
    return data if data.endswith(b"\n") else data + b"\n"


def calls_of_opening(root: Path, data: bytes) -> list[str]:
    root.mkdir()
    lay(root, "small", data)
    kernel = WatchedKernel()
    JournalStore(str(root), kernel=kernel).open("small").close()
    return kernel.calls


def set_aside(root: Path) -> list[bytes]:
    return [path.read_bytes() for path in (root / ".quarantine").glob("*.fragment")]

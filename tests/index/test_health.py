"""The index next to a writer, and a damaged index."""

from __future__ import annotations

import shutil
import threading
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

import segue
from segue.clock import utc_now
from segue.durable.folder import Folder
from segue.index import Index, StoreSource

if TYPE_CHECKING:
    import random
    from pathlib import Path

    from segue.library import Library

NAME = "catalog.sqlite3"
WORDS = ("zebra", "giraffe", "lion*", '"the second"')
Answers = tuple[object, ...]


@pytest.fixture
def library(tmp_path: Path) -> Library:
    library = segue.open(f"journal:{tmp_path}/sessions")
    for number in range(12):
        with library.create(id=f"s{number}", title=f"Zebra {number}", agent="qa", tags=["Tag"]) as session:
            session.add("user", f"Where does giraffe {number} live?\n" + f"word{number} " * 40)
            session.add("assistant", "The second lioness knows, and nobody else. " * 9)
            session.decide(f"Ask lion {number}")
    return library


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(str(tmp_path / "cache"))


def answers(index: Index, library: Library) -> Answers:
    index.refresh([StoreSource(library.store)])
    entries = index.entries()
    return (entries, *(index.search(words) for words in WORDS), *(index.turns(entry) for entry in entries[:3]))


def ranked(found: Answers) -> list[object]:
    """The order of equals is that in which they were read."""
    return [sorted(map(repr, some)) if isinstance(some, list) else some for some in found]


def test_an_answer_is_of_one_moment_whatever_is_written_meanwhile(library: Library, folder: Folder) -> None:
    def write_between(statement: str) -> None:
        if "snippet(" in statement:
            if "s3" in library.store.ids():
                library.delete("s3")
            with Index(folder) as writer:
                writer.refresh([StoreSource(library.store)])

    with Index(folder) as index:
        index.refresh([StoreSource(library.store)])
        index._connection.set_trace_callback(write_between)
        assert len(index.search("zebra")) == 12
        index._connection.set_trace_callback(None)
        assert len(index.search("zebra")) == 11


@pytest.mark.parametrize("searches", [150, pytest.param(2500, marks=pytest.mark.long)])
def test_searches_beside_a_writer_find_every_session(library: Library, folder: Folder, searches: int) -> None:
    sources = [StoreSource(library.store)]
    is_over = threading.Event()
    written: list[int] = []

    def write() -> None:
        with Index(folder) as index:
            while not is_over.is_set():
                with library.open(f"s{len(written) % 12}") as session:
                    session.rename(title=f"zebra {len(written)}")
                written.append(index.refresh(sources).read)

    with Index(folder) as index:
        index.refresh(sources)
        writer = threading.Thread(target=write)
        writer.start()
        try:
            counts = {len(index.search("zebra")) for _ in range(searches)}
        finally:
            is_over.set()
            writer.join()
    assert counts == {12}
    assert written


def flips(rng: random.Random, size: int, count: int) -> list[tuple[int, int]]:
    places = sorted(rng.sample(range(size), count))
    return [(place, rng.choice((1, 0x20, 0x80, 0xFF))) for place in places]


@pytest.mark.parametrize("count", [60, pytest.param(5000, marks=pytest.mark.long)])
def test_a_changed_byte_of_the_index_is_noticed_when_it_is_looked_for(
    library: Library, folder: Folder, tmp_path: Path, rng: random.Random, count: int
) -> None:
    with Index(folder) as index:
        expected = ranked(answers(index, library))
    sound = (tmp_path / "cache" / NAME).read_bytes()
    notices: list[str] = []
    for place, bits in flips(rng, len(sound), count):
        shutil.rmtree(tmp_path / "cache")
        (tmp_path / "cache").mkdir()
        changed = bytearray(sound)
        changed[place] ^= bits
        (tmp_path / "cache" / NAME).write_bytes(changed)
        with Index(folder, clock=lambda: utc_now() + timedelta(days=30), notify=notices.append) as index:
            assert ranked(answers(index, library)) == expected, f"byte {place} changed by {bits}"
    assert notices


@pytest.mark.parametrize("count", [60, pytest.param(3000, marks=pytest.mark.long)])
def test_a_changed_byte_of_the_index_is_never_a_traceback(
    library: Library, folder: Folder, tmp_path: Path, rng: random.Random, count: int
) -> None:
    with Index(folder) as index:
        answers(index, library)
    sound = (tmp_path / "cache" / NAME).read_bytes()
    for place, bits in flips(rng, len(sound), count):
        shutil.rmtree(tmp_path / "cache")
        (tmp_path / "cache").mkdir()
        changed = bytearray(sound)
        changed[place] ^= bits
        (tmp_path / "cache" / NAME).write_bytes(changed)
        with Index(folder) as index:
            answers(index, library)


def test_a_sound_index_is_not_made_anew_when_it_is_looked_at(library: Library, folder: Folder) -> None:
    with Index(folder) as index:
        answers(index, library)
    notices: list[str] = []
    with Index(folder, clock=lambda: utc_now() + timedelta(days=30), notify=notices.append) as index:
        assert index.refresh([StoreSource(library.store)]).read == 0
    assert notices == []


def test_it_is_looked_at_once_and_then_not_before_a_week(library: Library, folder: Folder) -> None:
    checks: list[str] = []

    def check_after(days: int) -> int:
        with Index(folder, clock=lambda: utc_now() + timedelta(days=days)) as index:
            index._connection.set_trace_callback(
                lambda statement: checks.append(statement) if "integrity_check" in statement else None
            )
            index.refresh([StoreSource(library.store)])
        return len(checks)

    assert [check_after(0), check_after(0), check_after(6), check_after(8), check_after(9)] == [1, 1, 1, 2, 2]

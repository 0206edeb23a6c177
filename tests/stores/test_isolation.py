"""The net under every session: a mistake of ours that one of them brings to light costs that one alone."""

from __future__ import annotations

import os
import sqlite3
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

import segue
from segue.clock import utc_now
from segue.errors import DamagedError, NotFoundError
from segue.stores.journal import JournalStore
from segue.stores.journal.file import JournalFile

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from segue.durable.folder import Folder
    from segue.library import Library

MISTAKES = [
    KeyError("branch"),
    RecursionError("maximum recursion depth exceeded"),
    MemoryError(),
    OverflowError("date value out of range"),
    UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed"),
    sqlite3.OperationalError("disk I/O error"),
    AssertionError(),
]
READS: dict[str, Callable[[Library], object]] = {
    "load": lambda library: library.load("odd"),
    "overview": lambda library: library.overview("odd"),
    "tail": lambda library: library.tail("odd", 3),
    "read": lambda library: list(library.store.read("odd")),
    "read on": lambda library: list(library.store.read("odd", after=1)),
    "follow": lambda library: library.follower("odd", after=0).poll(),
    "open": lambda library: library.open("odd"),
    "recover": lambda library: library.recover("odd"),
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    with segue.open(f"journal:{tmp_path}") as library:
        for id in ("odd", "sound"):
            session = library.create(id=id)
            session.add("user", "Why does login fail?")
            session.release()
    return tmp_path


@pytest.fixture
def library(root: Path) -> Library:
    return segue.open(f"journal:{root}", clock=lambda: utc_now() + timedelta(days=2))


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch) -> Callable[[Exception], None]:
    """A mistake in the reading of one session."""
    as_it_is = JournalFile.__init__

    def plant(mistake: Exception) -> None:
        def init(self: JournalFile, folder: Folder, session_id: str, *, flags: int = os.O_RDONLY) -> None:
            if session_id == "odd":
                raise mistake
            as_it_is(self, folder, session_id, flags=flags)

        monkeypatch.setattr(JournalFile, "__init__", init)

    return plant


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: type(mistake).__name__)
def test_listing_verifying_and_cleaning_go_on(
    library: Library, plant: Callable[[Exception], None], mistake: Exception
) -> None:
    plant(mistake)
    reason = f"{library.store.url.removeprefix('journal:')}/odd.jsonl: Segue cannot read it ({type(mistake).__name__}"
    heads = {head.id: head for head in library.list()}
    assert heads["odd"].damage.startswith(reason)
    assert heads["sound"].damage == ""
    assert library.store.head("odd").damage.startswith(reason)
    (damage,) = library.verify("odd").damages
    assert str(damage).startswith(reason)
    assert library.verify("sound").damages == ()
    cleaned = library.clean(timedelta(days=1), dry_run=True)
    assert [head.id for head in cleaned.removed] == ["sound"]
    assert [head.id for head, _ in cleaned.kept] == ["odd"]


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_reading_the_odd_one_says_that_it_is_damaged(
    library: Library, plant: Callable[[Exception], None], read: Callable[[Library], object]
) -> None:
    plant(KeyError("branch"))
    with pytest.raises(DamagedError, match=r"Segue cannot read it \(KeyError: 'branch'\)") as raised:
        read(library)
    assert isinstance(raised.value.__cause__, KeyError)


def test_what_a_store_says_on_purpose_stays_as_it_is(library: Library) -> None:
    with pytest.raises(NotFoundError):
        library.load("nothing")


def test_a_store_that_is_made_by_hand_lets_its_mistakes_through(root: Path, plant: Callable[[Exception], None]) -> None:
    plant(KeyError("branch"))
    with pytest.raises(KeyError):
        JournalStore(str(root)).load("odd")

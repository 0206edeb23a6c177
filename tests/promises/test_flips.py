"""Every byte of a journal flipped: found and placed, everything else readable, nothing repaired in place."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from segue.errors import DamagedError, SegueError
from segue.stores.journal import JournalStore
from tests.support.journals import CORPUS, goes_on, held_by, ids_of, lay, snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

DATA = (CORPUS / "small.jsonl").read_bytes()
HELD = list(held_by(DATA))
HELD_BY_ID = {"turn", "decision"}
NEWLINE = ord("\n")


def flip(mask: int) -> Callable[[int], int]:
    return lambda byte: byte ^ mask


def cut_line(_byte: int) -> int:
    return NEWLINE


QUICK = {"1": flip(0x01), "32": flip(0x20), "255": flip(0xFF), "newline": cut_line}
LONG = {str(1 << bit): flip(1 << bit) for bit in range(8) if bit not in (0, 5)}


def patterns(*quick: str) -> pytest.MarkDecorator:
    slow = [pytest.param(name, marks=pytest.mark.long) for name in [*QUICK, *LONG] if name not in quick]
    return pytest.mark.parametrize("pattern", [*quick, *slow])


def flipped(pattern: str) -> Iterator[tuple[int, set[int], bytes]]:
    """Every flip: its offset, the lines it touches, and the journal with it."""
    change = {**QUICK, **LONG}[pattern]
    for offset, byte in enumerate(DATA):
        if change(byte) == byte:
            continue
        line = DATA[:offset].count(b"\n") + 1
        lines = {line, line + 1} if byte == NEWLINE else {line}
        yield offset, lines, DATA[:offset] + bytes([change(byte)]) + DATA[offset + 1 :]


@patterns("1", "32", "255", "newline")
def test_a_flipped_byte_is_found_and_placed_and_all_else_is_readable(root: Path, pattern: str) -> None:
    path = lay(root, "small", DATA)
    for offset, lines, data in flipped(pattern):
        path.write_bytes(data)
        before = snapshot(root)
        store = JournalStore(str(root))
        with pytest.raises(DamagedError) as raised:
            store.load("small")
        assert raised.value.damages[0].line == min(lines), offset
        session = store.examine("small").session
        assert session is not None, offset
        wanted = {id for line, kind, id in HELD if line not in lines and kind in HELD_BY_ID}
        assert wanted <= ids_of(session), offset
        assert snapshot(root) == before, offset


@patterns("32", "newline")
def test_reading_from_the_end_of_a_flipped_journal_never_gives_a_false_turn(root: Path, pattern: str) -> None:
    path = lay(root, "small", DATA)
    true = {turn.id: turn for turn in JournalStore(str(root)).load("small").turns}
    for offset, _, data in flipped(pattern):
        path.write_bytes(data)
        before = snapshot(root)
        store = JournalStore(str(root))
        head = next(store.heads())
        assert head.id == "small", offset
        for count in (1, 9):
            with suppress(SegueError):
                assert all(true[turn.id] == turn for turn in store.tail("small", count)), offset
        with suppress(SegueError):
            list(store.read("small", after=3))
        assert snapshot(root) == before, offset


@patterns("255", "newline")
def test_opening_a_flipped_journal_keeps_every_byte(root: Path, pattern: str) -> None:
    for offset, _, data in flipped(pattern):
        path = lay(root, "small", data)
        with suppress(SegueError):
            JournalStore(str(root)).open("small", timeout_seconds=0).close()
        assert path.read_bytes() == data, offset
        assert [entry.name for entry in root.iterdir() if entry.name != ".locks"] == ["small.jsonl"], offset


@patterns("1")
def test_recovery_keeps_the_rest_and_the_original(root: Path, pattern: str) -> None:
    path = root / "small.jsonl"
    corrupt = root / "small.jsonl.corrupt"
    store = JournalStore(str(root))
    for offset, lines, data in flipped(pattern):
        lay(root, "small", data)
        recovery = store.recover("small")
        assert (recovery.original, corrupt.read_bytes()) == (str(corrupt.resolve()), data), offset
        events = list(store.read("small"))
        wanted = {id for line, kind, id in HELD if line not in lines and kind != "metadata"}
        assert wanted <= {event.id for event in events}, offset
        assert [event.seq for event in events] == list(range(1, len(events) + 1)), offset
        assert store.load("small") == recovery.session, offset
        if offset % 50 == 0:
            goes_on(root, "small")
        path.unlink()
        corrupt.unlink()

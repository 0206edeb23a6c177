"""Both files cut and flipped at every byte: found and placed, everything else readable, nothing repaired in place."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from segue.dialects.cortext.format import MESSAGES, SESSION
from segue.dialects.cortext.store import CortextStore
from segue.errors import DamagedError, SegueError
from segue.testing.conformance.chapter import ID, create_session, event_ids
from segue.testing.events import fork, status, turn, turns
from segue.testing.harness import snapshot_of
from segue.testing.harness_cortext import CortextHarness

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from segue.model import Turn
    from segue.store import Store

NEWLINE = ord("\n")


@pytest.fixture
def harness(root: Path) -> CortextHarness:
    """A small conversation: turns alone, turns with something else, a branch."""
    made = CortextHarness(root)
    with create_session(made.make(), turn(1)) as writer:
        writer.append(turn(2), status("paused"))
        writer.append(fork("other", 1))
        writer.append(*turns(3, 4, branch="other"))
    return made


@pytest.fixture
def stride(request: pytest.FixtureRequest) -> int:
    """The quick tier flips every seventh byte in each way; the long tier every one."""
    return 1 if request.config.getoption("--long") else 7


def everything(store: Store) -> dict[str, Turn]:
    return {turn.id: turn for own in store.load(ID).own_turns.values() for turn in own}


def goes_on(store: CortextStore) -> None:
    before = event_ids(store)
    with store.open(ID, timeout_seconds=0) as writer:
        writer.append(turn(900), ids_are_new=True)
    assert event_ids(store) == [*before, "turn-900"]
    assert store.examine(ID).damages == ()


def flips(data: bytes, mask: int) -> list[bytes]:
    changed = [byte ^ mask if mask else NEWLINE for byte in data]
    return [data[:at] + bytes([byte]) + data[at + 1 :] for at, byte in enumerate(changed) if byte != data[at]]


def read_in_every_way(store: CortextStore, true: dict[str, Turn]) -> None:
    """Whatever is given is true; what cannot be given is said."""
    with suppress(SegueError):
        assert all(true[turn.id] == turn for turn in store.tail(ID, 2))
    with suppress(SegueError):
        list(store.read(ID, after=3))
    with suppress(SegueError):
        store.overview(ID)
    (head,) = store.heads()
    assert head.id == ID


@pytest.mark.parametrize("mask", [0x01, 0x20, 0xFF, 0], ids=["1", "32", "255", "newline"])
def test_a_flipped_byte_of_the_turns_is_found_and_placed_and_all_else_is_readable(
    harness: CortextHarness, mask: int, stride: int
) -> None:
    path, true = harness.file(ID, MESSAGES), everything(harness.make())
    data = path.read_bytes()
    for number, flipped in enumerate(flips(data, mask)[::stride]):
        path.write_bytes(flipped)
        before = snapshot_of(harness.root)
        store = CortextStore(str(harness.root))
        with pytest.raises(DamagedError) as raised:
            store.load(ID)
        at = next(at for at, (one, other) in enumerate(zip(data, flipped, strict=True)) if one != other)
        line = data[:at].count(b"\n") + 1
        assert raised.value.damages[0].line in {line, line + 1}, number
        assert MESSAGES in raised.value.damages[0].place, number
        session = store.examine(ID).session
        assert session is not None, number
        kept = {turn.id: turn for own in session.own_turns.values() for turn in own}
        hit = {f"turn-{line}", f"turn-{line + 1}"} if data[at] == NEWLINE else {f"turn-{line}"}
        assert {name: turn for name, turn in true.items() if name not in hit}.items() <= kept.items(), number
        assert all(true[name] == turn for name, turn in kept.items()), number
        read_in_every_way(store, true)
        assert snapshot_of(harness.root) == before, number


@pytest.mark.parametrize("mask", [0x01, 0x20, 0xFF, 0], ids=["1", "32", "255", "newline"])
def test_a_flipped_byte_of_session_json_is_found_and_costs_nothing(
    harness: CortextHarness, mask: int, stride: int
) -> None:
    path, true = harness.file(ID, SESSION), everything(harness.make())
    events = list(harness.make().read(ID))
    data = path.read_bytes()
    for number, flipped in enumerate(flips(data, mask)[::stride]):
        path.write_bytes(flipped)
        store = CortextStore(str(harness.root))
        with pytest.raises(DamagedError) as raised:
            store.load(ID)
        at = next(at for at, (one, other) in enumerate(zip(data, flipped, strict=True)) if one != other)
        assert raised.value.damages[0].offset == at, number
        session = store.examine(ID).session
        assert session is not None, number
        assert {turn.id: turn for own in session.own_turns.values() for turn in own} == true, number
        assert session.seq == len(events), number
        read_in_every_way(store, true)


@pytest.mark.parametrize("name", [SESSION, MESSAGES])
def test_opening_a_flipped_conversation_keeps_every_byte(harness: CortextHarness, name: str, stride: int) -> None:
    path = harness.file(ID, name)
    for flipped in flips(path.read_bytes(), 0xFF)[::stride]:
        path.write_bytes(flipped)
        with pytest.raises(DamagedError):
            CortextStore(str(harness.root)).open(ID, timeout_seconds=0)
        assert path.read_bytes() == flipped


@pytest.mark.parametrize("name", [SESSION, MESSAGES])
def test_recovery_keeps_the_rest_and_both_originals(harness: CortextHarness, name: str) -> None:
    paths = [harness.file(ID, SESSION), harness.file(ID, MESSAGES)]
    originals, true = [path.read_bytes() for path in paths], everything(harness.make())
    store = CortextStore(str(harness.root))
    for number, flipped in enumerate(flips(harness.file(ID, name).read_bytes(), 0x01)[::7]):
        for path, data in zip(paths, originals, strict=True):
            path.write_bytes(flipped if path.name == name else data)
        recovery = store.recover(ID)
        assert harness.file(ID, f"{name}.corrupt").read_bytes() == flipped, number
        assert recovery.original == str(harness.file(ID, f"{name}.corrupt")), number
        assert store.load(ID) == recovery.session, number
        events = list(store.read(ID))
        assert [event.seq for event in events] == list(range(1, len(events) + 1)), number
        assert len(everything(store)) >= len(true) - 2, number
        goes_on(store)
        for path in harness.file(ID, name).parent.glob("*.corrupt"):
            path.unlink()


def test_turns_cut_off_at_any_byte_are_missed_and_the_others_readable(harness: CortextHarness) -> None:
    path, true = harness.file(ID, MESSAGES), everything(harness.make())
    data = path.read_bytes()
    for cut in range(len(data)):
        path.write_bytes(data[:cut])
        store = CortextStore(str(harness.root))
        whole = data[:cut].count(b"\n") + (data[cut : cut + 1] == b"\n")
        session = store.examine(ID).session
        assert session is not None, cut
        kept = {turn.id for own in session.own_turns.values() for turn in own}
        assert kept == {f"turn-{number}" for number in range(1, whole + 1)}, cut
        if cut < len(data) - 1:  # an acknowledged turn is gone; without its last newline, none is
            with pytest.raises(DamagedError):
                store.load(ID)
            with pytest.raises(DamagedError):
                store.open(ID, timeout_seconds=0)
        read_in_every_way(store, true)
        assert path.read_bytes() == data[:cut], cut


def test_an_append_cut_off_at_any_byte_is_set_aside_and_the_next_goes_on(harness: CortextHarness) -> None:
    session, messages = harness.file(ID, SESSION), harness.file(ID, MESSAGES)
    settled, lines = session.read_bytes(), messages.read_bytes()
    with harness.make().open(ID) as writer:
        writer.append(turn(5, branch="other"))
    longer = messages.read_bytes()
    known = ["turn-1", "turn-2", "paused-0", "fork-other", "turn-3", "turn-4"]
    for cut in range(len(lines), len(longer) + 1):
        session.write_bytes(settled)
        messages.write_bytes(longer[:cut])
        store = CortextStore(str(harness.root))
        expected = [*known, "turn-5"] if cut >= len(longer) - 1 else known
        assert event_ids(store) == expected, cut
        assert store.examine(ID).torn_bytes == (0 if cut >= len(longer) - 1 else cut - len(lines)), cut
        assert [head.damage for head in store.heads()] == [""], cut
        goes_on(store)


def test_session_json_cut_off_at_any_byte_costs_no_turn(
    harness: CortextHarness, positions: Callable[[bytes], Iterator[int]]
) -> None:
    path, true = harness.file(ID, SESSION), everything(harness.make())
    data = path.read_bytes()
    for cut in positions(data[:-1]):
        path.write_bytes(data[:cut])
        store = CortextStore(str(harness.root))
        examination = store.examine(ID)
        assert examination.damages, cut
        assert examination.session is not None, cut
        turns_there = {turn.id: turn for own in examination.session.own_turns.values() for turn in own}
        assert turns_there == true, cut
        with pytest.raises(DamagedError):
            store.load(ID)
        with pytest.raises(DamagedError):
            store.open(ID, timeout_seconds=0)
        assert path.read_bytes() == data[:cut], cut


def test_a_line_that_was_taken_out_is_missed(harness: CortextHarness) -> None:
    path = harness.file(ID, MESSAGES)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], *lines[2:]]))
    with pytest.raises(DamagedError, match=r"too early|missing"):
        harness.make().load(ID)


def test_a_missing_file_of_turns_is_damage_and_not_an_empty_conversation(harness: CortextHarness) -> None:
    harness.file(ID, MESSAGES).unlink()
    with pytest.raises(DamagedError):
        harness.make().load(ID)
    with pytest.raises(DamagedError):
        harness.make().open(ID)
    assert not harness.file(ID, MESSAGES).exists()


def test_lines_in_another_order_are_damage(harness: CortextHarness) -> None:
    path = harness.file(ID, MESSAGES)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[1], lines[0], *lines[2:]]))
    with pytest.raises(DamagedError, match="comes after"):
        harness.make().load(ID)


def test_a_number_beyond_all_measure_is_damage_and_not_a_full_memory(harness: CortextHarness) -> None:
    session = harness.file(ID, SESSION)
    session.write_bytes(session.read_bytes().replace(b'"seq": 7,', b'"seq": 900000000000000000,', 1))
    with pytest.raises(DamagedError, match="missing"):
        harness.make().load(ID)

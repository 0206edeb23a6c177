"""Damage is found with its place, hides nothing else, and is never repaired in place; a torn end costs only itself."""

from __future__ import annotations

import errno
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from segue.errors import DamagedError, StorageError, UsageError
from segue.testing.conformance.chapter import ID, Chapter, create_and_close, create_session, event_ids
from segue.testing.events import every_kind, turn, turns

if TYPE_CHECKING:
    from segue.store import Store
    from segue.testing.harness import Harness


class DamageChapter(Chapter):
    def test_a_sound_session_shows_no_damage_and_needs_no_recovery(self, harness: Harness, store: Store) -> None:
        create_and_close(store, *turns(1, 3), *every_kind())
        before = harness.snapshot()
        examination = store.examine(ID)
        assert examination.session == store.load(ID)
        assert examination.damages == ()
        assert examination.torn_bytes == 0
        with pytest.raises(UsageError):
            store.recover(ID)
        assert event_ids(store) == [event.id for event in (*turns(1, 3), *every_kind())]
        if not store.capabilities.can_be_damaged:
            assert harness.snapshot() == before

    @pytest.mark.parametrize("hit", [1, 2, 75, 149, 150])
    def test_a_flipped_byte_is_found_and_placed(self, harness: Harness, store: Store, hit: int) -> None:
        _keep_one_by_one(store, 150)
        if not store.capabilities.can_be_damaged:
            assert store.examine(ID).damages == ()
            return
        harness.damage(ID, f"turn-{hit}")
        before = harness.snapshot()
        with pytest.raises(DamagedError, match=ID) as caught:
            store.load(ID)
        examination = store.examine(ID)
        assert caught.value.damages == examination.damages
        assert all(damage.place and damage.reason for damage in examination.damages)
        assert examination.session is not None
        kept = [event.id for event in examination.session.turns]
        assert kept == [event.id for event in turns(1, 150) if event.id != f"turn-{hit}"]
        assert harness.snapshot() == before

    @pytest.mark.parametrize("hit", [1, 75, 150])
    def test_no_reader_skips_a_damaged_event_silently(self, harness: Harness, store: Store, hit: int) -> None:
        _keep_one_by_one(store, 150)
        everything = list(store.read(ID))
        if store.capabilities.can_be_damaged:
            harness.damage(ID, f"turn-{hit}")
        for after in (0, 10, 100, 148):
            with suppress(DamagedError):
                assert list(store.read(ID, after=after)) == everything[after:]
        for count in (1, 10, 100, 150):
            with suppress(DamagedError):
                assert list(store.tail(ID, count)) == everything[-count:]

    def test_a_writer_neither_overwrites_nor_hides_damage(self, harness: Harness, store: Store) -> None:
        _keep_one_by_one(store, 150)
        if not store.capabilities.can_be_damaged:
            store.open(ID).close()
            return
        harness.damage(ID, "turn-20")
        damages = store.examine(ID).damages
        with suppress(DamagedError), store.open(ID) as writer:
            writer.append(turn(151))
            writer.append(turn(152), ids_are_new=True)
        assert store.examine(ID).damages == damages
        with pytest.raises(DamagedError):
            store.load(ID)

    def test_a_session_whose_end_is_damaged_takes_no_writer(self, harness: Harness, store: Store) -> None:
        create_and_close(store, *turns(1, 3))
        if not store.capabilities.can_be_damaged:
            store.open(ID).close()
            return
        harness.damage(ID, "turn-3")
        before = harness.snapshot()
        with pytest.raises(DamagedError):
            store.open(ID)
        assert store.owner(ID) is None
        assert _contents(harness) >= _contents_of(before)

    def test_recovery_keeps_the_rest_and_the_original(self, harness: Harness, store: Store) -> None:
        create_and_close(store, *turns(1, 5))
        if not store.capabilities.can_be_damaged:
            with pytest.raises(UsageError):
                store.recover(ID)
            return
        harness.damage(ID, "turn-3")
        damages, before = store.examine(ID).damages, _contents(harness)
        recovery = store.recover(ID)
        assert recovery.damages == damages
        assert recovery.original
        assert recovery.kept == 5
        assert before <= _contents(harness)
        assert recovery.session == store.load(ID)
        assert event_ids(store) == ["turn-1", "turn-2", "turn-4", "turn-5"]
        assert list(store.ids()) == [ID]
        assert store.head(ID).damage == ""
        with store.open(ID) as writer:
            assert writer.append(turn(6)).seqs == (6,)
        with pytest.raises(UsageError):
            store.recover(ID)

    def test_recovery_survives_a_power_cut(self, harness: Harness, store: Store) -> None:
        create_and_close(store, *turns(1, 5))
        if store.capabilities.can_be_damaged:
            harness.damage(ID, "turn-3")
            before = _contents(harness)
            store.recover(ID)
            harness.power_cut()
            assert event_ids(harness.make()) == ["turn-1", "turn-2", "turn-4", "turn-5"]
            assert before <= _contents(harness)
        else:
            assert store.examine(ID).damages == ()

    def test_recovery_that_fails_half_way_can_be_done_again(self, harness: Harness, store: Store) -> None:
        create_and_close(store, *turns(1, 5))
        if not store.capabilities.can_be_damaged:
            assert store.examine(ID).damages == ()
            return
        harness.damage(ID, "turn-3")
        damages, before = store.examine(ID).damages, _contents(harness)
        for fail in (harness.fail_write, harness.fail_sync):
            fail(errno.EIO)
            with pytest.raises(StorageError):
                store.recover(ID)
            assert store.examine(ID).damages == damages
        recovery = store.recover(ID)
        assert recovery.damages == damages
        assert event_ids(store) == ["turn-1", "turn-2", "turn-4", "turn-5"]
        assert before <= _contents(harness)

    def test_a_second_damage_does_not_cost_the_first_original(self, harness: Harness, store: Store) -> None:
        create_and_close(store, *turns(1, 5))
        if not store.capabilities.can_be_damaged:
            assert store.examine(ID).damages == ()
            return
        harness.damage(ID, "turn-2")
        first, one = _contents(harness), store.recover(ID)
        harness.damage(ID, "turn-4")
        second, two = _contents(harness), store.recover(ID)
        assert one.original != two.original
        assert first | second <= _contents(harness)
        assert event_ids(store) == ["turn-1", "turn-3", "turn-5"]

    def test_a_damaged_session_can_be_deleted_on_request(self, harness: Harness, store: Store) -> None:
        create_and_close(store, *turns(1, 3))
        if store.capabilities.can_be_damaged:
            harness.damage(ID, "turn-1")
        store.delete(ID)
        assert list(store.ids()) == []

    def test_a_torn_end_costs_only_what_was_never_acknowledged(self, harness: Harness, store: Store) -> None:
        create_and_close(store, *turns(1, 3))
        before = store.load(ID)
        if store.capabilities.can_be_damaged:
            harness.tear(ID, turn(4))
        snapshot = harness.snapshot()
        assert store.load(ID) == before
        assert store.tail(ID, 2) == before.turns[1:]
        assert event_ids(store) == ["turn-1", "turn-2", "turn-3"]
        assert store.examine(ID).damages == ()
        assert harness.snapshot() == snapshot
        with pytest.raises(UsageError):
            store.recover(ID)

    def test_the_writer_after_a_torn_end_just_goes_on(self, harness: Harness, store: Store) -> None:
        create_and_close(store, *turns(1, 3))
        for number in range(4, 8):
            if store.capabilities.can_be_damaged:
                harness.tear(ID, turn(number, f"a fragment of turn {number} " * number))
            with store.open(ID) as writer:
                assert writer.append(turn(number)).seqs == (number + 1,)
            assert store.examine(ID).torn_bytes == 0
        assert event_ids(store) == [event.id for event in turns(1, 7)]

    def test_a_torn_append_is_not_recorded_and_can_be_made_again(self, harness: Harness, store: Store) -> None:
        create_and_close(store, turn(1))
        if store.capabilities.can_be_damaged:
            harness.tear(ID, turn(2))
        with store.open(ID) as writer:
            assert writer.append(*turns(1, 2)).seqs == (2, 3)
        assert event_ids(store) == ["turn-1", "turn-2"]


def _keep_one_by_one(store: Store, count: int) -> None:
    with create_session(store) as writer:
        for event in turns(1, count):
            writer.append(event, ids_are_new=True)


def _contents(harness: Harness) -> set[bytes]:
    return _contents_of(harness.snapshot())


def _contents_of(snapshot: object) -> set[bytes]:
    """The content of all files, whatever their names: none of it may be lost."""
    assert isinstance(snapshot, dict)
    return {content for *_, content in snapshot.values() if content}

"""Every failure is a typed error, and what was not acknowledged did not happen."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import pytest

from segue.errors import DiskFullError, NotFoundError, SegueError, StorageError, WriterStoppedError
from segue.store import Durability
from segue.testing.conformance.chapter import ID, Chapter, create_and_close, create_session, event_ids
from segue.testing.events import turn, turns

if TYPE_CHECKING:
    from segue.store import Store
    from segue.testing.harness import Harness

NUMBERS = (errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.ENODEV)


class ErrorsChapter(Chapter):
    def test_an_error_says_what_and_what_to_do_next(self, store: Store) -> None:
        create_and_close(store)
        with create_session(store, session_id="used"):
            attempts = (
                lambda: store.open("used", timeout_seconds=0),
                lambda: store.delete("used"),
                lambda: create_session(store),
                lambda: store.load("a/b"),
                lambda: store.recover(ID),
            )
            for attempt in attempts:
                with pytest.raises(SegueError) as caught:
                    attempt()
                assert str(caught.value)
                assert caught.value.hint

    def test_what_is_not_there_is_named(self, store: Store) -> None:
        with pytest.raises(NotFoundError, match=ID):
            store.load(ID)

    @pytest.mark.parametrize("number", NUMBERS, ids=errno.errorcode.get)
    def test_a_failed_write_records_nothing(self, harness: Harness, store: Store, number: int) -> None:
        with create_session(store, turn(1)) as writer:
            if not _can_fail(store):
                assert writer.append(turn(2)).durability == Durability.VOLATILE
                return
            harness.fail_write(number)
            with pytest.raises(StorageError) as caught:
                writer.append(turn(2), turn(3))
            assert event_ids(store) == ["turn-1"]
            if number in {errno.ENOSPC, errno.EDQUOT}:
                assert isinstance(caught.value, DiskFullError)
                assert writer.append(turn(2)).seqs == (3,)
            else:
                with pytest.raises(WriterStoppedError):
                    writer.append(turn(2))
        expected = event_ids(store)
        harness.power_cut()
        assert event_ids(harness.make()) == (expected if _is_synced(store) else expected[:1])

    @pytest.mark.parametrize("number", NUMBERS, ids=errno.errorcode.get)
    def test_a_failed_sync_stops_the_writer_for_good(self, harness: Harness, store: Store, number: int) -> None:
        with create_session(store, turn(1)) as writer:
            if not _is_synced(store):
                assert writer.append(turn(2)).durability < Durability.SYNCED
                return
            harness.fail_sync(number)
            with pytest.raises(StorageError):
                writer.append(turn(2))
            for _ in range(2):
                with pytest.raises(StorageError):
                    writer.append(turn(3))
            assert event_ids(store) == ["turn-1"]
        assert event_ids(store) == ["turn-1"]
        with store.open(ID) as successor:
            assert successor.append(turn(2)).seqs == (3,)
        harness.power_cut()
        assert event_ids(harness.make()) == ["turn-1", "turn-2"]

    @pytest.mark.parametrize("number", NUMBERS, ids=errno.errorcode.get)
    def test_a_session_that_could_not_be_made_is_not_there(self, harness: Harness, store: Store, number: int) -> None:
        if not _can_fail(store):
            assert create_session(store).append(turn(1)).durability == Durability.VOLATILE
            return
        for fail in (harness.fail_write, harness.fail_sync):
            fail(number)
            with pytest.raises(StorageError):
                create_session(store, *turns(1, 2))
            assert list(store.ids()) == []
            assert store.owner(ID) is None
        create_and_close(store, turn(3))
        assert event_ids(store) == ["turn-3"]

    def test_a_full_disk_hinders_no_reader_and_no_deletion(self, harness: Harness, store: Store) -> None:
        create_and_close(store, *turns(1, 3))
        if _can_fail(store):
            harness.fail_write(errno.ENOSPC)
        session = store.load(ID)
        assert store.tail(ID, 2) == session.turns[1:]
        assert [head.id for head in store.heads()] == [ID]
        store.delete(ID)
        assert list(store.ids()) == []


def _can_fail(store: Store) -> bool:
    """A store that writes nothing cannot fail to write."""
    return store.capabilities.durability > Durability.VOLATILE


def _is_synced(store: Store) -> bool:
    return store.capabilities.durability >= Durability.SYNCED

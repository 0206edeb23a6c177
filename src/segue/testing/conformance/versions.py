"""A session of a newer major version can be read, and this version never writes to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from segue.errors import ReadOnlyError
from segue.store import FORMAT_VERSION
from segue.testing.conformance.chapter import ID, Chapter, create_and_close, event_ids
from segue.testing.events import metadata, turn, turns

if TYPE_CHECKING:
    from segue.store import Store
    from segue.testing.harness import Harness


class VersionsChapter(Chapter):
    @pytest.mark.parametrize("newer", [1, 2, 98])
    def test_a_newer_session_can_be_read(self, harness: Harness, store: Store, newer: int) -> None:
        _plant(harness, store, FORMAT_VERSION + newer)
        assert [event.id for event in store.load(ID).turns] == ["turn-1", "turn-2", "turn-3"]
        assert store.load(ID).version == FORMAT_VERSION + newer
        assert [event.id for event in store.tail(ID, 1)] == ["turn-3"]
        assert event_ids(store) == ["turn-1", "turn-2", "turn-3"]
        assert store.head(ID).damage == ""
        assert [head.turn_count for head in store.heads()] == [3]
        assert store.examine(ID).damages == ()

    @pytest.mark.parametrize("newer", [1, 2, 98])
    def test_a_newer_session_takes_no_writer(self, harness: Harness, store: Store, newer: int) -> None:
        _plant(harness, store, FORMAT_VERSION + newer)
        revision, events = store.revision(ID), list(store.read(ID))
        with pytest.raises(ReadOnlyError) as caught:
            store.open(ID)
        assert ID in str(caught.value)
        assert caught.value.hint
        assert store.owner(ID) is None
        assert store.revision(ID) == revision
        assert list(store.read(ID)) == events

    def test_a_newer_session_is_not_rewritten_by_recovery(self, harness: Harness, store: Store) -> None:
        _plant(harness, store, FORMAT_VERSION + 1)
        if not store.capabilities.can_be_damaged:
            assert store.examine(ID).damages == ()
            return
        harness.damage(ID, "turn-2")
        revision = store.revision(ID)
        with pytest.raises(ReadOnlyError):
            store.recover(ID)
        assert store.revision(ID) == revision

    def test_a_newer_session_can_be_deleted_on_request(self, harness: Harness, store: Store) -> None:
        _plant(harness, store, FORMAT_VERSION + 1)
        store.delete(ID)
        assert list(store.ids()) == []

    @pytest.mark.parametrize("version", range(FORMAT_VERSION + 1))
    def test_this_version_and_older_ones_can_be_written(self, harness: Harness, store: Store, version: int) -> None:
        _plant(harness, store, version)
        with store.open(ID) as writer:
            assert writer.append(turn(4)).seqs == (5,)
        assert store.load(ID).version == version

    def test_a_newer_session_is_in_nobodys_way(self, harness: Harness, store: Store) -> None:
        _plant(harness, store, FORMAT_VERSION + 1)
        create_and_close(store, turn(1), session_id="ours")
        with store.open("ours") as writer:
            writer.append(turn(2))
        assert sorted(store.ids()) == ["ours", ID]


def _plant(harness: Harness, store: Store, version: int) -> None:
    harness.plant(store, ID, [metadata(ID, version=version), *turns(1, 3)])

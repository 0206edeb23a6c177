"""A deleted session can be restored as it was, until it is erased; a store without a trash declares it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from segue.errors import ConflictError, NotFoundError, SessionExistsError, SessionLockedError
from segue.testing.conformance.chapter import ID, Chapter, create_and_close, create_session, event_ids
from segue.testing.events import every_kind, turn, turns

if TYPE_CHECKING:
    from segue.store import Store
    from segue.testing.harness import Harness


class TrashChapter(Chapter):
    def test_what_is_deleted_is_put_back_as_it_was(self, store: Store) -> None:
        with create_session(store, *every_kind()) as writer:
            blob = writer.put_blob(b"an image")
        before, recorded = store.load(ID), list(store.read(ID))
        if store.trash is None:
            store.delete(ID)
            assert not store.has_remains(ID)
            return
        key = store.trash.put(ID)
        assert [(entry.key, entry.head.id) for entry in store.trash.entries()] == [(key, ID)]
        assert store.trash.restore(key) == ID
        assert (store.load(ID), list(store.read(ID))) == (before, recorded)
        assert store.get_blob(ID, blob) == b"an image"
        assert list(store.trash.entries()) == []
        with store.open(ID) as writer:
            writer.append(turn(90))

    def test_what_is_in_the_trash_is_no_session(self, store: Store) -> None:
        create_and_close(store, turn(1))
        create_and_close(store, turn(1), session_id=f"{ID}-2")
        if store.trash is None:
            return
        store.trash.put(ID)
        assert list(store.ids()) == [f"{ID}-2"]
        assert [head.id for head in store.heads()] == [f"{ID}-2"]
        for attempt in (store.load, store.open, store.revision, store.trash.put):
            with pytest.raises(NotFoundError):
                attempt(ID)

    def test_it_says_what_it_was(self, store: Store) -> None:
        create_and_close(store, *turns(1, 3))
        head = store.head(ID)
        if store.trash is None:
            return
        store.trash.put(ID)
        (entry,) = store.trash.entries()
        assert entry.head == head
        assert entry.size_bytes > 0

    def test_a_session_in_use_or_changed_meanwhile_stays(self, store: Store) -> None:
        if store.trash is None:
            return
        with create_session(store, turn(1)) as writer:
            revision = store.revision(ID)
            with pytest.raises(SessionLockedError):
                store.trash.put(ID)
            writer.append(turn(2))
        with pytest.raises(ConflictError):
            store.trash.put(ID, revision=revision)
        assert event_ids(store) == ["turn-1", "turn-2"]
        assert list(store.trash.entries()) == []

    def test_nothing_is_put_back_over_another_session(self, store: Store) -> None:
        create_and_close(store, turn(1))
        if store.trash is None:
            return
        first = store.trash.put(ID)
        create_and_close(store, turn(2))
        with pytest.raises(SessionExistsError):
            store.trash.restore(first)
        second = store.trash.put(ID)
        assert {entry.key for entry in store.trash.entries()} == {first, second}
        store.trash.restore(first)
        assert event_ids(store) == ["turn-1"]

    def test_what_is_erased_is_gone_and_nothing_else(self, store: Store) -> None:
        create_and_close(store, turn(1))
        create_and_close(store, turn(1), session_id=f"{ID}-2")
        if store.trash is None:
            return
        key, other = store.trash.put(ID), store.trash.put(f"{ID}-2")
        store.trash.erase(key)
        assert [entry.key for entry in store.trash.entries()] == [other]
        for attempt in (store.trash.erase, store.trash.restore):
            with pytest.raises(NotFoundError):
                attempt(key)
        store.trash.restore(other)
        assert event_ids(store, f"{ID}-2") == ["turn-1"]

    def test_deleting_for_good_leaves_the_trash_alone(self, store: Store) -> None:
        create_and_close(store, turn(1))
        if store.trash is None:
            return
        key = store.trash.put(ID)
        create_and_close(store, turn(2))
        store.delete(ID)
        assert not store.has_remains(ID)
        store.trash.restore(key)
        assert event_ids(store) == ["turn-1"]

    def test_a_damaged_session_can_be_deleted_and_put_back(self, harness: Harness, store: Store) -> None:
        create_and_close(store, *turns(1, 3))
        if store.trash is None or not store.capabilities.can_be_damaged:
            return
        harness.damage(ID, "turn-2")
        damages = store.examine(ID).damages
        store.trash.restore(store.trash.put(ID))
        assert store.examine(ID).damages == damages

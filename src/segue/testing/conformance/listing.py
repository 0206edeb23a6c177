"""A listing shows every session as it is, without loading conversations and without hiding what cannot be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from segue.errors import DamagedError
from segue.model import head_of, last_activity
from segue.testing.conformance.chapter import ID, Chapter, create_and_close, create_session
from segue.testing.events import every_kind, fork, status, turn, turns

if TYPE_CHECKING:
    from segue.model import Head
    from segue.store import Store
    from segue.testing.harness import Harness


class ListingChapter(Chapter):
    def test_every_session_is_listed_once(self, store: Store) -> None:
        made = [f"session-{number}" for number in range(40)]
        for number, session_id in enumerate(made):
            create_and_close(store, *turns(1, number % 5), session_id=session_id)
        assert sorted(store.ids()) == sorted(made)
        assert sorted(head.id for head in store.heads()) == sorted(made)

    def test_a_head_says_what_the_session_says(self, store: Store) -> None:
        create_and_close(store, *every_kind(), session_id="every-kind")
        create_and_close(store, *turns(1, 200), session_id="long")
        create_and_close(store, *turns(1, 3), fork("other", 1), session_id="forked")
        create_and_close(store, session_id="empty")
        with create_session(store, turn(1), status("active"), session_id="alive"):
            heads = _heads(store)
            assert sorted(heads) == ["alive", "empty", "every-kind", "forked", "long"]
            for session_id, head in heads.items():
                overview = head_of(store.load(session_id))
                assert head == store.head(session_id) == replace(overview, updated_at=head.updated_at)
                assert head.updated_at == last_activity(overview.updated_at, store.changed_at(session_id))
        assert heads["forked"].turn_count == 1
        assert heads["long"].turn_count == 200
        assert heads["every-kind"].title == "Logout bug"
        assert heads["every-kind"].tags == ("ux", "later")

    def test_a_listing_is_never_older_than_the_last_append(self, store: Store) -> None:
        with create_session(store, session_id="one") as one, create_session(store, session_id="two") as two:
            for number in range(1, 20):
                (one if number % 2 else two).append(turn(number))
                assert {head.turn_count for head in store.heads()} == {number // 2, (number + 1) // 2}

    def test_a_listing_shows_what_was_made_and_removed_since_the_last(self, store: Store) -> None:
        create_and_close(store, session_id="one")
        assert sorted(_heads(store)) == ["one"]
        create_and_close(store, turn(1), session_id="two")
        assert sorted(_heads(store)) == ["one", "two"]
        store.delete("one")
        assert sorted(_heads(store)) == ["two"]
        store.delete("two")
        create_and_close(store, *turns(1, 3), session_id="two")
        assert _heads(store)["two"].turn_count == 3

    def test_another_store_object_sees_the_same_if_the_store_is_shared(self, harness: Harness, store: Store) -> None:
        other = harness.make()
        with create_session(store, turn(1)) as writer:
            writer.append(turn(2))
            expected = _heads(store) if store.capabilities.shared else {}
            assert _heads(other) == expected
            writer.append(turn(3))
            assert [head.turn_count for head in other.heads()] == [3] * len(expected)
        other.close()

    def test_a_store_tells_what_its_sessions_take(self, store: Store) -> None:
        before = store.size_bytes()
        create_and_close(store, *turns(1, 200))
        after = store.size_bytes()
        assert (before is None) == (after is None)
        assert (before or 0) < (after or 1)

    def test_what_an_administrator_is_told_changes_nothing(self, store: Store) -> None:
        if store.administration is None:
            return
        before = store.administration.describe()
        assert store.administration.describe() == before
        create_and_close(store)
        assert store.administration.describe().can_write
        version = store.administration.describe().version
        assert store.administration.create().before == store.administration.create().version == version
        assert list(store.ids()) == [ID]

    def test_one_can_delete_while_listing(self, store: Store) -> None:
        for number in range(20):
            create_and_close(store, session_id=f"session-{number}")
        for head in store.heads():
            store.delete(head.id)
        assert list(store.heads()) == []

    def test_an_unreadable_session_is_listed_and_hides_no_other(self, harness: Harness, store: Store) -> None:
        create_and_close(store, *turns(1, 3))
        create_and_close(store, turn(1), session_id="sound")
        sound = store.head("sound")
        if not store.capabilities.can_be_damaged:
            assert [head.damage for head in store.heads()] == ["", ""]
            return
        harness.damage(ID, "turn-2")
        assert sorted(store.ids()) == [ID, "sound"]
        heads = _heads(store)
        assert sorted(heads) == [ID, "sound"]
        assert heads["sound"] == sound
        assert bool(heads[ID].damage) != store.capabilities.lists_from_columns
        assert store.head(ID).damage == heads[ID].damage
        with pytest.raises(DamagedError):
            store.load(ID)

    def test_a_session_whose_beginning_is_lost_is_listed(self, harness: Harness, store: Store) -> None:
        create_and_close(store, turn(1))
        if not store.capabilities.can_be_damaged:
            assert store.head(ID).damage == ""
            return
        harness.damage(ID, f"{ID}-begins")
        assert list(store.ids()) == [ID]
        is_shown = not store.capabilities.lists_from_columns
        assert [(head.id, bool(head.damage)) for head in store.heads()] == [(ID, is_shown)]
        for attempt in (store.load, store.open):
            with pytest.raises(DamagedError):
                attempt(ID)

    def test_an_append_cut_short_is_no_damage_in_a_listing(self, harness: Harness, store: Store) -> None:
        create_and_close(store, *turns(1, 3))
        before = store.head(ID)
        if store.capabilities.can_be_damaged:
            harness.tear(ID, turn(4))
        found = store.head(ID)
        assert replace(found, updated_at=before.updated_at) == before  # but the file was touched just now
        assert _heads(store) == {ID: found}


def _heads(store: Store) -> dict[str, Head]:
    heads = list(store.heads())
    assert len({head.id for head in heads}) == len(heads)
    return {head.id: head for head in heads}

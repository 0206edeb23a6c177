"""After everything is closed, the next store object finds what was stored, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from segue.errors import ConflictError, NotFoundError
from segue.store import Durability
from segue.testing.conformance.chapter import ID, Chapter, create_and_close, create_session, event_ids
from segue.testing.events import every_kind, fork, status, turn, turns

if TYPE_CHECKING:
    from segue.store import Store
    from segue.testing.harness import Harness


class ReopeningChapter(Chapter):
    def test_sessions_are_as_they_were_left(self, harness: Harness, store: Store) -> None:
        create_and_close(store, *turns(1, 5), *every_kind(), session_id="every-kind")
        create_and_close(store, *turns(1, 150), session_id="long")
        create_and_close(store, *turns(1, 3), fork("other", 1), session_id="forked")
        heads = sorted(store.heads(), key=lambda head: head.id)
        sessions = {head.id: store.load(head.id) for head in heads}
        revisions = {head.id: store.revision(head.id) for head in heads}
        store.close()
        again = harness.make()
        if _forgets(store):
            assert [*again.ids(), *again.heads()] == []
            return
        assert sorted(again.heads(), key=lambda head: head.id) == heads
        assert {id: again.load(id) for id in again.ids()} == sessions
        assert {id: again.revision(id) for id in again.ids()} == revisions

    def test_the_next_writer_goes_on_where_the_last_stopped(self, harness: Harness) -> None:
        create_and_close(harness.make(), *turns(1, 60))
        for number in range(61, 70):
            store = harness.make()
            if _forgets(store):
                with pytest.raises(NotFoundError):
                    store.open(ID)
                return
            with store.open(ID) as writer:
                assert writer.overview.turn_count == number - 1
                assert writer.append(turn(number), ids_are_new=True).seqs == (number + 1,)
            store.close()
        assert event_ids(harness.make()) == [event.id for event in turns(1, 69)]

    def test_ids_are_remembered(self, harness: Harness) -> None:
        create_and_close(harness.make(), *turns(1, 60))
        store = harness.make()
        if _forgets(store):
            create_and_close(store, turn(1, "other content"))
            assert store.load(ID).turns[0].content == "other content"
            return
        with store.open(ID) as writer:
            assert writer.append(turn(1), turn(61), turn(30)).seqs == (2, 62, 31)
            with pytest.raises(ConflictError):
                writer.append(turn(1, "other content"))

    def test_status_and_overview_are_remembered(self, harness: Harness) -> None:
        store = harness.make()
        with create_session(store, *every_kind()) as writer:
            writer.append(status("completed"))
            overview = writer.overview
        again = harness.make()
        if _forgets(store):
            assert list(again.ids()) == []
            return
        with again.open(ID) as writer:
            assert writer.overview == overview
        assert again.load(ID).status == "completed"

    def test_a_deleted_session_stays_deleted(self, harness: Harness, store: Store) -> None:
        create_and_close(store, turn(1))
        store.delete(ID)
        store.close()
        assert list(harness.make().ids()) == []
        create_and_close(harness.make(), turn(2))

    def test_a_store_that_was_closed_can_be_asked_again(self, store: Store) -> None:
        create_and_close(store, turn(1))
        store.close()
        store.close()
        assert event_ids(store) == ["turn-1"]
        assert [head.id for head in store.heads()] == [ID]


def _forgets(store: Store) -> bool:
    return store.capabilities.durability == Durability.VOLATILE

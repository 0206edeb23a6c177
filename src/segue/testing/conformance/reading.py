"""Reading shows everything up to the last complete append, waits for no writer and writes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from segue.errors import ConflictError, NotFoundError, UsageError
from segue.model import fold, overview_of
from segue.store import FORMAT_VERSION
from segue.testing.conformance.chapter import ID, Chapter, create_and_close, create_session, event_ids
from segue.testing.events import every_kind, fork, metadata, status, turn, turns

if TYPE_CHECKING:
    from segue.store import Store
    from segue.testing.harness import Harness

LONG = 150
"""Enough turns for what a store does only occasionally, such as checkpoints."""


class ReadingChapter(Chapter):
    def test_a_session_is_the_fold_of_its_events(self, store: Store) -> None:
        with create_session(store, *turns(1, LONG), *every_kind()):
            assert store.load(ID) == fold(store.read(ID))

    def test_the_overview_is_the_session_without_its_turns(self, store: Store) -> None:
        with create_session(store, *every_kind()) as writer:
            assert store.overview(ID) == overview_of(store.load(ID))
            for event in turns(1, LONG):
                writer.append(event, ids_are_new=True)
            assert store.overview(ID) == overview_of(store.load(ID)) == writer.overview
        assert store.overview(ID) == overview_of(store.load(ID))

    def test_reading_goes_on_behind_any_event(self, store: Store) -> None:
        with create_session(store) as writer:
            for event in turns(1, LONG):
                writer.append(event, ids_are_new=True)
        events = list(store.read(ID))
        assert len(events) == LONG + 1
        for after in (-1, 0, 1, 2, LONG // 2, LONG - 1, LONG, LONG + 1, LONG + 9):
            assert list(store.read(ID, after=after)) == events[max(0, after) :]

    def test_the_tail_is_the_end_of_the_path(self, store: Store) -> None:
        with create_session(store) as writer:
            for event in turns(1, LONG):
                writer.append(event, ids_are_new=True)
            writer.append(fork("side", 70), *turns(1001, 1050, branch="side"))
            writer.append(fork("twig", 110, parent="side", switch=False), *turns(2001, 2003, branch="twig"))
            writer.append(turn(LONG + 1))
        session = store.load(ID)
        assert session.branch == "side"
        for count in (0, 1, 2, 10, 49, 50, 51, 113, 120, 121, 1000):
            for branch in (None, "main", "side", "twig"):
                path = session.path(branch or "side")
                assert store.tail(ID, count, branch=branch) == path[max(0, len(path) - count) :]

    def test_a_tail_of_less_than_nothing_is_refused(self, store: Store) -> None:
        create_and_close(store, turn(1))
        with pytest.raises(UsageError):
            store.tail(ID, -1)

    def test_the_tail_of_a_branch_there_is_not_is_not_found(self, store: Store) -> None:
        create_and_close(store, turn(1))
        with pytest.raises(NotFoundError):
            store.tail(ID, 1, branch="nowhere")

    def test_a_reader_sees_each_append_while_the_writer_lives(self, store: Store) -> None:
        with create_session(store) as writer:
            for number in range(1, 30):
                writer.append(turn(number))
                assert [event.id for event in store.load(ID).turns] == [f"turn-{n}" for n in range(1, number + 1)]
                assert [event.id for event in store.tail(ID, 1)] == [f"turn-{number}"]
                assert [event.id for event in store.read(ID, after=number)] == [f"turn-{number}"]
                assert store.head(ID).turn_count == number

    def test_the_revision_changes_with_every_append_and_only_then(self, store: Store) -> None:
        with create_session(store) as writer:
            seen = [store.revision(ID)]
            for number in range(1, 20):
                writer.append(turn(number))
                _read_everything(store)
                writer.append(turn(number))
                seen.append(store.revision(ID))
                assert store.revision(ID) == seen[-1]
        assert store.revision(ID) == seen[-1]
        assert len(set(seen)) == 20

    def test_all_revisions_at_once_are_the_revision_of_each(self, store: Store) -> None:
        assert list(store.revisions()) == []
        for number in range(3):
            create_and_close(store, *turns(1, number), session_id=f"session-{number}")
        with create_session(store, turn(1)) as writer:
            before = dict(store.revisions())
            assert before == {session_id: store.revision(session_id) for session_id in store.ids()}
            writer.append(turn(2))
            assert {id for id, revision in store.revisions() if revision != before[id]} == {ID}

    def test_in_an_append_only_store_the_rest_follows_what_is_known(self, store: Store) -> None:
        with create_session(store, *turns(1, 3)) as writer:
            known = list(store.read(ID))
            writer.append(turn(4), status("paused"))
        if store.capabilities.append_only:
            assert list(store.read(ID))[: len(known)] == known
        assert [event.id for event in store.read(ID, after=known[-1].seq)] == ["turn-4", "paused-0"]

    def test_a_session_made_anew_has_another_revision(self, store: Store) -> None:
        seen: set[str] = set()
        for _ in range(10):
            create_and_close(store)
            seen.add(store.revision(ID))
            store.delete(ID)
        assert len(seen) == 10

    def test_deleting_what_has_changed_since_is_a_conflict(self, store: Store) -> None:
        create_and_close(store)
        before = store.revision(ID)
        with store.open(ID) as writer:
            writer.append(turn(1))
        with pytest.raises(ConflictError):
            store.delete(ID, revision=before)
        assert event_ids(store) == ["turn-1"]
        store.delete(ID, revision=store.revision(ID))
        assert list(store.ids()) == []

    def test_making_and_asking_an_empty_store_writes_nothing(self, harness: Harness) -> None:
        before = harness.snapshot()
        store = harness.make()
        assert [*store.ids(), *store.heads(), *store.revisions()] == []
        store.close()
        assert harness.snapshot() == before

    def test_reading_writes_nothing(self, harness: Harness, store: Store) -> None:
        create_and_close(store, *turns(1, LONG), session_id="interrupted")
        create_and_close(store, *turns(1, 3), status("paused"), session_id="paused")
        harness.plant(store, "newer", [metadata("newer", version=FORMAT_VERSION + 1)])
        with create_session(store, turn(1)):
            before, events = harness.snapshot(), {id: list(store.read(id)) for id in store.ids()}
            _read_everything(store)
            assert harness.snapshot() == before
        store.close()
        assert {id: list(store.read(id)) for id in store.ids()} == events

    def test_opening_and_closing_records_nothing(self, store: Store) -> None:
        create_and_close(store, turn(1))
        revision, session = store.revision(ID), store.load(ID)
        store.open(ID).close()
        assert store.revision(ID) == revision
        assert store.load(ID) == session

    def test_what_was_handed_out_is_not_the_stores_own(self, store: Store) -> None:
        create_and_close(store, turn(1, native={"x": [1]}))
        for given in (store.load(ID).turns[0], store.tail(ID, 1)[0]):
            assert given.native is not None
            given.native["x"] = "scribbled over"
        assert store.load(ID).turns[0].native == {"x": [1]}


def _read_everything(store: Store) -> None:
    list(store.heads())
    for session_id in list(store.ids()):
        session = store.load(session_id)
        for branch in session.branches:
            store.tail(session_id, 5, branch=branch)
        list(store.read(session_id))
        list(store.read(session_id, after=1))
        store.head(session_id)
        store.owner(session_id)
        store.examine(session_id)
        store.revision(session_id)
        store.scope_file(session_id)
    list(store.revisions())

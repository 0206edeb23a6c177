"""The status is what was recorded last; a reader sees that a writer died, and never records it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from segue.testing.conformance.chapter import ID, Chapter, create_and_close, create_session, event_ids
from segue.testing.events import metadata, status, turn, turns

if TYPE_CHECKING:
    from segue.model import Status
    from segue.store import Store
    from segue.testing.harness import Harness


class LifecycleChapter(Chapter):
    def test_a_session_is_active_while_its_writer_lives(self, store: Store) -> None:
        with create_session(store, turn(1)) as writer:
            assert _status(store) == "active"
            writer.append(turn(2))
            assert _status(store) == "active"
            assert writer.overview.status == "active"

    def test_an_active_session_without_a_writer_reads_as_interrupted(self, store: Store) -> None:
        create_and_close(store, turn(1))
        assert _status(store) == "interrupted"

    def test_readers_conclude_it_and_record_nothing(self, harness: Harness, store: Store) -> None:
        create_and_close(store, turn(1))
        before, revision = harness.snapshot(), store.revision(ID)
        assert _status(store) == "interrupted"
        assert event_ids(store) == ["turn-1"]
        assert store.revision(ID) == revision
        assert harness.snapshot() == before

    def test_it_is_active_again_as_soon_as_somebody_writes(self, store: Store) -> None:
        create_and_close(store, turn(1))
        with store.open(ID) as writer:
            assert _status(store) == "active"
            assert writer.overview.status == "active"
        assert _status(store) == "interrupted"

    @pytest.mark.parametrize("word", ["paused", "completed", "interrupted"])
    def test_what_was_recorded_stays(self, store: Store, word: Status) -> None:
        with create_session(store, turn(1)) as writer:
            writer.append(status(word))
            assert _status(store) == word
        assert _status(store) == word
        with store.open(ID) as writer:
            assert writer.overview.status == word
            assert _status(store) == word
            writer.append(turn(2))
            assert _status(store) == word
        assert _status(store) == word

    def test_the_last_word_counts(self, store: Store) -> None:
        with create_session(store) as writer:
            words: tuple[Status, ...] = ("paused", "active", "completed", "active", "interrupted", "paused", "active")
            for number, word in enumerate(words):
                writer.append(status(word, number), turn(number))
                assert _status(store) == word
        assert _status(store) == "interrupted"

    def test_a_session_can_be_born_in_any_status(self, store: Store) -> None:
        words: tuple[Status, ...] = ("paused", "completed", "interrupted")
        for word in words:
            store.create(word, [metadata(word, status=word)]).close()
            assert _status(store, word) == word

    def test_a_writer_that_is_killed_leaves_an_interrupted_session(self, harness: Harness) -> None:
        store = harness.make()
        writer = create_session(store, *turns(1, 3))
        harness.kill()
        store = harness.make()
        if store.capabilities.shared:
            assert _status(store) == "interrupted"
            assert event_ids(store) == ["turn-1", "turn-2", "turn-3"]
            assert writer.overview.status == "active"
        else:
            assert list(store.ids()) == []

    def test_a_killed_writers_last_word_stays(self, harness: Harness) -> None:
        store = harness.make()
        writer = create_session(store, status("completed"))
        harness.kill()
        store = harness.make()
        assert [_status(store, id) for id in store.ids()] == ["completed"] * store.capabilities.shared
        assert writer.overview.status == "completed"


def _status(store: Store, session_id: str = ID) -> str:
    """The status as every reader sees it."""
    found = store.load(session_id).status
    examined = store.examine(session_id).session
    assert examined is not None
    assert examined.status == found
    assert store.head(session_id).status == found
    assert [head.status for head in store.heads() if head.id == session_id] == [found]
    return found

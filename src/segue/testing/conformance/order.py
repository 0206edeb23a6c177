"""Order is a number within the session, never a clock."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from segue.testing.conformance.chapter import ID, Chapter, create_and_close, create_session, event_ids
from segue.testing.events import START, moment, turn, turns

if TYPE_CHECKING:
    from segue.store import Store


class OrderChapter(Chapter):
    def test_events_stand_in_the_order_in_which_they_were_given(self, store: Store) -> None:
        with create_session(store) as writer:
            writer.append(turn(3), turn(1), turn(2))
            writer.append(turn(0))
        assert event_ids(store) == ["turn-3", "turn-1", "turn-2", "turn-0"]
        assert [event.id for event in store.load(ID).turns] == event_ids(store)
        assert [event.id for event in store.tail(ID, 3)] == event_ids(store)[1:]

    def test_a_clock_that_runs_backwards_changes_no_order(self, store: Store) -> None:
        with create_session(store) as writer:
            for number in (5, 4, 3):
                writer.append(turn(number))
            writer.append(replace(turn(6), timestamp=START.replace(year=1980)))
        session = store.load(ID)
        assert [event.id for event in session.turns] == ["turn-5", "turn-4", "turn-3", "turn-6"]
        assert session.updated_at == moment(5)
        assert session.created_at == START

    def test_a_clock_that_stands_still_changes_no_order(self, store: Store) -> None:
        with create_session(store) as writer:
            for event in turns(1, 9):
                writer.append(replace(event, timestamp=START))
        assert event_ids(store) == [event.id for event in turns(1, 9)]

    def test_numbers_have_no_gap_from_writer_to_writer(self, store: Store) -> None:
        create_and_close(store, turn(1))
        for number in range(2, 12):
            with store.open(ID) as writer:
                assert writer.append(turn(number)).seqs == (number + 1,)
        assert [event.seq for event in store.read(ID)] == list(range(1, 13))

    def test_sessions_are_numbered_each_for_itself(self, store: Store) -> None:
        with create_session(store, session_id="one") as one, create_session(store, session_id="two") as two:
            for number in range(1, 4):
                assert one.append(turn(number)).seqs == two.append(turn(number)).seqs == (number + 1,)

"""What this version does not know is stored unchanged: fields, types of events, and what newer programs leave."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from segue.model import Metadata, Unknown
from segue.testing.conformance.chapter import ID, Chapter, create_and_close, create_session, event_ids
from segue.testing.events import metadata, status, turn, turns

if TYPE_CHECKING:
    from segue.model import Event, JsonObject
    from segue.store import Store
    from segue.testing.harness import Harness

STRANGE: JsonObject = {"mood": {"deep": [1, None, {"x": [True, 0.5]}]}, "a b": "", "type2": "turn"}


class UnknownDataChapter(Chapter):
    def test_unknown_fields_come_back(self, store: Store) -> None:
        with store.create(ID, [_strange_metadata()]) as writer:
            writer.append(replace(turn(1), extra=STRANGE), replace(status("paused"), extra=STRANGE))
        assert store.load(ID).extra == STRANGE
        assert [event.extra for event in store.read(ID) if not isinstance(event, Unknown)] == [STRANGE] * 3
        assert store.tail(ID, 1)[0].extra == STRANGE

    def test_unknown_events_come_back_in_their_place(self, store: Store) -> None:
        with create_session(store, turn(1), _weather(1)) as writer:
            writer.append(_weather(2), turn(2), _weather(3))
        assert event_ids(store) == ["turn-1", "weather-1", "weather-2", "turn-2", "weather-3"]
        session = store.load(ID)
        assert [replace(event, seq=0) for event in session.unknown] == [_weather(1), _weather(2), _weather(3)]
        assert [event.seq for event in session.unknown] == [3, 4, 6]
        assert [event.id for event in session.turns] == ["turn-1", "turn-2"]

    def test_an_unknown_event_changes_nothing_that_is_known(self, store: Store) -> None:
        with create_session(store, turn(1), status("paused")) as writer:
            before = store.load(ID)
            writer.append(Unknown(type="title2", data={"title": "x", "timestamp": "2999-01-01T00:00:00Z"}, id="u"))
            assert replace(store.load(ID), seq=before.seq, unknown=()) == before

    def test_an_unknown_event_is_recorded_once(self, store: Store) -> None:
        with create_session(store, _weather(1)) as writer:
            assert writer.append(_weather(1), _weather(2)).seqs == (2, 3)
        with store.open(ID) as writer:
            assert writer.append(_weather(2), _weather(1)).seqs == (3, 2)

    def test_what_another_program_left_is_kept_by_whoever_writes_on(self, harness: Harness, store: Store) -> None:
        events: list[Event] = [
            _strange_metadata(),
            replace(turn(1), extra=STRANGE),
            _weather(1),
            *turns(2, 80),
            replace(status("paused"), extra=STRANGE),
        ]
        harness.plant(store, ID, events)
        with store.open(ID) as writer:
            for event in turns(81, 160):
                writer.append(event, ids_are_new=True)
            writer.append(_weather(2))
        found = [replace(event, seq=0) for event in store.read(ID)]
        assert found == [*events, *turns(81, 160), _weather(2)]
        assert store.load(ID).extra == STRANGE

    def test_recovery_keeps_it_too(self, harness: Harness, store: Store) -> None:
        events: list[Event] = [_strange_metadata(), replace(turn(1), extra=STRANGE), _weather(1), turn(2), turn(3)]
        harness.plant(store, ID, events)
        if store.capabilities.can_be_damaged:
            harness.damage(ID, "turn-2")
            store.recover(ID)
            del events[3]
        assert [replace(event, seq=0) for event in store.read(ID)] == events

    def test_unknown_events_do_not_get_lost_among_many(self, store: Store) -> None:
        create_and_close(store, *[event for number in range(60) for event in (_weather(number), turn(number))])
        assert len(store.load(ID).unknown) == 60
        assert store.tail(ID, 60) == store.load(ID).turns


def _strange_metadata() -> Metadata:
    return replace(metadata(ID), extra=STRANGE)


def _weather(number: int) -> Unknown:
    return Unknown(type="weather", data={"sky": "grey", "number": number, **STRANGE}, id=f"weather-{number}")

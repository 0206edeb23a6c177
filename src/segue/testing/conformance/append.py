"""An append is all or nothing, and repeating it changes nothing."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, tzinfo
from functools import partial
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from segue.errors import ConflictError, SessionExistsError, UsageError, WriterStoppedError
from segue.model import Decision, Overview, ScopeChanged, TitleChanged, Turn, Unknown, fold
from segue.testing.conformance.chapter import ID, Chapter, create_and_close, create_session, event_ids, raises
from segue.testing.events import every_kind, fork, metadata, moment, status, turn, turns

if TYPE_CHECKING:
    from segue.model import Event
    from segue.store import Store
    from segue.testing.harness import Harness

_ENDLESS: list[object] = []
_ENDLESS.append(_ENDLESS)


class _Nowhere(tzinfo):
    """A time zone without an offset from UTC."""

    def utcoffset(self, when: datetime | None) -> None: ...

    def dst(self, when: datetime | None) -> None: ...

    def tzname(self, when: datetime | None) -> None: ...


MALFORMED: dict[str, Event] = {
    "role": replace(turn(1), role="model"),
    "content that is no text": replace(turn(1), content=b"bytes"),
    "a time without a zone": replace(turn(1), timestamp=datetime(2026, 1, 1)),  # noqa: DTZ001 - that is the point
    "a zone without an offset": replace(turn(1), timestamp=datetime(2026, 1, 1, tzinfo=_Nowhere())),
    "no time": replace(turn(1), timestamp=None),
    "negative tokens": replace(turn(1), tokens=-1),
    "half a token": replace(turn(1), tokens=0.5),
    "too many tokens": replace(turn(1), tokens=2**63),
    "an empty id": replace(turn(1), id=""),
    "an id that is no text": replace(turn(1), id=7),
    "not a number": turn(1, native={"x": float("nan")}),
    "infinity": turn(1, native={"x": [float("inf")]}),
    "a tuple, which returns as a list": turn(1, native={"x": (1,)}),
    "a key that is no text": turn(1, native={1: 1}),  # type: ignore[dict-item]
    "bytes in native": turn(1, native={"x": b""}),
    "a moment in native": turn(1, native={"x": datetime(2026, 1, 1, tzinfo=UTC)}),
    "endless nesting": turn(1, native={"x": _ENDLESS}),
    "a branch that is no text": replace(turn(1), branch=["main"]),
    "parts that are no objects": replace(turn(1), parts=("x",)),
    "parts in a list": replace(turn(1), parts=[{}]),
    "an unknown field with a known name": replace(turn(1), extra={"content": "other"}),
    "a second metadata": replace(metadata(ID), id="another"),
    "a status there is not": replace(status("paused"), status="asleep"),
    "a known type as an unknown one": Unknown(type="turn", data={}, id="u"),
    "a type the store writes itself": Unknown(type="checkpoint", data={}, id="u"),
    "unknown data that repeats the id": Unknown(type="weather", data={"id": "v"}, id="u"),
    "tags in a list": Decision(content="x", tags=["a"], timestamp=moment(1), id="d"),  # type: ignore[arg-type]
    "a number in a scope that is none": ScopeChanged(scope={"x": float("-inf")}, timestamp=moment(1), id="s"),
    "a title that is a number": TitleChanged(title=5, timestamp=moment(1), id="t"),  # type: ignore[arg-type]
    "a title that is nothing": TitleChanged(title=None, timestamp=moment(1), id="t"),  # type: ignore[arg-type]
    "a fork at a text": replace(fork("other", 0), at="0"),
    "a fork before the beginning": fork("other", -1),
    "a fork beyond the end": fork("other", 99),
    "a branch name that is none": fork("a/b", 0),
}

MISFITS: dict[str, Event] = {
    "a branch there is not": turn(1, branch="nowhere"),
    "a branch there is already": fork("main", 0),
}


class AppendChapter(Chapter):
    def test_a_session_begins_with_all_its_first_events(self, store: Store) -> None:
        with create_session(store, *turns(1, 2)) as writer:
            assert event_ids(store) == ["turn-1", "turn-2"]
            assert writer.append(turn(3)).seqs == (4,)
        assert [event.seq for event in store.read(ID)] == [1, 2, 3, 4]

    def test_every_kind_of_event_comes_back_as_it_was(self, store: Store) -> None:
        events = [metadata(ID), *every_kind()]
        with store.create(ID, events[:1]) as writer:
            for event in events[1:]:
                writer.append(event)
            assert list(store.read(ID)) == _numbered(events)
            assert store.load(ID) == fold(_numbered(events))
            assert _without_turns(writer.overview) == _without_turns(store.load(ID))

    def test_every_kind_of_event_comes_back_from_one_append(self, store: Store) -> None:
        with create_session(store) as writer:
            assert writer.append(*every_kind()).seqs == tuple(range(2, 2 + len(every_kind())))
        assert list(store.read(ID)) == _numbered([metadata(ID), *every_kind()])

    def test_every_kind_of_event_can_be_among_the_first(self, store: Store) -> None:
        create_and_close(store, *every_kind())
        assert list(store.read(ID)) == _numbered([metadata(ID), *every_kind()])

    def test_the_overview_is_always_that_of_the_last_append(self, store: Store) -> None:
        with create_session(store) as writer:
            for event in (*turns(1, 3), *every_kind()):
                writer.append(event, ids_are_new=True)
                assert _without_turns(writer.overview) == _without_turns(store.load(ID))

    def test_an_empty_append_is_acknowledged_and_records_nothing(self, store: Store) -> None:
        with create_session(store, turn(1)) as writer:
            assert writer.append().seqs == ()
            assert writer.append(turn(2)).seqs == (3,)
        assert event_ids(store) == ["turn-1", "turn-2"]

    def test_the_number_an_event_brings_does_not_count(self, store: Store) -> None:
        with create_session(store) as writer:
            assert writer.append(replace(turn(1), seq=99)).seqs == (2,)
            assert writer.append(replace(turn(1), seq=7)).seqs == (2,)
            assert writer.append(replace(turn(2), seq=1), ids_are_new=True).seqs == (3,)
        assert [event.seq for event in store.read(ID)] == [1, 2, 3]

    def test_a_session_cannot_begin_with_the_same_id_twice(self, store: Store) -> None:
        for again in (turn(1), turn(1, "something else")):
            with pytest.raises((ConflictError, UsageError)):
                create_session(store, turn(1), turn(2), again)
        assert list(store.ids()) == []

    def test_the_same_id_again_is_one_append(self, store: Store) -> None:
        with create_session(store, turn(1)) as writer:
            assert writer.append(turn(2)).seqs == (3,)
            assert writer.append(turn(2)).seqs == (3,)
            assert writer.append(turn(1)).seqs == (2,)
        assert event_ids(store) == ["turn-1", "turn-2"]

    def test_the_same_id_again_is_one_append_for_the_next_writer(self, store: Store) -> None:
        create_and_close(store, *turns(1, 40), *every_kind())
        with store.open(ID) as writer:
            assert writer.append(*turns(1, 40), *every_kind()).seqs == tuple(range(2, 42 + len(every_kind())))
        assert event_ids(store) == [event.id for event in (*turns(1, 40), *every_kind())]

    def test_a_fresh_id_is_known_to_a_later_retry(self, store: Store) -> None:
        with create_session(store) as writer:
            writer.append(turn(1))
            writer.append(turn(2), ids_are_new=True)
            writer.append(turn(3), turn(4), ids_are_new=True)
            assert writer.append(*turns(1, 5)).seqs == (2, 3, 4, 5, 6)

    def test_the_same_id_twice_in_one_append_is_recorded_once(self, store: Store) -> None:
        with create_session(store) as writer:
            assert writer.append(turn(1), turn(2), turn(1)).seqs == (2, 3, 2)
        assert event_ids(store) == ["turn-1", "turn-2"]

    def test_a_retry_adds_what_is_missing(self, store: Store) -> None:
        with create_session(store, *turns(1, 2)) as writer:
            assert writer.append(*turns(2, 4)).seqs == (3, 4, 5)
        assert event_ids(store) == ["turn-1", "turn-2", "turn-3", "turn-4"]

    def test_the_same_id_with_other_content_is_a_conflict_and_records_nothing(self, store: Store) -> None:
        with create_session(store, turn(1)) as writer:
            for impostor in (turn(1, "something else"), TitleChanged(title="x", timestamp=moment(1), id="turn-1")):
                with pytest.raises(ConflictError):
                    writer.append(turn(2), impostor)
            with pytest.raises(ConflictError):
                writer.append(turn(3), turn(3, "something else"))
            assert event_ids(store) == ["turn-1"]
            assert writer.append(turn(2)).seqs == (3,)

    def test_a_malformed_event_is_refused_with_all_that_came_with_it(self, store: Store) -> None:
        with create_session(store, turn(0)) as writer:
            before = writer.overview
            for what, event in MALFORMED.items():
                for events in ((event,), (turn(7), event, turn(8))):
                    for ids_are_new in (False, True):
                        append = partial(writer.append, *events, ids_are_new=ids_are_new)
                        assert raises(UsageError, append), what
                assert writer.overview == before, what
                assert event_ids(store) == ["turn-0"], what
            assert writer.append(turn(9)).seqs == (3,)
        assert event_ids(store) == ["turn-0", "turn-9"]

    def test_an_event_that_does_not_fit_is_a_conflict(self, store: Store) -> None:
        with create_session(store) as writer:
            for what, event in MISFITS.items():
                for ids_are_new in (False, True):
                    append = partial(writer.append, turn(7), event, ids_are_new=ids_are_new)
                    assert raises(ConflictError, append), what
            assert writer.append(turn(9)).seqs == (2,)
        assert event_ids(store) == ["turn-9"]

    def test_a_session_with_a_malformed_beginning_is_not_made(self, harness: Harness, store: Store) -> None:
        before = harness.snapshot()
        for what, event in MALFORMED.items():
            assert raises(UsageError, partial(create_session, store, turn(0), event)), what
            assert list(store.ids()) == [], what
        assert harness.snapshot() == before
        create_and_close(store)

    def test_a_session_without_its_metadata_is_not_made(self, store: Store) -> None:
        beginnings: list[list[Event]] = [[], [turn(1)], [metadata("another")], [turn(1), metadata(ID)]]
        for events in beginnings:
            with pytest.raises(UsageError):
                store.create(ID, events)
        assert list(store.ids()) == []

    def test_a_closed_writer_takes_nothing_more(self, store: Store) -> None:
        with create_session(store, turn(1)) as writer:
            pass
        writer.close()
        for ids_are_new in (False, True):
            with pytest.raises(WriterStoppedError):
                writer.append(turn(2), ids_are_new=ids_are_new)
        with pytest.raises(WriterStoppedError):
            writer.put_blob(b"late")
        assert event_ids(store) == ["turn-1"]

    def test_a_closed_writer_does_not_disturb_the_next(self, store: Store) -> None:
        first = create_session(store)
        first.close()
        with store.open(ID) as second:
            first.close()
            assert store.owner(ID) is not None
            second.append(turn(1))
        assert event_ids(store) == ["turn-1"]

    def test_threads_can_share_a_writer(self, store: Store) -> None:
        seqs: list[int] = []
        with create_session(store) as writer:

            def add(first: int) -> None:
                for event in turns(first, first + 9):
                    seqs.extend(writer.append(event, ids_are_new=first % 200 == 0).seqs)

            threads = [threading.Thread(target=add, args=(100 * number,)) for number in range(1, 5)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert sorted(seqs) == list(range(2, 42))
        for first in (100, 200, 300, 400):
            own = [name for name in event_ids(store) if name.startswith(f"turn-{first // 100}")]
            assert own == [event.id for event in turns(first, first + 9)]

    def test_of_many_who_create_a_session_one_wins(self, store: Store) -> None:
        won: list[int] = []
        lost: list[int] = []

        def create(number: int) -> None:
            try:
                writer = create_session(store, turn(number))
            except SessionExistsError:
                lost.append(number)
            else:
                won.append(number)
                writer.close()

        threads = [threading.Thread(target=create, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(won) == 1
        assert len(lost) == 7
        assert event_ids(store) == [f"turn-{won[0]}"]

    def test_what_is_done_to_an_event_afterwards_does_not_reach_the_store(self, store: Store) -> None:
        native: dict[str, object] = {"x": [1]}
        scope: dict[str, object] = {"read": ["a"]}
        with create_session(store) as writer:
            writer.append(turn(1, native=native), ScopeChanged(scope=scope, timestamp=moment(2), id="scope"))
            for value in (native["x"], scope["read"]):
                assert isinstance(value, list)
                value.append("smuggled")
            found = store.load(ID)
            assert isinstance(found.turns[0], Turn)
            assert found.turns[0].native == {"x": [1]}
            assert found.scope == writer.overview.scope == {"read": ["a"]}
            writer.append(status("paused"))
        with store.open(ID) as writer:
            assert writer.overview.scope == store.load(ID).scope


def _numbered(events: list[Event]) -> list[Event]:
    return [replace(event, seq=seq) for seq, event in enumerate(events, start=1)]


def _without_turns(session: Overview) -> Overview:
    return Overview(**{name: getattr(session, name) for name in Overview.__struct_fields__})

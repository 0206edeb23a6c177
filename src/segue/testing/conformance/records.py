"""Records of programs come back unchanged, and are passed by where only turns are wanted."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from segue.errors import ConflictError, UsageError
from segue.model import Record
from segue.testing.conformance.chapter import ID, Chapter, create_and_close, create_session, event_ids, raises
from segue.testing.events import fork, moment, turn, turns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segue.model import Event, JsonObject, Overview
    from segue.store import Store
    from segue.testing.harness import Harness


def record(number: int, data: JsonObject | None = None, *, name: str = "", blobs: Sequence[str] = ()) -> Record:
    data = {"number": number} if data is None else data
    at = moment(number)
    return Record(kind="step", data=data, name=name, blobs=tuple(blobs), timestamp=at, id=f"record-{number}")


def _nested(depth: int) -> object:
    value: object = "deep"
    for _ in range(depth):
        value = [value]
    return value


STRANGE: dict[str, JsonObject] = {
    "no data": {},
    "the names of our fields": {
        "id": "x",
        "seq": -1,
        "type": "turn",
        "sum": "00000000+",
        "name": 1,
        "extra": {"id": 2},
    },
    "what looks like a checkpoint": {"x": '\n{"type":"checkpoint","seq":1,"sum":"00000000"}\n'},
    "half characters": {"\ud800": "\udfff", "x": ["a\ud83d"]},
    "empty and controls": {"": "", "\0\r\n\u2028": "\0\x1b[31m"},
    "times that are none": {"timestamp": "2026-02-31T99:00:00Z", "created_at": "soon"},
    "numbers": {"x": [0, -0.0, 1e308, 5e-324, 2**64, -(2**200), True, None, 1.0]},
    "deep": {"x": _nested(190)},
    "large": {"x": ["0123456789 ü" * 20] * 5000},
}

MALFORMED: dict[str, Record] = {
    "no kind": replace(record(1), kind=""),
    "a kind that is a number": replace(record(1), kind=3),
    "a name that is nothing": replace(record(1), name=None),
    "blobs in a list": replace(record(1), blobs=["sha256:00"]),
    "a blob that is a number": replace(record(1), blobs=(1,)),
    "data in a list": replace(record(1), data=[]),
    "data that is no JSON": record(1, {"x": (1,)}),
    "not a number": record(1, {"x": float("nan")}),
    "endless nesting": record(1, {"x": _nested(300)}),
    "no time": replace(record(1), timestamp=None),
    "an unknown field with a known name": replace(record(1), extra={"data": {}}),
}


class RecordsChapter(Chapter):
    @pytest.mark.parametrize("what", STRANGE)
    def test_data_comes_back_as_it_was(self, harness: Harness, store: Store, what: str) -> None:
        data = STRANGE[what]
        named, plain = record(1, data, name=f"x {what}"), replace(record(2, data), extra={"mood": [None]})
        with create_session(store, named) as writer:
            writer.append(plain)
            writer.append(turn(3), replace(record(4, data), kind=what, name="last"))
        again = harness.make() if store.capabilities.shared else store
        found = [event for event in again.read(ID) if isinstance(event, Record)]
        assert [replace(event, seq=0) for event in found[:2]] == [named, plain]
        assert [repr(event.data) for event in found] == [repr(data)] * 3
        assert [event.seq for event in found] == [2, 3, 5]
        kept = {event.name: event for event in (found[0], found[2]) if data}
        assert again.overview(ID).records == again.load(ID).records == kept

    def test_records_keep_their_place_between_turns(self, store: Store) -> None:
        with create_session(store, record(1), turn(1), record(2)) as writer:
            writer.append(record(3), turn(2), record(4))
            writer.append(turn(3), ids_are_new=True)
            writer.append(record(5), ids_are_new=True)
        expected = ["record-1", "turn-1", "record-2", "record-3", "turn-2", "record-4", "turn-3", "record-5"]
        assert event_ids(store) == expected
        assert [event.id for event in store.read(ID, after=4)] == expected[3:]

    def test_a_record_is_recorded_once(self, store: Store) -> None:
        with create_session(store, record(1)) as writer:
            assert writer.append(record(1), record(2)).seqs == (2, 3)
        with store.open(ID) as writer:
            assert writer.append(record(2), replace(record(1), timestamp=moment(9))).seqs == (3, 2)
            for other in ({"data": {"number": 9}}, {"kind": "leap"}, {"name": "x"}, {"blobs": ("sha256:00",)}):
                with pytest.raises(ConflictError):
                    writer.append(replace(record(1), **other))
        assert event_ids(store) == ["record-1", "record-2"]

    def test_records_are_passed_by_where_turns_are_wanted(self, store: Store) -> None:
        events = [
            event for number in range(1, 41) for event in (record(number, name="state"), turn(number), record(-number))
        ]
        with create_session(store, *events) as writer:
            writer.append(fork("idea", 20), record(100))
            for number in range(41, 51):
                writer.append(turn(number, branch="idea"), record(100 + number, name="state"))
        numbers = [*range(1, 21), *range(41, 51)]
        session = store.load(ID)
        assert [event.id for event in session.turns] == [f"turn-{number}" for number in numbers]
        assert {name: branch.turn_count for name, branch in session.branches.items()} == {"main": 40, "idea": 30}
        assert store.head(ID).turn_count == store.overview(ID).turn_count == 30
        for count in (0, 1, 9, 10, 11, 29, 30, 99):
            assert store.tail(ID, count) == session.tail(count)
            assert store.tail(ID, count, branch="main") == session.tail(count, branch="main")
        assert session.unknown == ()

    def test_the_overview_holds_the_latest_record_of_each_name(self, harness: Harness, store: Store) -> None:
        with create_session(store, record(1, name="a"), record(2)) as writer:
            writer.append(record(3, name="b"), turn(1), record(4, name="a"), record(5, name="ü \ud800"))
            assert _numbers(writer.overview) == {"a": 4, "b": 3, "ü \ud800": 5}
            assert _numbers(store.overview(ID)) == _numbers(store.load(ID)) == {"a": 4, "b": 3, "ü \ud800": 5}
        again = harness.make() if store.capabilities.shared else store
        assert _numbers(again.overview(ID)) == {"a": 4, "b": 3, "ü \ud800": 5}
        with again.open(ID) as writer:
            assert _numbers(writer.overview) == {"a": 4, "b": 3, "ü \ud800": 5}

    def test_an_empty_record_removes_a_name(self, store: Store) -> None:
        with create_session(store, record(1, name="a"), record(2, name="b")) as writer:
            writer.append(record(3, {}, name="a"), record(4, {}, name="c"))
            assert _numbers(writer.overview) == _numbers(store.overview(ID)) == {"b": 2}
        with store.open(ID) as writer:
            writer.append(record(5, name="a"))
            writer.append(replace(record(6, {}, name="b"), blobs=("sha256:00",)))
        assert store.overview(ID).records["b"].blobs == ("sha256:00",)
        assert set(store.load(ID).records) == {"a", "b"}
        assert len(event_ids(store)) == 6

    def test_names_survive_what_is_recorded_after_them(self, store: Store) -> None:
        create_and_close(store, record(0, name="first"), record(1, name="gone"))
        for number in range(2, 12):
            with store.open(ID) as writer:
                writer.append(record(number, {"text": "x" * 3000}, name="latest"))
                writer.append(*turns(number * 10, number * 10 + 9))
                writer.append(record(100 + number, {"text": "y" * 3000}))
                if number == 5:
                    writer.append(record(50, {}, name="gone"))
            overview = store.overview(ID)
            assert overview.records == store.load(ID).records
            assert overview.records["latest"].id == f"record-{number}"
            assert ("gone" in overview.records) == (number < 5)
            assert "first" in overview.records

    def test_many_names_are_held(self, harness: Harness, store: Store) -> None:
        for first in range(0, 300, 100):
            events = [
                record(number, {"text": f"{number}" * 100}, name=f"n{number}") for number in range(first, first + 100)
            ]
            if first:
                with store.open(ID) as writer:
                    writer.append(*events)
            else:
                create_and_close(store, *events)
        again = harness.make() if store.capabilities.shared else store
        assert set(again.overview(ID).records) == {f"n{number}" for number in range(300)}
        assert again.overview(ID).records == again.load(ID).records

    def test_a_session_may_have_nothing_but_records(self, store: Store) -> None:
        create_and_close(store, record(1), record(2, name="state"))
        session = store.load(ID)
        assert (session.turns, store.tail(ID, 5), session.turn_count, store.head(ID).turn_count) == ((), (), 0, 0)
        assert _numbers(session) == {"state": 2}
        assert store.head(ID).updated_at >= moment(2)
        with store.open(ID) as writer:
            writer.append(turn(1))
        assert [event.id for event in store.tail(ID, 5)] == ["turn-1"]

    def test_its_blobs_are_those_of_the_session(self, harness: Harness, store: Store) -> None:
        with create_session(store) as writer:
            names = [writer.put_blob(data) for data in (b"large", b"larger" * 100_000)]
            writer.append(record(1, blobs=names), record(2, {}, blobs=names[:1], name="state"))
        again = harness.make() if store.capabilities.shared else store
        found = [event for event in again.read(ID) if isinstance(event, Record)]
        assert [event.blobs for event in found] == [tuple(names), tuple(names[:1])]
        assert [again.get_blob(ID, name) for name in found[0].blobs] == [b"large", b"larger" * 100_000]
        assert again.overview(ID).records["state"].blobs == tuple(names[:1])

    def test_malformed_records_are_refused_and_nothing_is_recorded(self, store: Store) -> None:
        with create_session(store, turn(1)) as writer:
            calls = {what: partial(writer.append, turn(2), malformed) for what, malformed in MALFORMED.items()}
            assert [what for what, call in calls.items() if not raises(UsageError, call)] == []
            writer.append(record(1))
        assert event_ids(store) == ["turn-1", "record-1"]

    def test_what_is_changed_later_by_the_caller_is_not_what_was_recorded(self, store: Store) -> None:
        data: JsonObject = {"list": [1]}
        with create_session(store) as writer:
            writer.append(record(1, data, name="state"), record(2, data))
            data["list"] = ["changed"]
            assert writer.overview.records["state"].data == {"list": [1]}
            writer.append(*turns(1, 200))
        assert [event.data for event in store.read(ID) if isinstance(event, Record)] == [{"list": [1]}] * 2
        assert store.overview(ID).records["state"].data == {"list": [1]}

    def test_recovery_keeps_records_and_their_names(self, harness: Harness, store: Store) -> None:
        events: list[Event] = [record(1, name="state"), turn(1), record(2, name="state"), record(3), turn(2)]
        create_and_close(store, *events)
        if not store.capabilities.can_be_damaged:
            assert _numbers(store.load(ID)) == {"state": 2}
            return
        harness.damage(ID, "record-2")
        assert store.examine(ID).damages
        store.recover(ID)
        left = event_ids(store)
        assert [id for id in left if id != "record-2"] == ["record-1", "turn-1", "record-3", "turn-2"]
        latest = 2 if "record-2" in left else 1  # the damage may be beside it
        assert _numbers(store.overview(ID)) == _numbers(store.load(ID)) == {"state": latest}


def _numbers(overview: Overview) -> dict[str, object]:
    return {name: event.data["number"] for name, event in overview.records.items()}

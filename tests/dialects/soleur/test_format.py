"""What is shown is the truth, whoever wrote it; what is ours is believed where it still fits; one byte is found."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from segue.dialects.soleur.format import new_document, read, read_last_message
from segue.formats.sealed import read_sealed_head
from segue.formats.sealed.seal import find_changed_byte, is_sealed, seal
from segue.model import Attachment, Decision, StatusChanged, Turn, Unknown, fold, head_of
from segue.testing.events import every_kind, fork, metadata, moment, turn, turns

if TYPE_CHECKING:
    from collections.abc import Callable

    from segue.model import Event, JsonObject, Session

Found = dict[str, list[dict[str, object]]]
ID = "s1"

FOREIGN = {
    "id": ID,
    "agent_type": "brainstormer",
    "project_name": "login",
    "project_context": "# Login\n",
    "messages": [
        {"role": "user", "content": "Why?", "timestamp": "2026-01-05T09:30:00.123456"},
        {"role": "assistant", "content": "Because.", "timestamp": "2026-01-05T09:31:00+01:00"},
    ],
    "decisions": [
        {
            "content": "Refresh early",
            "timestamp": "2026-01-05T09:32:00Z",
            "session_id": ID,
            "tags": ["a"],
            "source": "x",
        }
    ],
    "created_at": "2026-01-05T09:29:00",
    "updated_at": "2026-01-05T10:00:00",
}


def numbered(*events: Event) -> list[Event]:
    return [replace(event, seq=seq) for seq, event in enumerate((metadata(ID), *events), start=1)]


def written(*events: Event) -> bytes:
    return new_document(ID, numbered(*events)).encode()


def events_of(data: bytes) -> list[Event]:
    reading = read(data, ID, "s1.json")
    assert reading.damages == ()
    assert reading.document is not None
    return reading.document.events


def session_of(data: bytes) -> Session:
    return fold(events_of(data))


def edited(data: bytes, change: Callable[[Found], object]) -> bytes:
    """As another program would leave it that keeps what it does not know."""
    found = json.loads(data)
    change(found)
    return json.dumps(found).encode()


def said(role: str, content: str) -> dict[str, object]:
    return {"role": role, "content": content, "timestamp": "2026-01-02T04:00:00Z"}


def note_of(data: bytes) -> dict[str, object]:
    (note,) = [event for event in events_of(data) if isinstance(event, Unknown) and event.type == "edited"]
    return note.data


# ── As we write it ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_event_comes_back_with_its_number() -> None:
    events = numbered(*turns(1, 3), *every_kind(), fork("other", 2), turn(9, branch="other"))
    data = new_document(ID, events).encode()
    assert events_of(data) == events
    assert read_sealed_head(data, ID) == head_of(fold(events))


def test_the_last_message_is_read_without_the_others_if_no_byte_has_changed() -> None:
    data = written(
        turn(1), turn(2, '],\n  "decisions": [\n    {'), *every_kind(), fork("other", 1), turn(9, branch="other")
    )
    assert read_last_message(data) == session_of(data).turns[-1].content
    assert read_last_message(written(turn(1), turn(2, ']\n  ]\n    {"content": 1}'))) == ']\n  ]\n    {"content": 1}'
    assert read_last_message(written(*[event for event in every_kind() if not isinstance(event, Turn)])) == ""
    assert read_last_message(data.replace(b'"user"', b'"User"')) is None
    assert read_last_message(json.dumps(FOREIGN).encode()) is None


def test_the_file_is_what_a_json_tool_prints() -> None:
    data = written(*turns(1, 3), *every_kind(), turn(4, "“ü” \u2028 😀 \0 \x1f"))
    assert json.dumps(json.loads(data), indent=2, ensure_ascii=False) + "\n" == data.decode()


def test_a_lone_surrogate_is_an_escape() -> None:
    data = written(turn(1, "x \ud800 ü"))
    assert "x \\ud800 ü" in data.decode()
    assert session_of(data).turns[0].content == "x \ud800 ü"


def test_a_file_that_was_read_is_written_as_it_was() -> None:
    data = written(*turns(1, 3), *every_kind(), fork("other", 2))
    document = read(data, ID, "s1.json").document
    assert document is not None
    assert document.encode() == data


def test_messages_are_the_turns_of_the_active_branch() -> None:
    data = written(*turns(1, 3), fork("other", 1), turn(9, branch="other"))
    found = json.loads(data)
    assert [message["content"][-2:] for message in found["messages"]] == ["1.", "9."]
    assert all(set(message) == {"role", "content", "timestamp"} for message in found["messages"])


def test_a_new_session_has_the_fields_of_the_seed_and_no_context() -> None:
    found = json.loads(written())
    assert list(found) == [
        *("id", "agent_type", "project_name", "project_context", "messages", "decisions", "created_at", "updated_at"),
        "segue",
    ]
    assert (found["id"], found["agent_type"], found["project_context"], found["messages"]) == (ID, "qa-test", None, [])


def test_a_decision_is_shown_with_its_session() -> None:
    (shown,) = json.loads(written(*every_kind()))["decisions"]
    assert shown.pop("timestamp")
    assert shown == {"content": "Refresh early", "session_id": ID, "tags": ["d"], "source": "user"}


def test_a_role_that_soleur_does_not_know_is_shown_as_system_and_comes_back() -> None:
    data = written(replace(turn(1), role="tool"))
    assert json.loads(data)["messages"][0]["role"] == "system"
    assert session_of(data).turns[0].role == "tool"


def test_the_name_of_the_project_is_an_unknown_field_of_the_session() -> None:
    first = replace(metadata(ID), extra={"project_name": "login", "other": 1}, seq=1)
    data = new_document(ID, [first]).encode()
    assert json.loads(data)["project_name"] == "login"
    assert events_of(data) == [first]


# ── As others write it ───────────────────────────────────────────────────────────────────────────────────────────────


def test_a_file_of_soleur_itself_is_a_session() -> None:
    session = session_of(json.dumps(FOREIGN).encode())
    assert [(one.role, one.content) for one in session.turns] == [("user", "Why?"), ("assistant", "Because.")]
    assert [decision.content for decision in session.decisions] == ["Refresh early"]
    assert (session.agent, session.extra["project_name"], session.status) == ("brainstormer", "login", "paused")
    assert (session.created_at.isoformat(), session.updated_at.isoformat()) == (
        "2026-01-05T09:29:00+00:00",
        "2026-01-05T10:00:00+00:00",
    )
    assert not session.unknown


def test_what_another_program_wrote_stays_as_it_is_when_we_write_on() -> None:
    odd = {**said("model", "Hm."), "id": 7}
    messages = [*cast("list[JsonObject]", FOREIGN["messages"]), odd]
    strange = {**FOREIGN, "messages": messages, "mood": {"deep": [1]}, "title": "T"}
    document = read(json.dumps(strange).encode(), ID, "s1.json").document
    assert document is not None
    found = json.loads(document.encode())
    assert {name: found[name] for name in strange} == strange
    again = events_of(document.encode())
    assert again == document.events
    assert isinstance(again[3], Turn)
    assert (again[3].role, again[3].native) == ("assistant", odd)


def test_the_context_that_another_program_gave_is_an_attachment() -> None:
    reading = read(json.dumps(FOREIGN).encode(), ID, "s1.json")
    assert reading.document is not None
    (attached,) = [event for event in reading.document.events if isinstance(event, Attachment)]
    assert (attached.path, attached.size_bytes, reading.context) == ("project_context", 8, b"# Login\n")
    again = read(reading.document.encode(), ID, "s1.json")
    assert again.document is not None
    assert (again.document.events, again.context) == (reading.document.events, b"")


def test_a_file_without_what_is_ours_is_read_by_what_it_shows() -> None:
    session = session_of(edited(written(*turns(1, 3)), lambda found: found.pop("segue")))
    assert [one.content for one in session.turns] == [one.content for one in turns(1, 3)]
    assert {one.id[:8] for one in session.turns} == {"message-"}


def test_another_layout_is_no_edit() -> None:
    data = written(*turns(1, 3), *every_kind())
    assert events_of(edited(data, lambda _: None)) == events_of(data)


def test_messages_that_others_added_are_turns_and_are_noted() -> None:
    def add(found: Found) -> None:
        found["messages"] += [said("user", "More?"), said("assistant", "More.")]
        found["decisions"].append({"content": "Stop", "timestamp": "2026-01-02T04:00:00Z"})

    data = edited(written(*turns(1, 3)), add)
    session = session_of(data)
    assert [one.id for one in session.turns[:3]] == ["turn-1", "turn-2", "turn-3"]
    assert [one.content for one in session.turns[3:]] == ["More?", "More."]
    assert [decision.content for decision in session.decisions] == ["Stop"]
    assert note_of(data) == {
        "added": [*[one.id for one in session.turns[3:]], session.decisions[0].id],
        "removed": [],
    }


def test_the_same_message_twice_is_two_turns() -> None:
    data = edited(written(turn(1)), lambda found: found["messages"].extend([said("user", "Yes"), said("user", "Yes")]))
    names = [one.id for one in session_of(data).turns]
    assert len(set(names)) == 3


def test_of_an_edited_message_the_text_is_believed_and_nothing_else() -> None:
    data = written(turn(1), turn(2, native={"uuid": "u"}), turn(3))
    data = edited(data, lambda found: found["messages"][1].update(content="Rather this."))
    session = session_of(data)
    assert [one.content for one in session.turns][1] == "Rather this."
    assert (session.turns[1].native, session.turns[1].tokens) == (None, None)
    assert [one.id for one in session.turns][::2] == ["turn-1", "turn-3"]
    (removed,) = cast("list[JsonObject]", note_of(data)["removed"])
    assert (removed["id"], removed["native"]) == ("turn-2", {"uuid": "u"})


def test_a_removed_message_is_removed_and_what_we_knew_of_it_is_kept() -> None:
    data = edited(written(*turns(1, 3)), lambda found: found["messages"].pop(1))
    assert [one.id for one in session_of(data).turns] == ["turn-1", "turn-3"]
    assert len(cast("list[JsonObject]", note_of(data)["removed"])) == 1


@pytest.mark.parametrize("at", range(4))
def test_other_branches_keep_their_place_when_messages_come_and_go(at: int) -> None:
    data = written(*turns(1, 4), fork("other", 2), turn(8, branch="other"), fork("third", 3, parent="other"))
    whole = session_of(data)
    assert whole.branch == "third"
    more = session_of(edited(data, lambda found: found["messages"].insert(at, said("user", "new"))))
    shown = [one.content for one in whole.turns]
    assert [one.content for one in more.turns] == [*shown[:at], "new", *shown[at:]]
    less = session_of(edited(data, lambda found: found["messages"].pop(min(at, 2))))
    assert [one.content for one in less.turns] == [text for number, text in enumerate(shown) if number != min(at, 2)]
    for session in (more, less):
        rest = [one.id for one in session.path("main") if one.id.startswith("turn")]
        assert rest[-2:] == ["turn-3", "turn-4"]


def test_times_and_tags_that_others_changed_are_believed() -> None:
    def change(found: Found) -> None:
        found["messages"][0]["timestamp"] = "2026-01-02T03:04:06"
        found["decisions"][0]["tags"] = ["other"]

    session = session_of(edited(written(turn(1), *every_kind()), change))
    assert session.turns[0].id == "turn-1"
    assert session.turns[0].timestamp == moment(1).replace(microsecond=0)
    assert session.decisions[0].tags == ("other",)


def test_content_with_structure_is_read_as_its_text_and_kept() -> None:
    parts = [{"type": "text", "text": "Look: "}, {"type": "image", "data": "…"}, "there"]
    data = edited(written(), lambda found: found["messages"].append({**said("human", ""), "content": parts}))
    (one,) = session_of(data).turns
    assert (one.role, one.content) == ("user", "Look: there")
    assert one.native is not None
    assert one.native["content"] == parts


def test_a_file_of_another_name_is_a_session_of_its_own() -> None:
    reading = read(written(turn(1)), "s2", "s2.json")
    assert reading.document is not None
    assert reading.document.overview.id == "s2"
    assert json.loads(reading.document.encode())["id"] == "s2"


def test_the_status_of_a_foreign_session_is_that_somebody_saved_it() -> None:
    (saved,) = [event for event in events_of(json.dumps(FOREIGN).encode()) if isinstance(event, StatusChanged)]
    assert (saved.status, saved.timestamp.isoformat()) == ("paused", "2026-01-05T10:00:00+00:00")


# ── Damage ───────────────────────────────────────────────────────────────────────────────────────────────────────────

SMALL = written(*turns(1, 2), Decision(content="d", timestamp=moment(3), id="d-1"), fork("other", 1))


@pytest.mark.parametrize("mask", [1, 0x80])
@pytest.mark.parametrize("part", range(4))
def test_one_changed_byte_anywhere_is_found_placed_and_costs_one_event(mask: int, part: int) -> None:
    whole = {event.id for event in events_of(SMALL)}
    for offset in range(part, len(SMALL), 4):
        data = bytearray(SMALL)
        data[offset] ^= mask
        reading = read(bytes(data), ID, "s1.json")
        (damage,) = reading.damages
        assert (damage.offset, damage.line) == (offset, SMALL.count(b"\n", 0, offset) + 1)
        assert reading.document is not None
        assert len(whole - {event.id for event in reading.document.events}) <= 1


def test_the_event_that_a_changed_byte_belongs_to_is_not_believed() -> None:
    for text, lost in ((b"turn 1.", "turn-1"), (b'"d"', "d-1"), (b'"fork-other"', "fork-other")):
        at = SMALL.index(text) + 1
        damaged = SMALL[:at] + bytes([SMALL[at] ^ 1]) + SMALL[at + 1 :]
        document = read(damaged, ID, "s1.json").document
        assert document is not None
        assert read_sealed_head(damaged, ID) is None
        assert {event.id for event in events_of(SMALL)} - {event.id for event in document.events} == {lost}


@pytest.mark.parametrize("part", range(4))
def test_of_a_file_that_was_cut_off_the_rest_can_be_read(part: int) -> None:
    start = SMALL.index(b'"decisions"')
    for size in range(part, len(SMALL) - 1, 4):
        reading = read(SMALL[:size], ID, "s1.json")
        assert reading.damages
        assert size < start or reading.document is not None
        if reading.document is not None and size >= start:
            assert fold(reading.document.events).turns


def test_two_changed_bytes_that_leave_json_are_an_edit() -> None:
    data = SMALL.replace(b"turn 1.", b"Turn 7.")
    assert [one.content[-7:] for one in session_of(data).turns] == ["Turn 7."]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b"[]", "not an object"),
        (b"{}", "no messages"),
        (b'{"messages": {}}', "no messages"),
        (b'{"messages": ["x"]}', "not an object"),
        (b'{"messages": [{"role": "user", "content": "x", "timestamp": "soon"}]}', "not a time"),
        (b'{"messages": [], "segue": {"events": [{"type": "turn"}]}}', "not a valid turn"),
        (b'{"messages": [], "x": NaN}', "NaN"),
        (b'{"messages": [], "x": %b}' % (b"[" * 600 + b"]" * 600), "too deeply"),
        (b'{"messages": [], "x": "\xff"}', "not UTF-8"),
    ],
)
def test_what_is_no_session_says_why(data: bytes, reason: str) -> None:
    damages = read(data, ID, "s1.json").damages
    assert any(reason in str(damage) for damage in damages)
    assert all(damage.place.startswith("s1.json") for damage in damages)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)
FIELDS = ("id", "agent_type", "project_name", "project_context", "created_at", "updated_at", "segue", "other", "title")
ITEM = ("role", "content", "timestamp", "tags", "source", "session_id", "id", "type", "sum", "branch", "at", "name")
items = st.lists(st.dictionaries(st.sampled_from(ITEM), json_values, max_size=5) | json_values, max_size=3)


@given(
    st.dictionaries(st.sampled_from(FIELDS), json_values),
    items,
    items,
    items | st.just([]),
)
def test_any_json_is_read_or_is_damage_and_what_is_read_is_written_as_it_was(
    fields: dict[str, object], messages: list[object], decisions: list[object], entries: list[object]
) -> None:
    found = {**fields, "messages": messages, "decisions": decisions}
    if entries:
        found["segue"] = {"events": entries}
    reading = read(json.dumps(found).encode(), ID, "s1.json")
    if reading.document is None or reading.damages:
        assert reading.damages
        return
    data = reading.document.encode()
    again = read(data, ID, "s1.json")
    assert again.document is not None
    assert again.document.events == reading.document.events
    assert again.document.encode() == data


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_are_damage(data: bytes) -> None:
    reading = read(data, ID, "s1.json")
    assert reading.document is not None or reading.damages


@given(st.binary(max_size=300), st.data())
def test_the_seal_finds_any_one_byte(body: bytes, data: st.DataObject) -> None:
    whole = seal(body)
    assert is_sealed(whole)
    assert find_changed_byte(whole) is None
    offset = data.draw(st.integers(0, len(whole) - 1))
    mask = data.draw(st.integers(1, 255))
    flip = find_changed_byte(whole[:offset] + bytes([whole[offset] ^ mask]) + whole[offset + 1 :])
    assert flip == (offset, whole[offset])

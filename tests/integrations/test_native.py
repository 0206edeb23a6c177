"""The records of a tool beside its turns: nothing is stored twice, and nothing of them is lost."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from segue.integrations.format.native import SAME, native_records, with_content
from segue.integrations.format.parts import call_part, result_part
from segue.integrations.format.transcript import TranscriptBuilder
from segue.model import JsonObject, Turn

AT = datetime(2026, 1, 5, tzinfo=UTC)
LONG = "".join(f"line {number}\n" for number in range(200))


def built(content: str, parts: list[JsonObject], *records: JsonObject) -> Turn:
    return TranscriptBuilder("claude", "f").turn("k", "tool", content, AT, records=records, parts=parts)


def test_a_long_text_is_stored_once_and_read_back_as_it_was() -> None:
    record: JsonObject = {
        "message": {"content": [{"type": "text", "text": LONG}]},
        "toolUseResult": {"stdout": f"{LONG}\n", "part": LONG[300:900], "lines": LONG.split("\n")},
        "uuid": "u",
    }
    turn = built(LONG.strip(), [result_part("1", LONG)], record)
    assert native_records(turn) == [record]
    assert json.dumps(turn.native).count("line 150") == 1  # in the list of short lines
    assert native_records(with_content(turn, "other")) == [record]


def test_what_looks_like_a_reference_is_none() -> None:
    record: JsonObject = {"input": {SAME: ["content"], "from": 1}, "deep": [{SAME: []}]}
    for content in ("short", LONG):
        assert native_records(built(content, [], record)) == [record]


def test_records_of_older_sessions_are_read_as_they_are() -> None:
    known: list[tuple[JsonObject, list[JsonObject]]] = [
        ({"tool": "pi", "records": [{"a": 1}]}, [{"a": 1}]),
        ({"uuid": "u"}, []),
    ]
    for native, records in known:
        turn = Turn(role="user", content="x", timestamp=AT, tokens=None, id="1", native=native)
        assert native_records(turn) == records


PIECE = st.text(st.characters(exclude_categories=()), max_size=8)
TEXT = st.builds(lambda text, times: text * times, PIECE, st.integers(0, 60))
NAMES = st.sampled_from(["a", "b", SAME, "from", "value"])
VALUE = st.recursive(
    TEXT | st.none() | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(TEXT, min_size=3, max_size=3), VALUE)
def test_whatever_a_record_contains_it_is_read_back_as_it_was(texts: list[str], value: object) -> None:
    record: JsonObject = {"value": value, "texts": [*texts, texts[0] + texts[1], texts[1][5:200]]}
    turn = built(texts[0], [call_part("1", "x", {"a": texts[1]}), result_part("1", texts[2])], record)
    assert native_records(turn) == [record]

"""What is handed over: two roles, every call with a result, and nothing that a tool refuses."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from segue.integrations.claude import reader as claude_reader
from segue.integrations.claude import writer as claude_writer
from segue.integrations.codex import reader as codex_reader
from segue.integrations.codex import writer as codex_writer
from segue.integrations.format.outgoing import LONGEST_RESULT, iso_ms, outgoing_messages, rising
from segue.integrations.gemini import reader as gemini_reader
from segue.integrations.gemini import writer as gemini_writer
from segue.integrations.opencode import reader as opencode_reader
from segue.integrations.opencode import writer as opencode_writer
from segue.model import Turn

if TYPE_CHECKING:
    from segue.integrations.format.outgoing import OutgoingMessage
    from segue.model import JsonObject

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
ID = "01a1df2c-2d86-7e70-bc93-0122e7838b23"


def turn(role: str, content: str = "", *parts: JsonObject) -> Turn:
    return Turn(role=role, content=content, timestamp=NOW, tokens=None, parts=parts, id="1")


def call(id: str = "c", arguments: object = None) -> JsonObject:
    return {"type": "tool_call", "id": id, "name": "read it", "arguments": arguments}


def result(id: str = "c", content: str = "done") -> JsonObject:
    return {"type": "tool_result", "id": id, "content": content}


def said(*turns: Turn) -> tuple[OutgoingMessage, ...]:
    return outgoing_messages(turns, now=NOW)


def test_a_result_goes_to_its_call() -> None:
    _, (only,) = (
        piece.calls for piece in said(turn("user", "Go"), turn("assistant", "", call()), turn("tool", "", result()))
    )
    assert (only.name, only.result) == ("read_it", "done")


def test_a_call_without_a_result_gets_one_that_says_so() -> None:
    _, piece = said(turn("user", "Go"), turn("assistant", "", call()))
    assert piece.calls[0].result == "no result: interrupted"


def test_what_no_person_said_is_never_a_message_of_the_user() -> None:
    file: JsonObject = {"type": "file", "path": "a.txt", "content": "obey the file"}
    heard = said(
        turn("user", "Look at @a.txt", file),
        turn("tool", "obey the result", result(content="obey the result")),
        turn("tool", "obey the tool"),
        turn("system", "obey the notice", {"type": "notice"}),
        turn("system", "obey the summary", {"type": "summary"}),
        turn("user", "!ls", call(arguments={"command": "ls"})),
        turn("tool", "obey the name", result(content="obey the name")),
    )
    assert [piece.text for piece in heard if piece.role == "user"] == ["Look at @a.txt", "!ls"]
    calls = [(only.name, only.result) for piece in heard for only in piece.calls]
    assert calls == [
        ("read_file", "obey the file"),
        ("tool", "obey the result"),
        ("tool", "obey the tool"),
        ("notice", "obey the notice"),
        ("read_it", "obey the name"),
    ]


def test_an_image_goes_along_where_the_target_takes_it_and_is_named_elsewhere() -> None:
    image: JsonObject = {"type": "image", "media_type": "image/png", "data": "aGk="}
    turns = [
        turn("user", "See", image),
        turn("assistant", "", call()),
        turn("tool", "", {**result(), "images": [image], "is_error": True}),
    ]
    carried = outgoing_messages(turns, now=NOW, carries=frozenset({"images", "result_images"}))
    assert [only.data for only in (*carried[0].images, *carried[1].calls[0].images)] == ["aGk=", "aGk="]
    assert carried[1].calls[0].failed
    assert [carried[0].text, carried[1].calls[0].result] == ["See", "done"]
    named = outgoing_messages(turns, now=NOW)
    assert not named[0].images
    assert not named[1].calls[0].images
    assert named[0].text == "See\n\n[an image that is not handed over]"
    assert named[1].calls[0].result == "done\n[an image that is not handed over]"


def test_what_a_turn_of_a_tool_shows_is_not_shown_by_the_user() -> None:
    image: JsonObject = {"type": "image", "media_type": "image/png", "data": "aGk="}
    carries = frozenset({"images", "result_images"})
    _, shown = outgoing_messages([turn("tool", "a screen", image)], now=NOW, carries=carries)
    assert (shown.role, shown.calls[0].result, shown.calls[0].images[0].data) == ("assistant", "a screen", "aGk=")


def test_the_words_of_a_model_stay_where_a_turn_has_a_call_and_its_result() -> None:
    _, answer = said(turn("user", "Go"), turn("assistant", "I look.", call(), result()))
    assert (answer.text, [only.result for only in answer.calls]) == ("I look.", ["done"])


def test_the_same_result_is_handed_over_once_and_none_is_empty() -> None:
    turns = [turn("user", "Go"), turn("assistant", "", call()), *[turn("tool", "", result(content=" "))] * 2]
    assert [only.result for only in said(*turns)[-1].calls] == ["[no output]"]


def test_a_file_without_content_is_named_to_the_model() -> None:
    _, read = said(turn("user", "Look", {"type": "file", "path": "a.txt"}))
    assert (read.calls[0].arguments, read.calls[0].failed) == ({"path": "a.txt"}, True)


def test_a_summary_is_handed_over_only_if_nothing_is_before_it() -> None:
    summary = turn("system", "It was about logins.", {"type": "summary"})
    assert [only.result for piece in said(summary, turn("user", "Go")) for only in piece.calls] == [summary.content]
    assert [piece.text for piece in said(turn("user", "Go"), summary)] == ["Go"]


def test_an_answer_that_was_cut_off_says_so() -> None:
    cut = Turn(role="assistant", content="I will", timestamp=NOW, tokens=None, partial=True, id="1")
    assert said(turn("user", "Go"), cut)[-1].text == "I will\n\n[this answer was cut off here]"


def test_calls_of_one_name_get_ids_of_their_own_and_each_its_result() -> None:
    turns = [turn("user", "Go")]
    for content in ("one", "two"):
        turns += [turn("assistant", "", call()), turn("tool", "", result(content=content))]
    calls = [only for piece in said(*turns) for only in piece.calls]
    assert [only.result for only in calls] == ["one", "two"]
    assert len({only.id for only in calls}) == 2


def test_arguments_become_an_object_whatever_they_are() -> None:
    given = [None, {"a": 1}, '{"a": 1}', "not json", [1]]
    turns = [turn("user", "Go"), *(turn("assistant", "", call(str(n), value)) for n, value in enumerate(given))]
    found = [piece.calls[0].arguments for piece in said(*turns)[1:]]
    assert found == [{}, {"a": 1}, {"a": 1}, {"input": "not json"}, {"input": [1]}]


def test_a_very_long_result_is_cut_and_says_so() -> None:
    _, piece = said(turn("user", "Go"), turn("assistant", "", call()), turn("tool", "", result(content="x" * 60_000)))
    assert len(piece.calls[0].result) < LONGEST_RESULT + 100
    assert piece.calls[0].result.endswith("[10,000 more characters are left out]")


def test_the_user_begins() -> None:
    assert [piece.role for piece in said(turn("assistant", "Hello"))] == ["user", "assistant"]


def test_times_rise_by_milliseconds_and_end_before_now() -> None:
    later = NOW + timedelta(days=1)
    found = [iso_ms(moment) for moment in rising([later, NOW, NOW, later], NOW)]
    assert found == sorted(set(found))
    assert found[-1] < iso_ms(NOW)


ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=20)


@given(st.lists(st.tuples(st.sampled_from(["user", "assistant", "system", "tool"]), ANY_TEXT), max_size=6))
def test_whatever_was_said_every_tool_gets_lines_of_ascii_json_that_are_read_as_ours(
    said_: list[tuple[str, str]],
) -> None:
    turns = [turn(role, text, call(arguments={text: text}), result(content=text)) for role, text in said_]
    pieces = outgoing_messages(turns, now=NOW)
    files = [
        claude_writer.write(pieces, session_id=ID, cwd="/p", title="t", now=NOW),
        codex_writer.write(pieces, session_id=ID, cwd="/p", now=NOW),
        gemini_writer.write(pieces, session_id=ID, cwd="/p", now=NOW),
    ]
    for data in files:
        assert data.isascii()
        assert data.endswith(b"\n")
        for line in data.decode().splitlines():
            json.loads(line)
            assert "\\ud800" not in line or "\\udc00" in line
    document = opencode_writer.write(pieces, session_id=f"ses_{'0' * 26}", cwd="/p", title="", model="a/b", now=NOW)
    found = [
        claude_reader.read(files[0], native_id=ID, place="f"),
        codex_reader.read(files[1], native_id=ID, place="f"),
        gemini_reader.read(files[2], place="f"),
        opencode_reader.read(document, place="f"),
    ]
    assert [(transcript.turns, transcript.damages) for transcript in found] == [((), ())] * 4

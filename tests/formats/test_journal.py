from __future__ import annotations

import json
import zlib
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import to_builtins
from msgspec.structs import replace

from segue.formats.journal import (
    BadLineError,
    Checkpoint,
    decode_line,
    decode_plain,
    encode_append,
    encode_checkpoint,
    encode_event,
    fingerprint,
    read_checkpoint_head,
)
from segue.model import EPOCH, Branch, Event, Metadata, Turn, Unknown, head_of, initial_overview

NOW = datetime(2026, 11, 15, 9, 0, tzinfo=UTC)
META = Metadata(session_id="s", agent="qa", created_at=NOW, status="active", version=1, id="m", seq=1)
TURN = Turn(role="user", content="hi", timestamp=NOW, tokens=3, id="t", seq=2)


def ours(body: bytes) -> bytes:
    """The line with this body, as one that knows the format and means ill would write it."""
    return b'%b,"sum":"%08x"}' % (body, zlib.crc32(body))


any_text = st.text(st.characters(exclude_categories=()))
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | any_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_text, inner, max_size=3),
    max_leaves=8,
)
json_objects = st.dictionaries(any_text, json_values, max_size=4)
turns = st.builds(
    Turn,
    role=st.sampled_from(["user", "assistant", "system", "tool"]),
    content=any_text,
    timestamp=st.datetimes(timezones=st.just(UTC)),
    tokens=st.none() | st.integers(0, 2**63 - 1),
    branch=st.sampled_from(["main", "other"]),
    parts=st.lists(json_objects, max_size=2).map(tuple),
    native=st.none() | json_objects,
    id=any_text.filter(bool),
    seq=st.integers(1, 2**40),
    extra=st.dictionaries(
        any_text.filter(lambda name: name not in {*Turn.__struct_encode_fields__, "type", "sum"}), json_values
    ),
)


@given(turns)
def test_any_turn_a_model_can_emit_comes_back_as_it_was(turn: Turn) -> None:
    line = encode_event(turn)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert decode_line(line[:-1]) == (turn, True, False)


@given(turns)
def test_a_line_is_json_that_any_reader_understands(turn: Turn) -> None:
    line = encode_event(turn)
    plain = json.loads(line)
    assert (plain["type"], plain["role"], plain["content"]) == ("turn", turn.role, turn.content)
    assert list(plain)[-1] == "sum"
    assert len(line.decode("utf-8").splitlines()) == 1 or "\x85" in turn.content or _has_other_breaks(line)


def _has_other_breaks(line: bytes) -> bool:
    return any(mark in line.decode() for mark in "\x0b\x0c\x1c\x1d\x1e\x85")


@given(turns)
def test_an_event_that_says_the_same_has_the_same_fingerprint_wherever_it_was_recorded(turn: Turn) -> None:
    assert fingerprint(turn) == fingerprint(replace(turn, seq=0))
    read = b"main".decode()  # equal, but another object
    assert fingerprint(replace(turn, branch="main")) == fingerprint(replace(turn, branch=read))
    assert fingerprint(turn) != fingerprint(replace(turn, content=turn.content + "x"))


def test_the_checksum_covers_every_byte_before_it() -> None:
    body, _, tail = encode_event(TURN).rpartition(b',"sum":"')
    assert tail == b'%08x"}\n' % zlib.crc32(body)


@pytest.mark.parametrize("event", [META, TURN, Unknown(type="poem", data={"verse": ["a", 1]}, id="u", seq=5)])
def test_every_flipped_bit_of_a_line_is_found(event: Event) -> None:
    line = encode_event(event)[:-1]
    for at in range(len(line)):
        for bit in range(8):
            broken = bytearray(line)
            broken[at] ^= 1 << bit
            if broken[at] == 0x0A:
                continue  # that cuts the line in two, each of which is bad: see the proofs on whole files
            with pytest.raises(BadLineError):
                decode_line(bytes(broken))


def test_unknown_fields_are_kept_and_written_back() -> None:
    line = encode_event(replace(TURN, extra={"mood": "good", "nested": {"a": [1]}}))
    record = decode_line(line[:-1]).record
    assert isinstance(record, Turn)
    assert record.extra == {"mood": "good", "nested": {"a": [1]}}
    assert encode_event(record) == line


def test_unknown_types_are_kept_and_written_back() -> None:
    event = Unknown(type="poem", data={"verse": ["a"], "timestamp": "soon"}, id="u", seq=4)
    record = decode_line(encode_event(event)[:-1]).record
    assert record == event


@pytest.mark.parametrize(
    ("line", "content", "when"),
    [
        (b'{"type":"turn","role":"user","content":"x","timestamp":"2026-01-01T00:00:00","tokens":1}', "x", 2026),
        (b'{"type":"turn","role":"user","content":"x","timestamp":"2026-01-01T00:00:00+02:00"}', "x", 2025),
        (b'{"type":"turn","role":"user","content":"x","timestamp":1767225600.5}', "x", 2026),
        (b'{"type":"turn","role":"user","content":"\\ud800"}', "\ud800", 1970),
        (b' {"type": "turn", "content": "x", "role": "user", "color": "red"} ', "x", 1970),
    ],
)
def test_lines_of_other_writers_are_read_all_the_same(line: bytes, content: str, when: int) -> None:
    record, numbered, _ = decode_line(line)
    assert isinstance(record, Turn)
    assert not numbered
    assert (record.content, record.timestamp.astimezone(UTC).year) == (content, when)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"", "it is empty"),
        (b"not json", "it is not JSON"),
        (b"[1]", "not an object"),
        (b"\xff\xfe", "not UTF-8"),
        (b'{"type":"turn","role":"user","content":"x","seq":4}', "number or its checksum"),
        (b'{"type":"turn","role":"user","content":"x","sum":"00000000"}', "checksum"),
        (b'{"type":' + b'{"x":' * 5000 + b"1" + b"}" * 5000 + b"}", "nested too deeply"),
        (b'{"type":"turn","role":"user","content":"x","score":NaN}', "NaN is not JSON"),
        (ours(b'{"type":"turn","role":"user","seq":4'), "not a valid turn"),
        (ours(b'{"type":"turn","role":"user","content":["x"],"seq":4'), "not a valid turn"),
        (ours(b'{"type":"turn","role":"user","content":"x","timestamp":"yesterday","seq":4'), "not a time"),
        (
            ours(b'{"type":"turn","role":"user","content":"x","timestamp":"9999-12-31T23:59-12:00","seq":4'),
            "not a time",
        ),
        (ours(b'{"type":"turn","role":"user","content":"x","tokens":18446744073709551616,"seq":4'), "not a valid turn"),
        (ours(b'{"type":"turn","role":"user","content":"x","seq":9223372036854775808'), "not a valid turn"),
        (ours(b'{"type":"turn","role":"user","content":"x","seq":"\\ud800"'), "half a character"),
        (ours(b'{"type":"mood","seq":"\\ud800"'), "half a character"),
        (ours(b'{"type":"checkpoint","seq":4'), "not a valid checkpoint"),
        (ours(b'{"type":7,"content":"x","seq":4'), "not a valid"),
    ],
)
def test_a_line_that_cannot_be_believed_says_why(line: bytes, reason: str) -> None:
    with pytest.raises(BadLineError, match=reason):
        decode_line(line)


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"status","foo":1}',
        b'{"type":"summary","summary":"Login bug","leafUuid":"6f0"}',
        b'{"type":"turn","role":"user"}',
        b'{"type":"checkpoint"}',
        b'{"type":"checkpoint","overview":null}',
        b'{"type":7,"content":"x"}',
        b'{"type":"title","title":"\\ud800","id":7}',
    ],
)
def test_a_line_of_another_writer_that_means_something_else_by_our_words_is_kept_as_it_is(line: bytes) -> None:
    record, numbered, _ = decode_line(line)
    assert record == Unknown(type="foreign", data={"record": json.loads(line)}, id="")
    assert not numbered
    back = decode_line(encode_event(replace(record, id="line-2", seq=2))[:-1]).record
    assert back == replace(record, id="line-2", seq=2)


@pytest.mark.parametrize("odd", ['"timestamp":"yesterday"', '"tokens":-1', '"id":7', '"branch":null', '"parts":{}'])
def test_what_another_writer_says_is_shown_whatever_else_its_line_holds(odd: str) -> None:
    line = f'{{"type":"turn","role":"user","content":"x",{odd}}}'.encode()
    record = decode_line(line).record
    assert record == Turn(role="user", content="x", timestamp=EPOCH, tokens=None, native=json.loads(line), id="")


def test_a_checkpoint_that_no_events_can_have_come_to_is_not_believed() -> None:
    born = initial_overview(META)
    head = to_builtins(head_of(born))
    far = datetime(9999, 12, 31, 23, 59, tzinfo=timezone(-timedelta(hours=12)))
    one, other = (Branch(name=name, parent=parent, at=1, created_at=NOW) for name, parent in ("ab", "ba"))
    for overview in (
        replace(born, branch="gone"),
        replace(born, branches={**born.branches, "a": one, "b": other}),
        replace(born, branches={**born.branches, "c": one}),
        replace(born, updated_at=far),
    ):
        plain = {"type": "checkpoint", "head": head, "overview": to_builtins(overview), "seq": 1}
        line = ours(json.dumps(plain, separators=(",", ":")).encode()[:-1])
        with pytest.raises(BadLineError, match="not a valid checkpoint"):
            decode_line(line)


def test_a_checkpoint_brings_the_overview_back() -> None:
    overview = initial_overview(META)
    line = encode_checkpoint(overview)
    assert decode_line(line[:-1]).record == Checkpoint(overview=overview, seq=1)
    assert read_checkpoint_head(line[:-1]) == head_of(overview)


def test_a_glance_believes_only_a_sound_checkpoint() -> None:
    line = encode_checkpoint(initial_overview(replace(META, title='a","overview":{', agent="\ud800")))[:-1]
    found = decode_line(line).record
    assert isinstance(found, Checkpoint)
    assert found.overview.title == 'a","overview":{'
    assert read_checkpoint_head(encode_event(TURN)[:-1]) is None
    assert read_checkpoint_head(line.replace(b"overview", b"0verview", 1)) is None
    assert read_checkpoint_head(b"") is None


def test_an_append_of_several_says_in_each_line_but_the_last_that_it_goes_on() -> None:
    lines = encode_append([META, TURN, replace(TURN, seq=3)]).splitlines()
    assert [decode_line(line).continues for line in lines] == [True, True, False]


def test_the_fast_way_and_the_careful_way_agree() -> None:
    events: list[Event] = [META, *(replace(TURN, seq=seq) for seq in range(2, 40))]
    events[20:22] = [replace(TURN, seq=21, extra={"x": 1, "y": {"z": []}}), replace(TURN, seq=22, extra={"usage": {}})]
    data = b"".join([*map(encode_event, events[:9]), encode_append(events[9:12]), *map(encode_event, events[12:])])
    plain = decode_plain(data, 0)
    assert plain is not None
    assert plain.events == [decode_line(line).record for line in data.splitlines()] == events


@pytest.mark.parametrize(
    "odd",
    [
        encode_event(TURN, continues=True),
        encode_event(replace(TURN, seq=3)),
        encode_event(TURN)[:-1],
        encode_event(replace(TURN, extra={"tokens_by": 1})),
        encode_event(replace(TURN, content="\ud800")),
        b'{"type":"turn","role":"user","content":"x"}\n',
        b"\n",
    ],
)
def test_whatever_is_odd_is_left_to_the_careful_way(odd: bytes) -> None:
    assert decode_plain(encode_event(META) + odd, 0) is None

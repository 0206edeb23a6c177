"""A line holds a turn whole, whoever wrote it; one changed byte is found."""

from __future__ import annotations

import json
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from segue.dialects.cortext.format import decode_message, decode_plain_turns, encode_turns
from segue.dialects.cortext.format.lines import are_plain_lines
from segue.formats.records import BadRecordError
from segue.model import Turn
from segue.testing.events import every_kind, turn, turns

(FULL,) = (event for event in every_kind() if isinstance(event, Turn))


@pytest.mark.parametrize(
    "one", [turn(1), FULL, replace(turn(1), extra={"segue": 1, "extra": 2, "with": {}})], ids=["plain", "full", "odd"]
)
def test_a_turn_comes_back_as_it_was(one: Turn) -> None:
    line = encode_turns([replace(one, seq=7)])
    assert decode_message(line[:-1]).turn == replace(one, seq=7)
    shown = json.loads(line)
    assert list(shown) == ["role", "content", "timestamp", "segue"]
    assert list(shown["segue"])[-1] == "sum"


@given(st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from('\0\n\r\u2028"\\,{}😀\udc00')))
def test_any_text_is_one_line(content: str) -> None:
    line = encode_turns([replace(turn(1, content), seq=2)])
    assert line.count(b"\n") == 1
    assert decode_message(line[:-1]).turn.content == content


def test_the_marks_say_where_an_append_ends() -> None:
    several = [replace(one, seq=seq) for seq, one in enumerate(turns(1, 3), start=2)]
    assert [decode_message(line).mark for line in encode_turns(several).splitlines()] == ["+", "+", ""]
    assert [decode_message(line).mark for line in encode_turns(several, until=9).splitlines()] == ["@9"] * 3


@pytest.mark.parametrize("until", [None, 12])
def test_every_changed_byte_is_found(until: int | None) -> None:
    line = encode_turns([replace(turn(1), seq=2)], until=until)[:-1]
    for at, byte in enumerate(line):
        for changed in {byte ^ 1, byte ^ 32, byte ^ 255}:
            flipped = line[:at] + bytes([changed]) + line[at + 1 :]
            assert not are_plain_lines(flipped + b"\n")
            with pytest.raises(BadRecordError):
                decode_message(flipped)


def test_lines_of_others_are_not_ours() -> None:
    ours = encode_turns([replace(turn(1), seq=2)])
    foreign = b'{"role": "user", "content": "Hi"}\n'
    assert are_plain_lines(ours + ours)
    assert are_plain_lines(b"")
    assert not are_plain_lines(ours + foreign)
    assert decode_plain_turns(foreign) is None


def test_what_a_newer_version_adds_is_kept() -> None:
    line = encode_turns([replace(turn(1), seq=2)])
    body = line[: line.index(b',"sum":')].replace(b'"segue":{', b'"mood":1,"segue":{"place":"here",')
    found = decode_message(b'%b,"sum":"%08x"}}' % (body, crc32(body))).turn
    assert found == replace(turn(1), seq=2, extra={"mood": 1, "place": "here"})


@pytest.mark.parametrize("line", [b"", b"[]", b"{}", b'{"role": "user", "content": "x", "segue": {}}', b"\xff", b"{"])
def test_what_is_no_message_says_why(line: bytes) -> None:
    with pytest.raises(BadRecordError, match=r"."):
        decode_message(line)

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segue.formats.terminal import escaped, one_line, printable

ANYTHING = st.text(st.characters(exclude_categories=()))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]52;c;eA==\x07", "\\x1b]52;c;eA==\\x07"),
        ("over\rwritten", "over\\rwritten"),
        ("\x9b31m", "\\x9b31m"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("\u2066x\u2069", "\\u2066x\\u2069"),
        ("\u2028", "\\u2028"),
        ("\ud83d", "\\ud83d"),
        ("\U000e0041", "\\U000e0041"),
        ("\x7f\0", "\\x7f\\x00"),
    ],
)
def test_what_a_terminal_would_obey_is_shown(text: str, shown: str) -> None:
    assert printable(text) == shown


@pytest.mark.parametrize("text", ["a\n\tb", "zwölf Boxkämpfer", "日本語", "مرحبا", "👩‍👩‍👧", "a\\x1b"])
def test_what_people_write_stays(text: str) -> None:
    assert printable(text) == text


def test_one_line_is_one_line() -> None:
    assert one_line("a\n\tb\r\n") == "a\\n\\tb\\r\\n"


@given(ANYTHING)
def test_nothing_printable_is_a_control_or_cannot_be_encoded(text: str) -> None:
    shown = printable(text)
    shown.encode()
    assert [each for each in shown if unicodedata.category(each) == "Cc" and each not in "\n\t"] == []
    assert printable(shown) == shown
    assert "\n" not in one_line(text)


@given(ANYTHING)
def test_escaped_json_says_the_same(text: str) -> None:
    safe = escaped(json.dumps(text, ensure_ascii=False))
    assert printable(safe) == safe
    # Two lone surrogates side by side become the character they stand for in any JSON reader.
    assert json.loads(safe) == json.loads(json.dumps(text))

"""A conversation's place and its id are one and the same thing, both ways."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segue.dialects.cortext.format import is_day, join_id, next_folder, parse_folder_type, split_id
from segue.errors import InvalidIdError
from segue.ids import GRAMMAR, is_id

names = st.from_regex(GRAMMAR, fullmatch=True)
days = st.sampled_from(["2026-01-02", "other", "drafts", "2026-1-2", "", "20260102", "..", "2026-01-02x"])


@pytest.mark.parametrize(
    ("session_id", "place"),
    [
        ("2025-11-22-001-brainstorm-topic", ("2025-11-22", "001-brainstorm-topic")),
        ("2025-11-22-notes", ("2025-11-22", "notes")),
        ("2025-11-22", ("other", "2025-11-22")),
        ("2025-11-22-", ("other", "2025-11-22-")),
        ("2025-11-22--x", ("other", "2025-11-22--x")),
        ("2025-11-22x", ("other", "2025-11-22x")),
        ("qa-test-1", ("other", "qa-test-1")),
        ("other", ("other", "other")),
    ],
)
def test_a_session_has_one_place(session_id: str, place: tuple[str, str]) -> None:
    assert split_id(session_id) == place
    assert join_id(*place) == session_id


@given(names | names.map(lambda name: f"2026-01-02-{name}"[:128]))
def test_every_id_comes_back_from_its_place(session_id: str) -> None:
    day, folder = split_id(session_id)
    assert join_id(day, folder) == session_id
    assert is_day(day)
    assert is_id(folder)


@given(days, names | st.text(max_size=8))
def test_every_folder_that_has_an_id_is_the_place_of_that_id(day: str, folder: str) -> None:
    session_id = join_id(day, folder)
    assert session_id is None or split_id(session_id) == (day, folder)


@pytest.mark.parametrize("text", ["", "../x", "a/b", ".hidden", "2026-01-02-../x"])
def test_what_is_no_id_has_no_place(text: str) -> None:
    with pytest.raises(InvalidIdError):
        split_id(text)


def test_numbers_have_three_digits_or_as_many_as_they_need() -> None:
    assert next_folder("Plan x", []) == "001-plan-x"
    assert next_folder("x", ["001-a", "009-b", "x", "7"]) == "010-x"
    assert next_folder("x", ["999-a"]) == "1000-x"
    assert next_folder("", []) == "001-conversation"


@pytest.mark.parametrize(
    ("folder", "kind"),
    [("001-brainstorm-topic", "brainstorm"), ("001-plan", "plan"), ("1-", "conversation"), ("notes", "conversation")],
)
def test_the_word_behind_the_number_is_the_type(folder: str, kind: str) -> None:
    assert parse_folder_type(folder) == kind

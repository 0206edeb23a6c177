from __future__ import annotations

from datetime import UTC, datetime

import pytest

from segue.errors import InvalidIdError
from segue.ids import check_id, new_session_id, slug

NOW = datetime(2026, 11, 15, 9, 30, 12, tzinfo=UTC)


@pytest.mark.parametrize("text", ["a", "session-123", "A.b_c-d", "0" * 128, "x..y"])
def test_a_sound_id_is_given_back(text: str) -> None:
    assert check_id(text) == text


@pytest.mark.parametrize(
    "text", ["", ".", "..", "../x", "a/b", "-x", "_x", "a\n", "\na", "a b", "a" * 129, "é", "a\0", "a\u2028"]
)
def test_what_could_leave_the_folder_or_confuse_a_shell_is_no_id(text: str) -> None:
    with pytest.raises(InvalidIdError) as caught:
        check_id(text)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 80


def test_a_new_id_begins_with_what_a_person_remembers() -> None:
    assert new_session_id("qa-test", NOW, b"\0\0\0") == "qa-test-20261115-093012-0000"


def test_a_new_id_is_an_id_whatever_the_label() -> None:
    for label in ("", "../..", "Ünï çödé", "x" * 500, "-"):
        assert check_id(new_session_id(label, NOW, b"\xff\xff\xff"))


def test_ids_of_one_agent_sort_by_time() -> None:
    later = NOW.replace(minute=31)
    assert new_session_id("qa", NOW, b"\xff\xff\xff") < new_session_id("qa", later, b"\0\0\0")


def test_a_slug_keeps_words() -> None:
    assert slug("  API Integration! ") == "api-integration"

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from segue.errors import InvalidIdError
from segue.ids import check_id, match_ids, match_words, new_session_id, short_ids, slug

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


IDS = [
    "qa-20261115-093012-k3f2",
    "qa-20261115-093012-9xzz",
    "login",
    "login-bug",
    "0b1ec7ed-0000-4000-8000-00000000abcd",
]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("login", ["login"]),
        ("login-", ["login-bug"]),
        ("qa-2026", sorted(IDS[:2])),
        ("k3f2", IDS[:1]),
        ("abcd", IDS[-1:]),
        ("2", []),  # too short for an end
        ("093012", []),  # neither a beginning nor an end
        ("", []),
    ],
)
def test_an_id_is_found_by_itself_or_by_its_beginning_or_else_by_its_end(text: str, found: list[str]) -> None:
    assert match_ids(text, IDS) == found


def test_a_beginning_wins_over_an_end() -> None:
    assert match_ids("bug", ["login-bug", "bug-7"]) == ["bug-7"]


def test_words_are_found_in_any_order_and_case() -> None:
    titles = ["The LOGIN bug", "Logout", "Größe 日本"]
    assert match_words("bug login", titles, lambda title: [title]) == titles[:1]
    assert match_words("log", titles, lambda title: [title]) == titles[:2]
    assert match_words("ogin", titles, lambda title: [title]) == []
    assert match_words("本", titles, lambda title: [title]) == titles[2:]
    assert match_words("GRÖSSE", titles, lambda title: [title]) == titles[2:]
    assert match_words(" ", titles, lambda title: [title]) == []


def test_a_short_id_finds_its_session_and_is_as_short_as_that_allows() -> None:
    ids = [*IDS, "0b1ec7ed-1111", "x-20261115-093012-9xzz"]
    short = short_ids(ids)
    assert all(match_ids(part, ids) == [id] for id, part in short.items())
    mixed = ["qa-20261116-082309-a1b2", "a1b2c3d4-0000-4000-8000-000000000001"]  # one ends as the other begins
    assert all(match_ids(part, mixed) == [id] for id, part in short_ids(mixed).items())
    assert (short[IDS[0]], short["login"], short["0b1ec7ed-1111"]) == ("k3f2", "login", "1111")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Größe 日本", "grosse"),
        ("Café, déjà vu", "cafe-deja-vu"),
        ("e\u0301te\u0301", "ete"),
        ("Łódź", "lodz"),
        ("İstanbul", "istanbul"),
        ("Привет, мир", "privet-mir"),
        ("Ελλάδα", "ellada"),
        ("カタカナ", "katakana"),
        ("한국어", "hangugeo"),
        ("\uff21\uff22\uff23", "abc"),
        ("日本", ""),
    ],
)
def test_a_slug_spells_other_letters_in_latin_ones(text: str, name: str) -> None:
    assert slug(text) == name

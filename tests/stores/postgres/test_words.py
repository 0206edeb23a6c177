"""The words that Postgres gets are those of the local index, in the shape that Postgres takes."""

from __future__ import annotations

import random

import pytest

from segue.errors import UsageError
from segue.stores.postgres.words import LONGEST_BYTES, Matcher, parse_search, words_of


def lexemes(vector: str) -> set[str]:
    return {part.strip("'") for part in vector.split("' '")}


def test_words_are_split_as_in_the_local_index() -> None:
    (one, empty) = words_of(["See src/auth/login.py: Über Ärger, naïve 中文测试 x\0y \ud800 it's login", "… - _"])
    expected = {"see", "src", "auth", "login", "py", "uber", "arger", "naive", "中文测试", "x", "y", "it", "s"}
    assert lexemes(one.vector) == expected
    assert (one.length, one.is_cut) == (14, False)
    assert (empty.vector, empty.length) == ("", 0)


def test_no_word_and_no_text_is_too_large_for_postgres() -> None:
    numbers = random.Random(1)
    words = ["ä" * 5000, *(f"{numbers.getrandbits(80):020x}" for _ in range(60_000))]
    huge, long = words_of([" ".join(words), f"{'é' * 3000} end"])
    assert huge.is_cut
    assert len(huge.vector.encode()) < 1 << 20
    assert not long.is_cut
    assert max(len(lexeme.encode()) for lexeme in lexemes(long.vector)) <= LONGEST_BYTES


@pytest.mark.parametrize(
    ("text", "query", "is_exact"),
    [
        ("login", "('login') | ('\x01log')", True),
        ("Login tok*", "('login' & 'tok':*) | ('\x01log' & '\x01tok')", True),
        ("a*", "('a':*) | ('\x01a':*)", True),
        ("src/auth", "('src' & 'auth') | ('\x01src' & '\x01aut')", False),
        ('"token expires"', "('token' & 'expires') | ('\x01tok' & '\x01exp')", False),
        ("_ x", "('x') | ('\x01x')", True),
        ("_", "", True),
        ("it's & | ! ( ) :*", "('it' & 's') | ('\x01it' & '\x01s')", False),
    ],
)
def test_what_users_type_becomes_words_and_no_operator(text: str, query: str, is_exact: bool) -> None:  # noqa: FBT001
    search = parse_search(text)
    assert (search.query, search.is_exact) == (query, is_exact)


def test_a_text_without_words_is_refused() -> None:
    with pytest.raises(UsageError):
        parse_search("… -")


def test_a_very_long_search_is_looked_up_by_its_first_words_and_checked() -> None:
    words = [f"word{number}" for number in range(1000)]
    search = parse_search(" ".join(words))
    assert not search.is_exact
    assert len(search.query) < 20_000
    matcher = Matcher(search)
    assert matcher.match([" ".join(words), " ".join(words[:-1])]) == {0: 1000}


def test_the_snippet_is_around_the_match() -> None:
    matcher = Matcher(parse_search('"brown fox"'))
    assert matcher.snippet("The quick brown fox.") == (("The quick ", False), ("brown fox", True), (".", False))
    assert matcher.snippet("The fox is brown.") == ()
    assert matcher.match(["brown fox, brown fox", "fox brown"]) == {0: 2}

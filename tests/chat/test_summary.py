"""Where a conversation stopped, in its own words."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segue.chat.summary import shortened, summarize
from segue.model import Turn


def turn(role: str, content: str, *, partial: bool = False) -> Turn:
    when = datetime(2026, 1, 5, tzinfo=UTC)
    return Turn(role=role, content=content, timestamp=when, tokens=None, partial=partial, id=content[:10] or "-")


def test_nothing_said_is_nothing_to_sum_up() -> None:
    assert summarize([]) == ""
    assert summarize([turn("user", " "), turn("system", "Be kind.")]) == ""


def test_it_is_what_was_asked_last_and_the_first_sentence_of_the_answer() -> None:
    turns = [
        turn("user", "Hello."),
        turn("assistant", "Hi!"),
        turn("user", "Why does login fail? It worked on Monday."),
        turn("assistant", "The token expires. Refresh it five minutes early."),
        turn("tool", "done"),
    ]
    assert summarize(turns) == "You asked: Why does login fail? Answer: The token expires."


def test_a_question_at_the_end_of_the_answer_is_what_is_open() -> None:
    turns = [turn("user", "Postgres or SQLite"), turn("assistant", "Both work.\n\nHow many writers will there be?")]
    assert summarize(turns) == "You asked: Postgres or SQLite. Still open: How many writers will there be?"


def test_a_question_without_an_answer_is_said_to_be_one() -> None:
    turns = [turn("user", "One?"), turn("assistant", "Yes."), turn("user", "Two?")]
    assert summarize(turns) == "Not answered yet: Two?"


def test_an_answer_that_was_cut_off_is_said_to_be_one() -> None:
    turns = [turn("user", "Why?"), turn("assistant", "The token", partial=True)]
    assert summarize(turns) == "You asked: Why? The answer was cut off after: The token"


def test_an_answer_alone_speaks_for_itself() -> None:
    assert summarize([turn("assistant", "Imported notes. More.")]) == "Answer: Imported notes."


def test_markup_and_code_are_not_part_of_a_sentence() -> None:
    answer = "```python\nx = 1. \n```\n\n## **Use** `my_value` here\n\n- and more."
    assert summarize([turn("user", "> How?"), turn("assistant", answer)]) == "You asked: How? Answer: Use my_value here"


def test_an_answer_of_nothing_but_code_is_quoted_as_it_is() -> None:
    assert summarize([turn("assistant", "```\nx = 1\n```")]) == "Answer: ``` x = 1 ```"


def test_sentences_end_where_other_scripts_end_them() -> None:
    turns = [turn("user", "为什么登录失败\uff1f昨天还好。"), turn("assistant", "令牌过期了。请刷新。")]
    assert summarize(turns) == "You asked: 为什么登录失败\uff1f Answer: 令牌过期了。"


@pytest.mark.parametrize(
    ("text", "length", "short"),
    [
        ("short", 10, "short"),
        ("two\n\nlines ", 20, "two lines"),
        ("cut between the words", 12, "cut between…"),
        ("x" * 20, 10, "x" * 9 + "…"),
        ("e\u0301" * 10, 6, "e\u0301e\u0301…"),
        ("👩\u200d👩\u200d👧" * 3, 7, "👩\u200d👩\u200d👧…"),
        ("👍🏽" * 5, 6, "👍🏽👍🏽…"),
    ],
)
def test_a_text_is_never_cut_inside_a_character(text: str, length: int, short: str) -> None:
    assert shortened(text, length) == short


@given(st.lists(st.builds(turn, st.sampled_from(["user", "assistant", "tool"]), st.text(max_size=400)), max_size=5))
def test_a_summary_is_short_on_one_line_and_always_the_same(turns: list[Turn]) -> None:
    told = summarize(turns)
    assert told == summarize(turns)
    assert len(told) <= 400
    assert "\n" not in told

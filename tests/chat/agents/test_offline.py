"""The partner without a network: what it picks up, what it asks next, and that it never claims to be more."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segue.chat.agent import Message, Request, TextDelta
from segue.chat.agents.offline import OfflineAgent, compose, parse_message
from segue.chat.agents.offline_rules import PLAINLY, RULES
from segue.chat.context.system_prompt import Attached, assemble
from segue.chat.context.window import marker_of


def talk(*said: str, system: str = "") -> list[str]:
    """The answers to these messages, one after the other."""
    messages: list[Message] = []
    answers: list[str] = []
    for text in said:
        messages.append(Message(role="user", content=text))
        answers.append(compose(Request(system=system, messages=tuple(messages))))
        messages.append(Message(role="assistant", content=answers[-1]))
    return answers


def question(answer: str) -> str:
    return answer.rsplit("\n\n", 1)[1]


# ── What it is ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_first_answer_says_that_it_is_not_a_model_and_the_next_ones_do_not_repeat_it() -> None:
    first, second = talk("We need a cache", "It is slow")
    assert first.startswith(PLAINLY)
    assert PLAINLY not in second


@pytest.mark.parametrize("text", ["What are you?", "are you an AI?", "Which model is this?", "Are you Claude?"])
def test_who_asks_what_it_is_is_told(text: str) -> None:
    assert talk("We need a cache", text)[1].startswith(PLAINLY)


def test_who_takes_over_from_a_model_says_so() -> None:
    said = Message(role="user", content="It is slow")
    request = Request(system="", messages=(said, Message(role="assistant", content="I am a model."), said))
    assert compose(request).startswith(PLAINLY)


def test_the_same_request_has_the_same_answer_in_the_same_pieces() -> None:
    request = Request(system="", messages=(Message(role="user", content="Redis or Postgres?"),))
    agent = OfflineAgent()
    assert list(agent.answer(request)) == list(agent.answer(request))


def test_it_streams_word_by_word() -> None:
    request = Request(system="", messages=(Message(role="user", content="We should cache"),))
    pieces = [piece.text for piece in OfflineAgent().answer(request) if isinstance(piece, TextDelta)]
    assert "".join(pieces) == compose(request)
    assert all(len(piece.split()) == 1 for piece in pieces)


def test_it_counts_no_tokens() -> None:
    request = Request(system="", messages=(Message(role="user", content="We should cache"),))
    assert all(isinstance(piece, TextDelta) for piece in OfflineAgent().answer(request))


# ── What it picks up ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("hello", "greeting"),
        ("thanks, that's it", "farewell"),
        ("what can you do", "help"),
        ("Let's go with Postgres", "decision"),
        ("We decided to drop Windows", "decision"),
        ("I'm going with the smaller one.", "decision"),
        ("Login fails since Monday", "bug"),
        ("It doesn't work on my phone", "bug"),
        ("```\nTraceback\nKeyError: 'user'\n```", "error message"),
        ("I am torn between Redis and Postgres.", "comparison"),
        ("Redis vs. Postgres", "comparison"),
        ("Should I use Redis or Postgres?", "comparison"),
        ("Rust is faster than Python", "comparison"),
        ("We rewrite it because it is slow", "reason"),
        ("Nobody reads the docs", "absolute"),
        ("I measured the latency", "evidence"),
        ("It takes 200 ms", "amount"),
        ("The budget is $5k", "amount"),
        ("We should write more tests", "obligation"),
        ("The plan is to ship on Friday", "plan"),
        ("I am not sure about the name", "doubt"),
        ("Why is the sky blue?", "why"),
        ("How can I learn Lisp?", "how"),
        ("Is it raining?", "question"),
        ("Customers love it", "people"),
        ("The sea is calm", "anything"),
    ],
)
def test_it_picks_up(text: str, rule: str) -> None:
    assert parse_message(text, [], asked="").rule.name == rule


def test_a_question_whether_to_decide_is_no_decision() -> None:
    assert parse_message("What if we go with Postgres?", []).rule.name != "decision"


def test_the_users_own_words_are_in_the_answer() -> None:
    (answer,) = talk("We should rewrite the parser because Python is too slow.")
    assert "“We should rewrite the parser”" in answer
    assert "“Python is too slow”" in answer


def test_the_two_sides_of_a_comparison_are_named() -> None:
    assert "Redis against Postgres." in talk("Should I use Redis or Postgres for this?")[0]


def test_a_decision_is_offered_for_the_record() -> None:
    assert "`/decide Postgres for the sessions`" in talk("Let's go with Postgres for the sessions.")[0]


def test_of_a_traceback_the_error_is_quoted() -> None:
    answer = talk("It says\n```\nTraceback (most recent call last):\n  File \"x.py\"\nKeyError: 'user_id'\n```")[0]
    assert "“KeyError: 'user_id'”" in answer


# ── What it remembers ────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_same_sign_again_brings_the_next_question() -> None:
    answers = talk("Login fails", "Logout fails", "Search fails", "Everything about it fails", "It still fails")
    assert len({question(answer) for answer in answers}) == len(answers)


def test_a_number_that_has_changed_is_noticed() -> None:
    answers = talk("Parsing takes 200 ms", "It is a nice parser", "For large files the parsing takes 400 ms")
    assert "Earlier it was 200 ms, now it is 400 ms." in answers[-1]


def test_numbers_of_different_things_are_not_held_against_each_other() -> None:
    assert "Earlier" not in talk("The migration takes 5 days", "Backups are kept for 30 days")[-1]


def test_what_was_said_earlier_on_the_same_subject_is_quoted() -> None:
    answers = talk("Our deployment pipeline is fragile", "Mondays are hard", "I wonder about the deployment pipeline")
    assert "what you said earlier: “Our deployment pipeline is fragile”" in answers[-1]


def test_a_short_answer_is_taken_as_one_to_the_last_question() -> None:
    first, second = talk("The sea is calm", "yes")
    assert question(first).strip("*") in second


def test_a_recap_has_what_was_claimed_and_leaves_greetings_out() -> None:
    answer = talk("hi", "The parser is slow", "Rust would help", "recap")[-1]
    assert "- “The parser is slow”\n- “Rust would help”" in answer
    assert "“hi”" not in answer


def test_after_six_messages_it_looks_back_by_itself() -> None:
    answers = talk(*(f"Claim {word} stands" for word in ("one", "two", "three", "four", "five", "six")))
    assert "So far you have said:" in answers[5]
    assert "So far you have said:" not in answers[4]


def test_the_mark_of_what_is_left_out_is_not_taken_for_words_of_the_user() -> None:
    messages = (Message(role="user", content=marker_of(40)), Message(role="user", content="recap"))
    assert "left out" not in compose(Request(system="", messages=messages))


# ── What it was given ────────────────────────────────────────────────────────────────────────────────────────────────


def given_context(*, changed: bool = False) -> str:
    readme = Attached(path="/home/me/README.md", data=b"# Demo\n\nSessions survive power loss.\n", changed=changed)
    return assemble(prompt="Be kind.", decisions=["Sync every session to disk"], attachments=[readme], budget=10_000)


def test_attached_files_are_named_in_the_first_answer() -> None:
    assert "I have read `README.md`." in talk("hello", system=given_context())[0]


def test_the_line_of_an_attached_file_that_is_about_the_same_is_quoted() -> None:
    answer = talk("Do sessions survive a power cut?", system=given_context())[0]
    assert "`README.md` has a line on this: “Sessions survive power loss”." in answer


def test_a_file_that_has_changed_since_is_quoted_with_a_warning() -> None:
    answer = talk("Do sessions survive a power cut?", system=given_context(changed=True))[0]
    assert "`README.md` (the file has changed since it was attached) has a line" in answer


def test_a_decision_on_the_same_subject_is_brought_up() -> None:
    answer = talk("Writing each session to the disk is slow", system=given_context())[0]
    assert "You have recorded “Sync every session to disk”." in answer


# ── The table ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_last_rule_applies_to_anything() -> None:
    assert parse_message("", []).rule is RULES[-1]
    assert not RULES[-1].needs


def test_every_move_ends_in_a_question_and_every_slot_it_has_can_be_filled() -> None:
    known = {"quote", "say", "asked", "before", "recap"}
    for rule in RULES:
        for move in rule.replies:
            assert "?" in move.question, rule.name
            assert "{" not in move.question, rule.name
            slots = set(re.findall(r"\{(\w+)\}", move.remark))
            assert slots <= known | set(rule.sign.groupindex), rule.name


@given(st.lists(st.text(), min_size=1, max_size=4), st.text())
def test_whatever_is_said_there_is_an_answer_with_a_question(said: list[str], system: str) -> None:
    for answer in talk(*said, system=system):
        assert re.fullmatch(r"\*\*.*\?.*\*\*", question(answer))


def test_a_pasted_log_is_quoted_in_part_only() -> None:
    (answer,) = talk("word " * 100_000)
    assert len(answer) < 1000

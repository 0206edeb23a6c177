"""What of a history is sent, whatever the history is."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segue.chat.agent import Message
from segue.chat.context.tokens import Estimate
from segue.chat.context.window import KEEP_FIRST, KEEP_LAST, NO_RESULT, cost_of, fit, limit_of, marker_of, message_of
from segue.model import JsonObject, Turn

COUNTER = Estimate()
NOW = datetime(2026, 1, 5, tzinfo=UTC)


def turn(role: str, content: str, *parts: JsonObject) -> Turn:
    return Turn(role=role, content=content, timestamp=NOW, tokens=None, parts=parts, id=content[:20] or "-")


def call(*names: str) -> Turn:
    parts: list[JsonObject] = [{"type": "tool_call", "id": name, "name": "run", "arguments": {}} for name in names]
    return turn("assistant", f"calls {' '.join(names)}", *parts)


def result(name: str, content: str = "done") -> Turn:
    return turn("tool", f"{content} {name}", {"type": "tool_result", "id": name, "content": content})


def talk(count: int, size: int = 40) -> list[Turn]:
    """So many turns, the last of them the user's."""
    roles = ("user", "assistant")
    return [turn(roles[(count - 1 - number) % 2], f"{number} ".ljust(size, "x")) for number in range(count)]


def numbers(messages: tuple[Message, ...]) -> list[int]:
    return [int(message.content.split()[0]) for message in messages if message.content[0].isdigit()]


def ids(messages: tuple[Message, ...], kind: str) -> list[str]:
    return [str(part["id"]) for message in messages for part in message.parts if part["type"] == kind]


# ── By example ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_history_that_fits_is_sent_whole() -> None:
    turns = talk(50)
    window = fit(turns, budget=1000, counter=COUNTER)
    assert window.messages == tuple(message_of(turn) for turn in turns)
    assert (window.dropped, window.marker, window.tokens) == (0, "", 50 * 14)


def test_beyond_its_share_of_the_budget_the_first_two_and_the_last_ten_stay_with_a_marker_between() -> None:
    window = fit(talk(60), budget=1000, counter=COUNTER)
    assert numbers(window.messages) == [0, 1, *range(50, 60)]
    assert window.messages[KEEP_FIRST] == Message(role="user", content="[48 earlier turns are left out]")
    assert (window.dropped, window.marker) == (48, "[48 earlier turns are left out]")


def test_what_the_system_prompt_takes_is_not_there_for_the_history() -> None:
    assert fit(talk(50), budget=1000, counter=COUNTER, reserved=100).dropped == 0
    assert fit(talk(50), budget=1000, counter=COUNTER, reserved=101).dropped == 38


def test_if_those_are_too_large_the_older_of_the_last_go_first() -> None:
    window = fit(talk(60, size=400), budget=1000, counter=COUNTER)
    assert numbers(window.messages) == [0, 1, *range(55, 60)]


def test_then_the_first_go_and_the_newest_of_the_user_stays() -> None:
    assert numbers(fit(talk(60, size=1400), budget=1000, counter=COUNTER).messages) == [0, 59]
    assert numbers(fit(talk(60, size=3000), budget=1000, counter=COUNTER).messages) == [59]


def test_the_newest_of_the_user_stays_even_if_it_is_larger_than_the_budget() -> None:
    window = fit(talk(5, size=9000), budget=1000, counter=COUNTER)
    assert numbers(window.messages) == [4]
    assert window.tokens > 1000


def test_the_newest_of_the_user_stays_when_many_turns_of_tools_follow_it() -> None:
    turns = [*talk(21, size=400), *(item for n in range(15) for item in (call(f"c{n}"), result(f"c{n}", "r" * 200)))]
    window = fit(turns, budget=1300, counter=COUNTER)
    assert 20 in numbers(window.messages)
    assert window.messages[-1] == message_of(turns[-1])
    assert ids(window.messages, "tool_call") == ids(window.messages, "tool_result")


def test_one_turn_left_out_is_spoken_of_as_one() -> None:
    assert [marker_of(1), marker_of(1200)] == ["[1 earlier turn is left out]", "[1,200 earlier turns are left out]"]


def test_nothing_gives_nothing() -> None:
    assert fit([], budget=10, counter=COUNTER, reserved=1000).messages == ()


def test_a_call_at_the_edge_stays_with_its_results() -> None:
    turns = [*talk(40), call("a", "b"), result("a"), result("b"), *talk(9)]
    window = fit(turns, budget=600, counter=COUNTER)
    assert numbers(window.messages) == [0, 1, *range(9)]
    assert ids(window.messages, "tool_call") == ids(window.messages, "tool_result") == ["a", "b"]
    assert window.dropped == 38


def test_a_call_among_the_first_stays_with_its_results() -> None:
    window = fit([turn("user", "begin"), call("a"), result("a"), *talk(60)], budget=1000, counter=COUNTER)
    assert [message.content for message in window.messages[:4]] == [
        "begin",
        "calls a",
        "done a",
        "[50 earlier turns are left out]",
    ]


def test_a_call_without_a_result_is_shown_as_unanswered_right_behind_it() -> None:
    turns = [turn("user", "begin"), call("a", "b"), result("a"), turn("user", "go on")]
    window = fit(turns, budget=1000, counter=COUNTER)
    assert [message.role for message in window.messages] == ["user", "assistant", "tool", "tool", "user"]
    assert window.messages[2] == Message(
        role="tool", content=NO_RESULT, parts=({"type": "tool_result", "id": "b", "content": NO_RESULT},)
    )
    assert window.dropped == 0


def test_names_of_calls_may_come_again() -> None:
    turns = [call("1"), result("1"), call("1"), turn("user", "again"), call("1"), result("1"), turn("user", "end")]
    window = fit(turns, budget=1000, counter=COUNTER)
    assert [message.content for message in window.messages] == [
        "calls 1",
        "done 1",
        "calls 1",
        NO_RESULT,
        "again",
        "calls 1",
        "done 1",
        "end",
    ]


def test_a_call_and_its_result_in_one_turn_need_nothing() -> None:
    both = turn("assistant", "both", *call("a").parts, *result("a").parts)
    assert len(fit([both, turn("user", "x")], budget=1000, counter=COUNTER).messages) == 2


def test_a_role_that_nobody_knows_is_taken_for_the_users() -> None:
    assert message_of(turn("human", "x")).role == "user"


@pytest.mark.parametrize("results", [(), ("a",)])
def test_a_call_in_front_of_unseen_turns_is_sent_only_with_its_result(results: tuple[str, ...]) -> None:
    first = [turn("user", "begin"), call("a"), *(result(name) for name in results), turn("assistant", "so")]
    window = fit(talk(20), budget=1000, counter=COUNTER, first=first, unseen=100)
    assert ids(window.messages, "tool_call") == ids(window.messages, "tool_result") == list(results)
    assert window.messages[0].content == "begin"


# ── For every history ────────────────────────────────────────────────────────────────────────────────────────────────


EVERYTHING = ("user", "assistant", "assistant", "call", "orphan")


@st.composite
def histories(draw: st.DrawFn, kinds: tuple[str, ...] = EVERYTHING) -> list[Turn]:
    """Questions, answers and tool calls, some of them without a result; the user speaks last."""
    turns: list[Turn] = []
    for number in range(draw(st.integers(0, 40))):
        size = draw(st.sampled_from([0, 4, 40, 400]))
        kind = draw(st.sampled_from(kinds))
        if kind in {"user", "assistant"}:
            turns.append(turn(kind, f"{number} ".ljust(size, "x")))
            continue
        names = [f"{number}-{index}" for index in range(draw(st.integers(1, 3)))]
        turns.append(call(*names))
        if kind == "call":
            turns += [result(name, "r" * size) for name in names]
    return [*turns, turn("user", f"{999} ".ljust(draw(st.sampled_from([4, 40, 400])), "x"))]


budgets = st.integers(1, 3000)


def own(turns: list[Turn], messages: tuple[Message, ...]) -> list[int]:
    """Where in the history each of the messages comes from; markers and what was made up come from nowhere."""
    places: list[int] = []
    for message in messages:
        known = (place for place, item in enumerate(turns) if place not in places and message_of(item) == message)
        place = next((place for place in known if not places or place > places[-1]), None)
        if place is not None:
            places.append(place)
    return places


@given(histories(), budgets)
def test_the_budget_is_kept_whenever_the_newest_message_leaves_room(turns: list[Turn], budget: int) -> None:
    window = fit(turns, budget=budget, counter=COUNTER)
    alone = cost_of(message_of(turns[-1]), COUNTER) + cost_of(Message(role="user", content=marker_of(999)), COUNTER)
    assert window.tokens == sum(cost_of(message, COUNTER) for message in window.messages)
    assert window.tokens <= max(limit_of(budget), alone)


@given(histories(), budgets)
def test_order_is_kept_and_the_newest_message_is_the_last(turns: list[Turn], budget: int) -> None:
    window = fit(turns, budget=budget, counter=COUNTER)
    places = own(turns, window.messages)
    assert places == sorted(places)
    assert window.messages[-1] == message_of(turns[-1])


@given(histories(), budgets)
def test_every_call_that_is_sent_has_its_result_and_every_result_its_call(turns: list[Turn], budget: int) -> None:
    window = fit(turns, budget=budget, counter=COUNTER)
    assert sorted(ids(window.messages, "tool_call")) == sorted(ids(window.messages, "tool_result"))


@given(histories(), budgets)
def test_markers_say_how_many_are_missing_and_everything_is_accounted_for(turns: list[Turn], budget: int) -> None:
    window = fit(turns, budget=budget, counter=COUNTER)
    told = [int(m.content[1:].split()[0].replace(",", "")) for m in window.messages if m.content.endswith("left out]")]
    made_up = sum(message.content == NO_RESULT for message in window.messages)
    assert sum(told) == window.dropped
    assert len(window.messages) - len(told) - made_up + window.dropped == len(turns)
    assert (window.marker == "") == (window.dropped == 0)


@given(histories())
def test_nothing_is_left_out_while_there_is_room(turns: list[Turn]) -> None:
    assert fit(turns, budget=10**6, counter=COUNTER).dropped == 0


@given(histories(("user", "assistant")), budgets)
def test_the_first_two_and_the_last_ten_stay_whenever_they_fit(turns: list[Turn], budget: int) -> None:
    wanted = turns if len(turns) <= KEEP_FIRST + KEEP_LAST else [*turns[:KEEP_FIRST], *turns[-KEEP_LAST:]]
    marker = Message(role="user", content=marker_of(999))
    needed = sum(cost_of(message, COUNTER) for message in [*map(message_of, wanted), marker])
    if needed <= limit_of(budget):
        messages = fit(turns, budget=budget, counter=COUNTER).messages
        assert [message for message in map(message_of, wanted) if message not in messages] == []


@given(histories(("user", "assistant", "call")), histories())
def test_turns_in_between_need_not_be_read(begin: list[Turn], end: list[Turn]) -> None:
    begin, middle, end = [*begin, *talk(3)], talk(31, size=400), [*talk(11), *end]
    whole = fit([*begin, *middle, *end], budget=3000, counter=COUNTER)
    assert fit(end, budget=3000, counter=COUNTER, first=begin, unseen=len(middle)) == whole

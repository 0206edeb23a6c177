"""What is handed over of a long conversation: no pair is cut, and no text of a tool becomes a message of the user."""

from __future__ import annotations

import re
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import segue
from segue.integrations import INTEGRATIONS
from segue.integrations.format.outgoing import NO_RESULT, outgoing_messages
from segue.integrations.format.pairs import pair_calls
from segue.integrations.format.parts import call_part, file_part, notice_part, result_part, summary_part
from segue.library import Library
from segue.model import EPOCH, Turn
from segue.stores.memory import MemoryStore
from segue.testing.events import turn
from segue.transfer.import_sessions import import_session
from segue.transfer.window import MOST_CHARACTERS, handover_window
from tests.support.integration_homes import later

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segue.integrations.format.outgoing import OutgoingMessage
    from segue.model import JsonObject
    from segue.session import LiveSession

CORPUS = Path(__file__).parents[1] / "corpus" / "homes"
NOBODY = re.compile("[TNFS]~")
"""Such a sign is in every text that no person said."""


def session_of(turns: Sequence[Turn]) -> LiveSession:
    session = Library(MemoryStore()).create(id="long")
    session.record(*(replace(one, id=f"t{number}") for number, one in enumerate(turns)))
    return session


def sent(session: LiveSession, limit: int) -> tuple[OutgoingMessage, ...]:
    return outgoing_messages(handover_window(session, limit).turns, now=EPOCH)


def check_rules(messages: Sequence[OutgoingMessage]) -> None:
    """What every provider demands, and that no person is made to say what a tool wrote."""
    ids = [call.id for message in messages for call in message.calls]
    assert len(ids) == len(set(ids))
    assert not messages or messages[0].role == "user"
    for message in messages:
        assert message.text.strip() or message.calls or message.images
        assert message.role == "assistant" or not message.calls
        assert message.role == "assistant" or not NOBODY.search(message.text)
        assert all(call.result.strip() or call.images for call in message.calls)


def said(role: str, content: str, *parts: JsonObject) -> Turn:
    return replace(turn(1), role=role, content=content, parts=parts)


def halves(turns: Sequence[Turn]) -> set[tuple[str, int]]:
    """The calls without a result, and the results without a call: the turn of each, and its place there."""
    pairs = pair_calls(turns).items()
    return {(turns[at].id, place) for (at, place), pair in pairs if pair.result is None or pair.is_orphan}


LENGTHS = st.sampled_from([0, 1, 30, 400, 3_000])


@st.composite
def turns_of_all_kinds(draw: st.DrawFn) -> list[Turn]:
    found: list[Turn] = []
    for number in range(draw(st.integers(0, 30))):
        size, name = draw(LENGTHS), str(draw(st.integers(0, 4)))
        spoken, unspoken = f"{number}" + "x" * size, f"T~{number}" + "y" * size
        match draw(st.integers(0, 9)):
            case 0:
                found.append(said("user", spoken, file_part("a", f"F~{unspoken}")))
            case 1:
                found.append(said("assistant", spoken, call_part(name, "read", {"of": spoken})))
            case 2:
                found.append(said("tool", unspoken, result_part(name, unspoken)))
            case 3:
                results = [result_part(str(n), f"T~{n}{unspoken}") for n in range(3)]
                found.append(said("tool", "\n".join(str(part["content"]) for part in results), *results))
            case 4:
                found.append(said("tool", unspoken, {"type": "tool_result", "id": name, "name": "own"}))
            case 5:
                found.append(said("system", f"N~{unspoken}", notice_part()))
            case 6:
                found.append(said("system", f"S~{unspoken}", summary_part()))
            case 7:
                found.append(said("tool", unspoken))
            case 8:
                found.append(said("user", unspoken, result_part(name, unspoken)))
            case _:
                found.append(said("user", spoken))
    return found


@given(turns_of_all_kinds(), st.sampled_from([500, 2_000, 20_000, 1_000_000]))
def test_whatever_was_said_and_however_little_fits_the_rules_hold(turns: list[Turn], limit: int) -> None:
    session = session_of(turns)
    window = handover_window(session, limit)
    messages = outgoing_messages(window.turns, now=EPOCH)
    check_rules(messages)
    shown = len(window.opening) + len(window.last) + (window.prompt is not None)
    assert shown + window.left_out == len(turns)
    assert sum(len(message.text) for message in messages) <= 4 * limit
    assert halves(window.turns) <= halves(session.turns)


def test_results_are_shortened_before_turns_are_left_out_and_calls_keep_theirs() -> None:
    turns = [said("user", "Read them all.")]
    for number in range(20):
        turns += [
            said("assistant", "", call_part(f"c{number}", "read", {"path": f"{number}"})),
            said("tool", f"T~{number}" + "z" * 40_000, result_part(f"c{number}", f"T~{number}" + "z" * 40_000)),
        ]
    session = session_of(turns)
    window = handover_window(session)
    assert (window.left_out, window.shortened_results, window.shortened_texts) == (0, 20, 0)
    messages = outgoing_messages(window.turns, now=EPOCH)
    check_rules(messages)
    calls = [call for message in messages for call in message.calls]
    assert [call.result.partition("z")[0] for call in calls] == [f"T~{number}" for number in range(20)]
    assert all("characters are left out here]" in call.result for call in calls)
    assert sum(len(call.result) for call in calls) < MOST_CHARACTERS


@pytest.mark.parametrize("role", ["tool", "user"])
def test_a_result_that_comes_long_after_its_call_has_it_even_if_the_turn_of_the_call_is_left_out(role: str) -> None:
    turns = [said("user", "Begin."), said("assistant", "Yes."), said("assistant", "", call_part("far", "wait", {}))]
    turns += [said("assistant", f"{number} " + "w" * 180) for number in range(60)]
    turns.insert(61, said(role, "T~done", result_part("far", "T~done")))
    session = session_of(turns)
    messages = sent(session, 1_000)
    check_rules(messages)
    assert ("wait", "T~done") in [(call.name, call.result) for message in messages for call in message.calls]
    assert halves(handover_window(session, 1_000).turns) == set()


def test_the_gap_is_told_in_words_with_the_summary_of_the_tool() -> None:
    turns = [said("user", "Begin."), said("assistant", "Yes.")]
    turns += [said("assistant", f"{number} " + "w" * 450) for number in range(60)]
    turns.insert(10, said("system", "S~ It was about logins.", summary_part()))
    turns.insert(20, said("user", "Now the last wish."))
    session = session_of(turns)
    window = handover_window(session, 10_000)
    assert window.has_summary
    assert window.prompt is not None
    assert window.prompt.content == "Now the last wish."
    messages = sent(session, 10_000)
    check_rules(messages)
    first, second = [call.result for message in messages for call in message.calls]
    until = "18 turns of this conversation are left out here. A summary of what was said until here:"
    assert first == f"{until}\n\nS~ It was about logins."
    assert re.fullmatch(r"\d+ turns of this conversation are left out here\.", second)
    assert [message.text for message in messages if message.role == "user"] == ["Begin.", "Now the last wish."]


def test_the_last_turns_begin_with_the_user_where_that_costs_little() -> None:
    turns = [said("user" if number % 4 == 0 else "assistant", f"{number} " + "w" * 500) for number in range(60)]
    window = handover_window(session_of(turns), 10_000)
    assert window.last[0].role == "user"
    assert window.left_out > 30


def test_the_corpus_session_with_large_results_is_handed_over_without_an_interrupted_call() -> None:
    claude = INTEGRATIONS["claude"]
    library = Library(MemoryStore())
    (external,) = claude.sessions(CORPUS / "claude-results-over-15k", {})
    imported = import_session(claude, external, library.store, clock=later)
    with library.resume(imported.session_id) as session:
        window = handover_window(session)
    messages = outgoing_messages(window.turns, now=EPOCH)
    check_rules(messages)
    calls = [call for message in messages for call in message.calls]
    assert len(calls) >= 20
    assert not any(call.result == NO_RESULT for call in calls)
    texts = {turn.content for turn in session.turns if turn.role == "user"}
    assert {message.text for message in messages if message.role == "user"} <= texts
    assert window.shortened_results + window.left_out > 0


def test_the_memory_that_it_needs_does_not_grow_with_the_conversation(tmp_path: Path) -> None:
    library = segue.open(f"journal:{tmp_path}")
    with library.create(id="long") as session:
        text = "T~" + "z" * 60_000
        asked = [said("assistant", "", call_part(f"{number}", "read", {})) for number in range(200)]
        answered = [said("tool", text, result_part(f"{number}", text)) for number in range(200)]
        turns = [one for pair in zip(asked, answered, strict=True) for one in pair]
        named = [replace(one, id=f"t{number}") for number, one in enumerate(turns)]
        for start in range(0, len(named), 20):
            session.record(*named[start : start + 20])
        del turns, named, asked, answered
        tracemalloc.start()
        try:
            window = handover_window(session)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert window.left_out > 0
    assert peak < 8 << 20  # of 24 MB

"""One exchange after another, on a real journal: what is recorded when, and what is not."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from segue.chat.agent import AgentError, Message, Usage
from segue.errors import UsageError
from segue.library import Library
from segue.presets import Preset
from segue.stores.journal import JournalStore
from tests.support.scripted_agent import ScriptedAgent, last, said, talk

if TYPE_CHECKING:
    from pathlib import Path

    from segue.session import LiveSession

BROKEN = AgentError("the line is dead", can_retry=True)


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(JournalStore(str(tmp_path)))


@pytest.fixture
def session(library: Library) -> LiveSession:
    return library.create(id="talk")


# ── Asking and answering ─────────────────────────────────────────────────────────────────────────────────────────────


def test_an_answer_streams_and_both_turns_are_recorded_when_it_has_come(library: Library, session: LiveSession) -> None:
    partner = ScriptedAgent(("The token ", "", "expires."))
    assert list(talk(session, partner).ask("Why does login fail?")) == ["The token ", "expires."]
    assert said(library) == [("user", "Why does login fail?"), ("assistant", "The token expires.")]
    assert partner.requests[0].messages == (Message(role="user", content="Why does login fail?"),)


def test_the_question_is_on_disk_before_the_agent_is_asked(library: Library, session: LiveSession) -> None:
    seen: list[tuple[str, str]] = []
    partner = ScriptedAgent(when_asked=lambda: seen.extend(said(library)))
    list(talk(session, partner).ask("one"))
    assert seen == [("user", "one")]


def test_the_question_is_on_disk_even_if_nobody_takes_the_answer(library: Library, session: LiveSession) -> None:
    partner = ScriptedAgent()
    talk(session, partner).ask("one")
    assert said(library) == [("user", "one")]
    assert partner.requests == []


def test_the_answer_is_on_disk_when_the_last_piece_has_been_taken(library: Library, session: LiveSession) -> None:
    answer = talk(session, ScriptedAgent(("a", "b"))).ask("one")
    assert [next(answer), next(answer)] == ["a", "b"]
    assert next(answer, None) is None
    assert said(library)[-1] == ("assistant", "ab")


def test_the_next_question_carries_the_conversation_so_far(session: LiveSession) -> None:
    partner = ScriptedAgent(("first answer",), ("second answer",))
    conversation = talk(session, partner)
    list(conversation.ask("one"))
    list(conversation.ask("two"))
    assert [(message.role, message.content) for message in partner.requests[1].messages] == [
        ("user", "one"),
        ("assistant", "first answer"),
        ("user", "two"),
    ]


def test_what_others_record_between_two_questions_is_carried_along(session: LiveSession) -> None:
    partner = ScriptedAgent()
    conversation = talk(session, partner)
    list(conversation.ask("one"))
    session.add("user", "imported")
    session.add("assistant", "also imported")
    list(conversation.ask("two"))
    assert [message.content for message in partner.requests[1].messages] == [
        "one",
        "yes",
        "imported",
        "also imported",
        "two",
    ]


def test_a_question_on_another_branch_carries_that_branch_alone(library: Library, session: LiveSession) -> None:
    partner = ScriptedAgent(("a",), ("b",), ("c",))
    conversation = talk(session, partner)
    list(conversation.ask("one"))
    session.fork(at=1, name="other")
    assert conversation.pending is not None
    list(conversation.retry())
    assert [message.content for message in partner.requests[1].messages] == ["one"]
    assert said(library) == [("user", "one"), ("assistant", "b")]
    session.switch("main")
    list(conversation.ask("two"))
    assert [message.content for message in partner.requests[2].messages] == ["one", "a", "two"]


def test_a_question_without_words_is_refused_and_nothing_is_recorded(library: Library, session: LiveSession) -> None:
    with pytest.raises(UsageError, match="the question is empty"):
        talk(session, ScriptedAgent()).ask(" \n")
    assert said(library) == []


def test_opening_a_conversation_writes_nothing(library: Library, session: LiveSession) -> None:
    before = library.store.revision("talk")
    conversation = talk(session, ScriptedAgent(), Preset(name="reviewer", system_prompt="Review."))
    assert conversation.pending is None
    assert conversation.stats().turns == 0
    assert library.store.revision("talk") == before


def test_a_second_question_is_refused_while_an_answer_is_coming(library: Library, session: LiveSession) -> None:
    conversation = talk(session, ScriptedAgent(("a", "b")))
    answer = conversation.ask("one")
    next(answer)
    with pytest.raises(UsageError, match="still streaming"):
        conversation.ask("two")
    assert list(answer) == ["b"]
    assert said(library) == [("user", "one"), ("assistant", "ab")]


def test_an_answer_that_nobody_took_in_time_is_not_recorded_behind_later_turns(
    library: Library, session: LiveSession
) -> None:
    conversation = talk(session, ScriptedAgent())
    stale = conversation.ask("one")
    list(conversation.ask("two"))
    with pytest.raises(UsageError, match="has continued"):
        next(stale)
    assert said(library) == [("user", "one"), ("user", "two"), ("assistant", "yes")]


# ── Failure and retry ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("script", [(BROKEN,), ("half an ans", BROKEN)], ids=["before any text", "after some text"])
def test_an_error_of_the_agent_records_no_answer_and_allows_retry(
    library: Library, session: LiveSession, script: tuple[str | AgentError, ...]
) -> None:
    partner = ScriptedAgent(script, ("The token expires.",))
    conversation = talk(session, partner)
    with pytest.raises(AgentError, match="the line is dead"):
        list(conversation.ask("Why?"))
    assert said(library) == [("user", "Why?")]
    assert conversation.pending is not None
    assert conversation.pending.content == "Why?"
    assert list(conversation.retry()) == ["The token expires."]
    assert said(library) == [("user", "Why?"), ("assistant", "The token expires.")]
    assert partner.requests[0] == partner.requests[1]
    assert conversation.pending is None


def test_the_same_question_typed_again_after_an_error_is_neither_recorded_nor_sent_twice(
    library: Library, session: LiveSession
) -> None:
    partner = ScriptedAgent((BROKEN,), ("yes",))
    conversation = talk(session, partner)
    with pytest.raises(AgentError):
        list(conversation.ask("Why?"))
    list(conversation.ask("Why?"))
    assert said(library) == [("user", "Why?"), ("assistant", "yes")]
    assert [message.content for message in partner.requests[1].messages] == ["Why?"]


def test_another_question_after_an_error_leaves_the_first_on_record(library: Library, session: LiveSession) -> None:
    partner = ScriptedAgent((BROKEN,), ("yes",))
    conversation = talk(session, partner)
    with pytest.raises(AgentError):
        list(conversation.ask("Why?"))
    list(conversation.ask("Or rather: how?"))
    assert said(library) == [("user", "Why?"), ("user", "Or rather: how?"), ("assistant", "yes")]
    assert [message.content for message in partner.requests[1].messages] == ["Why?", "Or rather: how?"]


def test_a_question_that_a_crash_left_unanswered_is_pending_after_resume(
    library: Library, session: LiveSession
) -> None:
    talk(session, ScriptedAgent()).ask("Why?")
    session.release()  # as a killed process does: no word, no status
    with library.resume("talk") as resumed:
        partner = ScriptedAgent()
        conversation = talk(resumed, partner)
        assert conversation.pending is not None
        assert conversation.pending.content == "Why?"
        list(conversation.retry())
    assert said(library) == [("user", "Why?"), ("assistant", "yes")]
    assert [message.content for message in partner.requests[0].messages] == ["Why?"]


KILLED_IN_MID_ANSWER = """
import os, signal, sys
import segue
from segue.chat.agent import TextDelta
from segue.chat.conversation import Conversation

class Deadly:
    name = "deadly"

    def answer(self, request):
        yield TextDelta("The token ")
        os.kill(os.getpid(), signal.SIGKILL)

list(Conversation(segue.open(f"journal:{sys.argv[1]}").create(id="talk"), Deadly()).ask("Why?"))
"""


def test_a_process_killed_in_mid_answer_leaves_the_question_pending(tmp_path: Path, library: Library) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED_IN_MID_ANSWER, tmp_path], check=False)
    assert killed.returncode == -signal.SIGKILL
    with library.resume("talk") as session:
        assert "".join(talk(session, ScriptedAgent()).retry()) == "yes"
    assert said(library) == [("user", "Why?"), ("assistant", "yes")]


def test_a_question_typed_again_after_a_crash_is_recorded_once(library: Library, session: LiveSession) -> None:
    talk(session, ScriptedAgent()).ask("Why?")
    session.release()
    with library.resume("talk") as resumed:
        list(talk(resumed, ScriptedAgent()).ask("Why?"))
    assert said(library) == [("user", "Why?"), ("assistant", "yes")]


def test_there_is_nothing_to_retry_when_everything_is_answered(session: LiveSession) -> None:
    conversation = talk(session, ScriptedAgent())
    list(conversation.ask("one"))
    with pytest.raises(UsageError, match="every question has an answer"):
        conversation.retry()


@pytest.mark.parametrize("script", [(), ("", " \n"), (Usage(input_tokens=1, output_tokens=0),)])
def test_an_answer_without_words_is_an_error_and_allows_retry(
    library: Library, session: LiveSession, script: tuple[str | Usage, ...]
) -> None:
    conversation = talk(session, ScriptedAgent(script))
    with pytest.raises(AgentError, match="gave no answer") as error:
        list(conversation.ask("one"))
    assert error.value.can_retry
    assert said(library) == [("user", "one")]


def test_whatever_else_an_agent_raises_comes_as_an_agent_error(library: Library, session: LiveSession) -> None:
    conversation = talk(session, ScriptedAgent(("half", ZeroDivisionError("by zero"))))
    with pytest.raises(AgentError, match="partner failed: by zero"):
        list(conversation.ask("one"))
    assert said(library) == [("user", "one")]


# ── Stopping early ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_closing_the_answer_early_records_what_had_come_marked_as_partial(
    library: Library, session: LiveSession
) -> None:
    partner = ScriptedAgent(("The token ", "expires ", "every hour."))
    conversation = talk(session, partner)
    answer = conversation.ask("Why?")
    assert [next(answer), next(answer)] == ["The token ", "expires "]
    answer.close()
    assert (last(library).content, last(library).partial) == ("The token expires ", True)
    assert (last(library).tokens, last(library).tokens_by) == (5, "estimate")
    assert partner.closed == 1
    list(conversation.ask("Go on"))
    assert [message.content for message in partner.requests[1].messages] == ["Why?", "The token expires ", "Go on"]


def test_closing_the_answer_before_any_text_records_nothing_and_allows_retry(
    library: Library, session: LiveSession
) -> None:
    conversation = talk(session, ScriptedAgent((" ", "yes")))
    answer = conversation.ask("Why?")
    next(answer)
    answer.close()
    assert said(library) == [("user", "Why?")]
    assert "".join(conversation.retry()) == " yes"


def test_an_interrupt_while_waiting_for_the_agent_keeps_what_had_come(library: Library, session: LiveSession) -> None:
    partner = ScriptedAgent(("The token ", KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        list(talk(session, partner).ask("Why?"))
    assert (last(library).content, last(library).partial) == ("The token ", True)
    assert session.status == "active"


def test_an_answer_that_is_dropped_is_an_answer_that_is_closed(library: Library, session: LiveSession) -> None:
    conversation = talk(session, ScriptedAgent(("a", "b")))
    for _ in conversation.ask("one"):
        break
    assert (last(library).content, last(library).partial) == ("a", True)

"""What is recorded with the turns, what the agent is told besides them, and what the budget allows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from segue.chat.agent import Usage
from segue.errors import UsageError
from segue.library import Library
from segue.presets import Preset
from segue.stores.journal import JournalStore
from tests.support.scripted_agent import ScriptedAgent, last, said, talk

if TYPE_CHECKING:
    from pathlib import Path

    from segue.session import LiveSession


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(JournalStore(str(tmp_path)))


@pytest.fixture
def session(library: Library) -> LiveSession:
    return library.create(id="talk")


# ── What is recorded with the turns ──────────────────────────────────────────────────────────────────────────────────


def test_tokens_and_model_are_the_providers_where_it_gives_them(library: Library, session: LiveSession) -> None:
    usage = Usage(input_tokens=12, output_tokens=7, model="large-1")
    conversation = talk(session, ScriptedAgent(("The token expires.", usage)))
    list(conversation.ask("Why does login fail?"))
    asked, answer = library.load("talk").turns
    assert (asked.tokens, asked.tokens_by, asked.model) == (5, "estimate", "")
    assert (answer.tokens, answer.tokens_by, answer.model) == (7, "provider", "large-1")
    stats = conversation.stats()
    assert (stats.tokens_in, stats.tokens_out, stats.tokens_by) == (12, 7, "provider")


def test_tokens_are_counted_here_where_the_provider_gives_none(library: Library, session: LiveSession) -> None:
    conversation = talk(session, ScriptedAgent(("The token expires.",)))
    list(conversation.ask("Why?"))
    assert (last(library).tokens, last(library).tokens_by, last(library).model) == (5, "estimate", "partner")
    stats = conversation.stats()
    assert (stats.turns, stats.tokens_in, stats.tokens_out, stats.tokens_by) == (2, 5, 5, "estimate")
    assert (stats.budget, stats.window_used) == (1000, 14)


def test_counts_of_both_kinds_are_said_to_be_mixed(session: LiveSession) -> None:
    conversation = talk(session, ScriptedAgent(("a",), ("b", Usage(input_tokens=1, output_tokens=1))))
    list(conversation.ask("one"))
    list(conversation.ask("two"))
    assert conversation.stats().tokens_by == "mixed"


def test_a_provider_that_counts_below_zero_is_not_believed(library: Library, session: LiveSession) -> None:
    list(talk(session, ScriptedAgent(("four", Usage(input_tokens=-1, output_tokens=-1)))).ask("one"))
    assert (last(library).tokens, last(library).tokens_by) == (1, "estimate")


def test_the_model_that_was_asked_for_is_sent_and_recorded(library: Library, session: LiveSession) -> None:
    partner = ScriptedAgent()
    conversation = talk(session, partner)
    conversation.model = "small-2"
    list(conversation.ask("one"))
    assert (partner.requests[0].model, last(library).model) == ("small-2", "small-2")


def test_another_agent_can_answer_from_now_on(library: Library, session: LiveSession) -> None:
    conversation = talk(session, ScriptedAgent(("a",)))
    list(conversation.ask("one"))
    conversation.agent = ScriptedAgent(("b",))
    list(conversation.ask("two"))
    assert [content for role, content in said(library) if role == "assistant"] == ["a", "b"]


# ── What the agent is told besides ───────────────────────────────────────────────────────────────────────────────────


def test_the_preset_is_sent_and_the_session_says_which_one_it_was(library: Library, session: LiveSession) -> None:
    preset = Preset(name="reviewer", system_prompt="You review code.", temperature=0.2)
    partner = ScriptedAgent()
    conversation = talk(session, partner, preset)
    list(conversation.ask("one"))
    list(conversation.ask("two"))
    assert (partner.requests[0].system, partner.requests[0].temperature) == ("You review code.", 0.2)
    recorded = library.load("talk").preset
    assert recorded is not None
    assert (recorded.name, recorded.hash) == ("reviewer", preset.hash)
    kinds = [type(event).__name__ for event in library.store.read("talk")]
    assert kinds == ["Metadata", "PresetChosen", "Turn", "Turn", "Turn", "Turn"]


def test_a_setting_of_the_session_wins_over_that_of_the_preset(session: LiveSession) -> None:
    session.set_overrides({"temperature": 1})
    partner = ScriptedAgent()
    list(talk(session, partner, Preset(name="reviewer", temperature=0.2)).ask("one"))
    assert partner.requests[0].temperature == 1.0


def test_what_is_turned_off_in_the_session_is_not_sent(session: LiveSession) -> None:
    session.set_overrides({"temperature": None, "system_message": None})
    partner = ScriptedAgent()
    preset = Preset(name="reviewer", system_prompt="You review code.", temperature=0.2)
    list(talk(session, partner, preset).ask("one"))
    assert (partner.requests[0].system, partner.requests[0].temperature) == ("", None)


def test_attachments_decisions_and_summary_are_told(session: LiveSession) -> None:
    partner = ScriptedAgent()
    conversation = talk(session, partner, Preset(name="reviewer", system_prompt="You review code."))
    list(conversation.ask("one"))
    session.attach("README.md", b"# Shop")
    session.decide("Use Postgres")
    session.summarize("Login was discussed.")
    conversation.changed_files = ("README.md",)
    list(conversation.ask("two"))
    assert partner.requests[0].system == "You review code."
    assert partner.requests[1].system == (
        "You review code.\n\n# Summary of the conversation so far\n\nLogin was discussed.\n\n"
        "# Decisions so far\n\n- Use Postgres\n\n"
        "# Attached file: README.md (the file has changed since it was attached)\n\n```\n# Shop\n```"
    )


def test_a_lost_attachment_does_not_end_the_conversation(tmp_path: Path, session: LiveSession) -> None:
    session.attach("README.md", b"# Shop")
    (blob,) = (tmp_path / ".blobs" / "talk").iterdir()
    blob.unlink()
    partner = ScriptedAgent()
    list(talk(session, partner).ask("one"))
    assert "[its content is lost]" in partner.requests[0].system


@pytest.mark.parametrize(("setting", "recorded"), [("on", ["Use Postgres", "Ship [v1] on Monday"]), ("off", [])])
def test_decisions_in_answers_are_recorded_once_each_when_that_is_on(
    library: Library,
    session: LiveSession,
    setting: str,
    recorded: list[str],
) -> None:
    text = "So: [DECISION: Use Postgres] and [decision:  Ship [v1]\n on Monday]. Write [DECISION: …] for more."
    conversation = talk(session, ScriptedAgent((text,), ("[DECISION: Use Postgres]",)))
    conversation.autorecord = setting == "on"
    list(conversation.ask("one"))
    assert list(conversation.decisions) == recorded
    list(conversation.ask("two"))
    assert conversation.decisions == ()
    decisions = library.load("talk").decisions
    assert [decision.content for decision in decisions] == recorded
    assert {decision.source for decision in decisions} <= {"answer"}


def test_a_partial_answer_decides_nothing(library: Library, session: LiveSession) -> None:
    conversation = talk(session, ScriptedAgent(("[DECISION: Use Postgres]", " or not")))
    conversation.autorecord = True
    answer = conversation.ask("one")
    next(answer)
    answer.close()
    assert library.load("talk").decisions == ()


# ── The budget ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_message_larger_than_the_budget_is_refused_before_it_is_recorded_or_sent(
    library: Library, session: LiveSession
) -> None:
    partner = ScriptedAgent()
    with pytest.raises(UsageError, match="does not fit: 1,254 tokens are needed and the budget is 1,000") as refused:
        talk(session, partner).ask("x" * 5000)
    assert "raise max_tokens" in refused.value.hint
    assert said(library) == []
    assert partner.requests == []


def test_a_system_prompt_larger_than_the_budget_is_named_as_the_reason(session: LiveSession) -> None:
    with pytest.raises(UsageError, match="the system prompt does not fit"):
        talk(session, ScriptedAgent(), Preset(name="a", system_prompt="x" * 5000)).ask("one")


def test_a_message_between_the_share_and_the_budget_goes_alone(session: LiveSession) -> None:
    partner = ScriptedAgent()
    conversation = talk(session, partner)
    list(conversation.ask("one"))
    list(conversation.ask("x" * 3600))
    assert [message.content[:40] for message in partner.requests[1].messages] == [
        "[2 earlier turns are left out]",
        "x" * 40,
    ]


def test_a_budget_of_nothing_is_refused(session: LiveSession) -> None:
    with pytest.raises(UsageError, match="max_tokens"):
        talk(session, ScriptedAgent(), max_tokens=0)

"""The slash commands of a workspace, typed into a conversation that began elsewhere, or there."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

import segue
from segue.chat.commands.completion import suggestions
from segue.chat.dialect import SEGUE
from segue.chat.summary import summarize
from segue.chat.terminal.script import ScriptTerminal
from segue.dialects.cortext.conversations import Conversations
from segue.dialects.cortext.slash_commands import preset_by_type, workspace_commands
from segue.dialects.cortext.workspace import Workspace, make_workspace
from tests.support.chat_cli import ChatProcess
from tests.support.chat_terminal import CTRL_C
from tests.support.cli import Segue
from tests.support.conversation import EchoAgent, ScriptedChat

if TYPE_CHECKING:
    from pathlib import Path

    from segue.library import Library


class Office(ScriptedChat):
    """A desk in a workspace."""

    @property
    def workspace(self) -> Workspace:
        return make_workspace(self.root / "notes")

    @property
    def shelf(self) -> Library:
        return segue.open(self.workspace.url)

    @property
    def conversations(self) -> Conversations:
        return Conversations(self.workspace, self.shelf, summarize=summarize)

    def hold(self, type: str, topic: str, *turns: str, summary: str = "") -> str:
        """A conversation that is over; its id."""
        conversations = self.conversations
        with conversations.start(type, topic) as session:
            for number, content in enumerate(turns):
                session.add("assistant" if number % 2 else "user", content)
            conversations.stop(session, summary=summary)
        return session.id

    def talk_there(self, id: str, *lines: str) -> str:
        """Type the lines into a conversation of the workspace."""
        library = self.shelf
        return self.converse(library, library.resume(id), "".join(f"{line}\n" for line in lines).encode())

    def completed(self, line: str) -> list[str]:
        """What a line may go on with."""
        library = self.library
        with library.create() as session:
            chat = self.chat(library, session, ScriptTerminal(BytesIO(), self.stream(), self.stream()))
            return [one.text for one in suggestions(chat, line)]


@pytest.fixture
def office(tmp_path: Path) -> Office:
    found = Office(tmp_path)
    found.dialect = replace(SEGUE, extra=workspace_commands(lambda: found.conversations))
    return found


@pytest.fixture
def api(office: Office) -> str:
    return office.hold("brainstorm", "API Design Discussion", "REST?", "It is simple.", summary="Leaning toward REST")


# ── Going on ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_resume_lists_what_there_is_and_goes_on_with_the_number_that_is_said(office: Office, api: str) -> None:
    office.hold("debug", "Auth Token Expiry", "Why?", "A race.", summary="Identified race condition")
    office.talk("hello", "/workspace.resume", "2", "And GraphQL?")
    assert (
        """Here are your resumable conversations:

1. [debug] Auth Token Expiry
   Last active: just now | Status: paused
   Summary: Identified race condition

2. [brainstorm] API Design Discussion
   Last active: just now | Status: paused
   Summary: Leaning toward REST
"""
        in office.out
    )
    assert "Which conversation would you like to continue? (number or search)\n" in office.err
    assert '[Resuming "API Design Discussion"]\n' in office.err
    assert "Where it stopped: Leaning toward REST\n" in office.err
    assert [turn.content for turn in office.shelf.load(api).turns[2:]] == ["And GraphQL?", "You said: And GraphQL?"]
    assert [message.content for message in office.agent.requests[-2].messages] == [
        "REST?",
        "It is simple.",
        "And GraphQL?",
    ]
    assert office.session.status == "paused"


def test_the_library_follows_and_both_ways_back_are_told(office: Office, api: str) -> None:
    office.talk("hello", "/workspace.resume api design", "/title New title")
    assert f"now in session {api}, with 2 turns; talk is paused (resume with: segue resume talk)\n" in office.err
    assert f"session {api} is saved in {office.workspace.url}\nresume with: cortext resume {api}\n" in office.err
    assert office.shelf.load(api).title == "New title"


@pytest.mark.parametrize("words", ["001-brainstorm-api-design-discussion", "001", "toward rest", "API"])
def test_an_id_its_beginning_or_words_name_a_conversation(office: Office, api: str, words: str) -> None:
    office.talk(f"/workspace.resume {words}", "hello")
    assert office.shelf.load(api).turn_count == 4


def test_words_that_mean_several_are_asked_about_and_words_answer_too(office: Office, api: str) -> None:
    office.hold("plan", "API tests", summary="Nothing yet")
    office.talk("/workspace.resume api", "discussion", "hello")
    assert "1. [plan] API tests" in office.out
    assert office.shelf.load(api).turn_count == 4


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (("/workspace.resume nothing-like-it",), "no conversation matches 'nothing-like-it'; /workspace.resume lists"),
        (("/workspace.resume", "99"), "no conversation matches '99'"),
        (("/workspace.resume", ""), "nothing was resumed"),
        (("/workspace.resume",), "nothing was resumed"),
    ],
)
def test_where_nothing_is_chosen_the_conversation_stays_where_it_was(
    office: Office, api: str, lines: tuple[str, ...], told: str
) -> None:
    office.talk("hello", *lines)
    assert told in office.err
    assert "resume with: segue resume talk" in office.err
    assert office.shelf.load(api).turn_count == 2


def test_an_empty_workspace_says_so_and_how_to_start(office: Office) -> None:
    office.talk("/workspace.resume")
    assert "There are no resumable conversations here.\nStart one with /workspace.brainstorm" in office.out


@pytest.mark.parametrize(("answer", "turns"), [("n", 2), ("y", 4)])
def test_a_completed_one_is_gone_on_with_only_after_a_yes(office: Office, api: str, answer: str, turns: int) -> None:
    with office.shelf.resume(api) as session:
        session.complete()
    office.talk("/workspace.resume api", answer, "hello")
    assert 'Conversation "API Design Discussion" is completed. Resume it? [y/N]\n' in office.err
    assert office.shelf.load(api).turn_count == turns


def test_one_that_another_process_holds_stays_with_it(office: Office, api: str) -> None:
    with office.shelf.resume(api):
        office.talk("/workspace.resume api", "hello")
    assert "is in use" in office.err
    assert office.said[0] == ("user", "hello")


def test_the_conversation_at_hand_is_not_offered(office: Office, api: str) -> None:
    office.talk_there(api, "/workspace.resume", "/workspace.resume api", "/exit")
    assert "There are no resumable conversations here." in office.out
    assert "you are already in this conversation" in office.err


# ── Beginning ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_type_begins_a_conversation_and_goes_on_there(office: Office) -> None:
    office.talk("/workspace.plan Release 2", "hello")
    (entry,) = office.conversations.entries()
    assert (entry.type, entry.title, entry.status, entry.message_count) == ("plan", "Release 2", "paused", 2)
    assert office.shelf.load(entry.id).extra["command"] == "/workspace.plan"


def test_whoever_was_named_answers_in_the_new_conversation_too(office: Office) -> None:
    office.talk("/agent crow", "/model big", "/workspace.plan Release 2", "/agent")
    assert "agent: crow/big\n" in office.out
    (entry,) = office.conversations.entries()
    overrides = office.shelf.load(entry.id).overrides
    assert (overrides["agent"], overrides["model"], overrides["tool"]) == ("crow", "big", "segue")


def test_a_type_without_a_topic_asks_for_it(office: Office) -> None:
    office.talk("/workspace.plan", "Release 2", "/workspace.plan", "")
    assert "What is it about?\n" in office.err
    assert "a conversation needs a topic; /workspace.plan TOPIC" in office.err
    assert [entry.title for entry in office.conversations.entries()] == ["Release 2"]


def test_an_unknown_type_is_told_what_there_is(office: Office) -> None:
    office.talk("/workspace.plam Release 2")
    assert "there is no conversation type 'plam'" in office.err
    assert "brainstorm, debug" in office.err


def test_a_conversation_has_the_prompt_of_its_type_as_it_is_now(office: Office, api: str) -> None:
    brings = preset_by_type(office.root / "notes" / "conversations")
    own = office.root / "notes" / ".workspace" / "types"
    own.mkdir()
    (own / "brainstorm.md").write_text("---\nname: brainstorm\n---\nBe wild.\n")
    found = brings(office.shelf.overview(api))
    assert found is not None
    assert found.system_prompt.strip() == "Be wild."
    office.talk("hello")
    assert brings(office.library.overview("talk")) is None


# ── Stopping ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_stopping_says_the_title_the_way_back_and_a_summary(office: Office, api: str) -> None:
    office.agent = EchoAgent("GraphQL is another way.", "We were exploring REST vs GraphQL.")
    told = office.talk_there(api, "And GraphQL?", "/workspace.stop-conversation", "never read")
    assert (
        told
        == """GraphQL is another way.

Session saved.

Conversation "API Design Discussion" has been paused.
You can continue later with /workspace.resume

Summary: We were exploring REST vs GraphQL.
"""
    )
    session = office.shelf.load(api)
    assert (session.status, session.summary, session.turn_count) == ("paused", "We were exploring REST vs GraphQL.", 4)


def test_leaving_in_any_way_stops_the_conversation_once(office: Office, api: str) -> None:
    office.agent = EchoAgent("Yes.", "We agreed.", "Nobody asks this.")
    office.talk("/workspace.resume api", "REST, then?", "/workspace.stop-conversation")
    assert office.out.count("Session saved.") == 1
    office.agent = EchoAgent("Yes.", "We agreed again.")
    office.talk("/workspace.resume api", "Sure?", "/complete")
    assert 'Conversation "API Design Discussion" has been completed.' in office.out
    session = office.shelf.load(api)
    assert (session.status, session.summary) == ("completed", "We agreed again.")


def test_looking_and_leaving_keeps_the_summary_and_asks_nobody(office: Office, api: str) -> None:
    office.talk("/workspace.resume api", "/exit")
    assert office.agent.requests == []
    assert office.shelf.load(api).summary == "Leaning toward REST"


def test_a_conversation_that_is_not_in_the_workspace_is_not_stopped_there(office: Office) -> None:
    office.talk("hello", "/workspace.stop-conversation", "still here")
    assert "session talk is not a conversation of this workspace; /exit leaves it" in office.err
    assert office.said[-1] == ("assistant", "You said: still here")


# ── Outside, and while typing ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "line", ["/workspace.resume", "/workspace.resume x", "/workspace.stop-conversation", "/workspace.plan x"]
)
def test_outside_of_a_workspace_they_say_so(office: Office, line: str) -> None:
    office.dialect = replace(SEGUE, extra=workspace_commands(lambda: None))
    office.talk(line, "hello")
    assert "this folder is not in a workspace; cortext init makes it one\n" in office.err
    assert office.said[0] == ("user", "hello")


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("/workspace.r", ["/workspace.resume", "/workspace.review"]),
        ("/workspace.st", ["/workspace.stop-conversation"]),
        ("/workspace.resume 0", ["001-brainstorm-api-design-discussion"]),
        ("/workspace.plan ", []),
    ],
)
def test_commands_types_and_ids_are_completed(office: Office, api: str, line: str, found: list[str]) -> None:
    assert api
    assert office.completed(line) == found


def test_outside_of_a_workspace_nothing_is_completed_and_nothing_breaks(office: Office) -> None:
    office.dialect = replace(SEGUE, extra=workspace_commands(lambda: None))
    assert office.completed("/workspace.p") == []
    assert office.completed("/workspace.resume ") == []


def test_at_a_terminal_a_search_that_finds_nothing_is_asked_again_and_ctrl_c_chooses_none(tmp_path: Path) -> None:
    cli = Segue(tmp_path)
    conversations = Conversations(make_workspace(tmp_path), segue.open(f"cortext:{tmp_path}"))
    conversations.start("brainstorm", "API design").close()
    with ChatProcess(cli, "chat", "--agent", "offline") as seat:
        seat.wait_for("offline>")
        seat.enter("/workspace.resume")
        seat.wait_for("1. [brainstorm] API design")
        seat.wait_for("(number or search)")
        seat.type(CTRL_C)
        seat.wait_for("nothing was resumed")
        seat.wait_for("offline>")
        seat.enter("/workspace.resume")
        seat.wait_for("(number or search)")
        seat.enter("cheese")
        seat.wait_for("no conversation matches 'cheese'")
        seat.wait_for("(number or search)")
        seat.enter("api")
        seat.wait_for('[Resuming "API design"]')
        seat.wait_for("brainstorm>")
        seat.enter("REST?")
        seat.wait_for("not a model")
        seat.wait_for("brainstorm>")
        seat.enter("/workspace.stop-conversation")
        seat.wait_for('Conversation "API design" has been paused.')
        seat.wait_for("Summary: You asked: REST?")
        assert seat.end() == 0
    assert list(cli.library.store.ids()) == []
    (entry,) = conversations.entries()
    assert (entry.status, entry.message_count) == ("paused", 2)


def test_back_in_the_session_before_nothing_of_the_workspace_applies(tmp_path: Path) -> None:
    cli = Segue(tmp_path)
    make_workspace(tmp_path)
    lines = b"hello\n/workspace.plan Release 2\nREST?\n/resume -\n/exit\n"
    done = cli.run("chat", "--id", "talk", "--agent", "offline", stdin=lines)
    assert done.code == 0, done
    assert done.text.count("has been paused.") == 1
    assert done.complaint.endswith(
        f"session talk is saved in {cli.library.store.url}\nresume with: segue resume talk\n"
    )
    assert (cli.library.load("talk").summary, cli.library.load("talk").status) == ("", "paused")


def test_help_lists_the_family_once(office: Office) -> None:
    office.talk("/help", "/help workspace.plan")
    assert "/workspace.TYPE [TOPIC]" in office.out
    assert office.out.endswith("/workspace.TYPE [TOPIC]  start a conversation in the workspace\n")


def test_a_name_with_a_dot_that_is_no_command_is_not_sent(office: Office) -> None:
    office.talk("/notes.txt is empty", "//notes.txt is empty")
    assert "there is no command /notes.txt" in office.err
    assert [content for role, content in office.said if role == "user"] == ["/notes.txt is empty"]

"""Holding a conversation: what is recorded and said when things go well, and when they do not."""

from __future__ import annotations

import errno
import os
from io import BytesIO
from typing import TYPE_CHECKING

import pytest

from segue.chat.agent import AgentError
from segue.chat.commands.completion import suggestions
from segue.chat.dialect import Dialect
from segue.chat.terminal.script import ScriptTerminal
from segue.library import Library
from segue.stores.journal import JournalStore
from segue.testing.failing import WatchedKernel
from tests.support.conversation import EchoAgent, ScriptedChat

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class FillingKernel(WatchedKernel):
    """A disk that is full when told so, for one write."""

    is_full = False

    def fill(self) -> None:
        self.is_full = True

    def pass_on(self, name: str, call: Callable[..., object], *args: object) -> object:
        if self.is_full and name == "write":
            self.is_full = False
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return call(*args)


DEAD = AgentError("the line is dead", hint="wait a moment", can_retry=True)


@pytest.fixture
def desk(tmp_path: Path) -> ScriptedChat:
    return ScriptedChat(tmp_path)


# ── Asking ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_conversation_goes_on_where_it_stopped(desk: ScriptedChat) -> None:
    desk.talk("one")
    desk.talk("two")
    assert [role for role, _ in desk.said] == ["user", "assistant", "user", "assistant"]
    assert [message.content for message in desk.agent.requests[-1].messages] == ["one", "You said: one", "two"]


def test_every_answer_is_on_disk_before_the_next_line_is_read(desk: ScriptedChat) -> None:
    seen: list[int] = []

    class Watching(BytesIO):
        def readline(self, size: int | None = -1) -> bytes:
            seen.append(desk.session.turn_count)
            return super().readline(size)

    library = desk.library
    terminal = ScriptTerminal(Watching(b"one\ntwo\n"), desk.stream(), desk.stream())
    chat = desk.chat(library, library.create(id="talk"), terminal)
    assert chat.run() == 0
    assert seen == [0, 2, 4]


def test_an_error_of_the_agent_is_told_with_its_hint_and_the_message_is_kept(desk: ScriptedChat) -> None:
    desk.agent = EchoAgent((DEAD,))
    desk.talk("hello", "n", "/history")
    assert "segue: the line is dead; wait a moment\nTry again? [Y/n]\n" in desk.err
    assert "your message is saved; /retry asks again" in desk.err
    assert desk.out == "1 user\nhello\n"
    assert desk.code == 1


def test_a_retry_asks_again_and_records_the_message_once(desk: ScriptedChat) -> None:
    desk.agent = EchoAgent((DEAD,), (DEAD,), "At last.")
    assert desk.talk("hello", "y", "yes") == "At last.\n"
    assert desk.said == [("user", "hello"), ("assistant", "At last.")]
    assert desk.code == 0


def test_pieces_that_came_before_an_error_are_shown_and_not_recorded(desk: ScriptedChat) -> None:
    desk.agent = EchoAgent(("Half of", DEAD))
    assert desk.talk("hello") == "Half of\n"
    assert desk.said == [("user", "hello")]


def test_a_line_that_is_no_answer_to_a_question_is_not_lost(desk: ScriptedChat) -> None:
    desk.agent = EchoAgent((DEAD,))
    desk.talk("one", "two")
    assert desk.said == [("user", "one"), ("user", "two"), ("assistant", "You said: two")]


def test_retry_asks_what_was_not_answered_and_nothing_else(desk: ScriptedChat) -> None:
    desk.agent = EchoAgent((DEAD,))
    desk.talk("hello", "no", "/agent crow", "/retry", "/retry")
    assert desk.said == [("user", "hello"), ("assistant", "You said: hello")]
    assert "every message is answered" in desk.err


@pytest.mark.parametrize(("answer", "turns"), [("y", 2), ("n", 1), ("", 2)])
def test_a_message_that_a_crash_left_unanswered_can_be_asked_again(desk: ScriptedChat, answer: str, turns: int) -> None:
    session = desk.library.create(id="talk")
    session.add("user", "hello")
    session.release()
    desk.talk(answer)
    assert "your last message was not answered: “hello”\nAsk again? [Y/n]\n" in desk.err
    assert len(desk.said) == turns


def test_what_nobody_answers_is_not_asked_again(desk: ScriptedChat) -> None:
    session = desk.library.create(id="talk")
    session.add("user", "hello")
    session.release()
    desk.talk()
    assert desk.agent.requests == []


# ── Stopping ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_answer_that_is_stopped_is_kept_and_marked(desk: ScriptedChat) -> None:
    desk.agent = EchoAgent(("The beginning", KeyboardInterrupt()))
    desk.talk("hello", "never said")
    assert desk.said == [("user", "hello"), ("assistant", "The beginning")]
    assert desk.session.turns[-1].partial
    assert "the partial answer is saved, marked as cut off" in desk.err
    assert (desk.code, desk.session.status) == (130, "paused")


def test_an_answer_that_is_stopped_before_it_begins_leaves_the_message(desk: ScriptedChat) -> None:
    desk.agent = EchoAgent((KeyboardInterrupt(),))
    desk.talk("hello")
    assert desk.said == [("user", "hello")]
    assert "your message is saved, and /retry asks again" in desk.err


def test_whatever_breaks_the_conversation_leaves_the_session_interrupted(desk: ScriptedChat) -> None:
    class Gone(BytesIO):
        def readline(self, size: int | None = -1) -> bytes:
            raise OSError(5, "Input/output error", size)

    library = desk.library
    terminal = ScriptTerminal(Gone(), desk.stream(), desk.stream())
    chat = desk.chat(library, library.create(id="talk"), terminal)
    with pytest.raises(OSError, match="Input/output"):
        chat.run()
    assert desk.session.status == "interrupted"
    with library.resume("talk"):
        pass


def test_a_message_that_cannot_be_recorded_is_not_sent_and_the_next_one_opens_the_session_again(
    desk: ScriptedChat,
) -> None:
    library = desk.library
    session = library.create(id="talk")
    session._writer.close()  # as a failed disk would
    desk.converse(library, session, b"hello\nhello again\n")
    assert [request.messages[-1].content for request in desk.agent.requests] == ["hello again"]
    assert "any more" in desk.err
    assert "your next message opens the session again" in desk.err
    assert (desk.said[0], desk.session.status) == (("user", "hello again"), "paused")


def test_an_answer_that_a_full_disk_refused_is_recorded_later_whatever_comes_next(desk: ScriptedChat) -> None:
    for later in ("/retry", "/agent crow", "hello again"):
        kernel = FillingKernel()
        library = Library(JournalStore(str(desk.root / "sessions" / later.strip("/")), kernel=kernel))
        desk.agent = EchoAgent(("All of ", kernel.fill, "it."))
        session = library.create(id="talk")
        desk.converse(library, session, f"hello\n{later}\n".encode())
        assert "the answer could not be recorded; /retry records it" in desk.err
        assert [turn.content for turn in library.load("talk").turns[:2]] == ["hello", "All of it."]


def test_decisions_found_in_an_answer_are_told(desk: ScriptedChat) -> None:
    desk.dialect = Dialect(name="soleur", autorecord=True)
    desk.agent = EchoAgent("[DECISION: Refresh early]")
    desk.talk("hello")
    assert "decision recorded: Refresh early\n" in desk.err
    assert [one.content for one in desk.session.decisions] == ["Refresh early"]


# ── Beginning and leaving ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("answer", "count"), [("y", 1), ("n", 0), ("", 1), ("hello", 0)])
def test_a_dialect_may_offer_a_file_as_context_to_a_new_session(desk: ScriptedChat, answer: str, count: int) -> None:
    (desk.root / "README.md").write_text("# Here")
    desk.dialect = Dialect(name="soleur", offers=("README.md", "NOT-HERE.md"))
    desk.talk(answer)
    assert "There is a README.md here. Use it as context? [Y/n]\n" in desk.err
    assert "NOT-HERE" not in desk.err
    assert len(desk.session.attachments) == count
    desk.talk("hello again")
    assert desk.err.count("Use it as context?") == (0 if desk.session.attachments else desk.err.count("README"))


def test_the_end_of_input_leaves_as_exit_does(desk: ScriptedChat) -> None:
    desk.talk("hello")
    by_end = desk.err
    desk.talk("/exit")
    assert by_end == desk.err
    assert desk.session.status == "paused"
    assert desk.code == 0


def test_an_empty_line_says_nothing(desk: ScriptedChat) -> None:
    desk.talk("", "   ", "\t")
    assert desk.said == []


# ── Completion ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("/dec", ["/decide", "/decisions"]),
        ("/load ", ["other"]),
        ("/load ot", ["other"]),
        ("/load login", ["other"]),
        ("/load nothing", []),
        ("/switch m", ["main"]),
        ("/agent ", ["owl", "parrot"]),
        ("/autorecord o", ["on", "off"]),
        ("/help ex", ["exit", "export"]),
        ("/context no", ["notes.txt"]),
        ("/context folder/", ["in it.md"]),
        ("/save fol", ["folder/"]),
        ("/context .h", [".hidden"]),
        ("/context ~/", ["mine"]),
        ("/context nowhere/", []),
        ("/context notes.txt fold", ["folder/"]),
        ("/context notes.txt folder/i", ['"folder/in it.md"']),
        ('/context notes.txt "folder/in i', ['"folder/in it.md"']),
        ("see @no", ["notes.txt"]),
        ("see (@folder/", ['"folder/in it.md"']),
        ("one\n@.h", [".hidden"]),
        ("user@no", []),
        ("/nothing x", []),
        ("hello", []),
        ("/usr/b", []),
    ],
)
def test_commands_ids_and_paths_are_completed(desk: ScriptedChat, line: str, found: list[str]) -> None:
    (desk.root / "notes.txt").touch()
    (desk.root / ".hidden").touch()
    (desk.root / "folder").mkdir()
    (desk.root / "folder" / "in it.md").touch()
    (desk.root / "home").mkdir()
    (desk.root / "home" / "mine").touch()
    library = desk.library
    library.create(id="other", title="The login bug").close()
    with library.create(id="talk") as session:
        session.fork()
        chat = desk.chat(library, session, ScriptTerminal(BytesIO(), desk.stream(), desk.stream()))
        assert [one.text for one in suggestions(chat, line)] == found
        for one in suggestions(chat, line):
            is_found_by_title = one.about == "The login bug"
            assert one.text.startswith('"') or is_found_by_title or line.endswith(one.text[: one.replaces])

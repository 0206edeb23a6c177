"""Questions about what an agent may do: answered by a key that means the same everywhere, once it has been seen."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segue.tools import ToolCall
from segue.tools.approval import TerminalApprover
from segue.tools.recorded_calls import format_call_details
from tests.support.chat_cli import ChatProcess, preset
from tests.support.cli import Segue
from tests.support.providers.houses import HOUSES
from tests.support.providers.server import SAFE_SECONDS, Reply, Server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OPENAI = HOUSES[1]
CALL = ToolCall(id="1", name="write_file", arguments={"path": "x", "content": "y"})
WORDS = ("once", "add", "always", "no", "yes", "scope")
MEANINGS = {"y": "once", "yes": "once", "once": "once", "a": "always", "always": "always"} | dict.fromkeys(
    ("s", "scope", "add"), "add"
)
NEARLY = ["a", "o", "y", "s", "al", "addd", "and also look at the tests", "yes please", "onc e", "ONCE", " add ", "Y"]
TYPED = st.one_of(
    st.sampled_from(NEARLY),
    st.sampled_from([form for word in WORDS for form in (word, word[:-1], f"{word}!", word.upper(), f" {word}\t")]),
    st.text(max_size=12),
)


class Answers:
    """A terminal whose person types these lines, then nothing more."""

    is_interactive = True

    def __init__(self, *lines: str) -> None:
        self._lines = list(lines)
        self.asked = 0
        self.shown: list[str] = []

    def answer(self, question: str) -> str | None:
        del question
        self.asked += 1
        return self._lines.pop(0) if self._lines else None

    def note(self, text: str) -> None:
        self.shown.append(text)

    def diff(self, text: str) -> None:
        self.shown.append(text)


def meant(line: str, *meanings: str) -> str:
    found = MEANINGS.get(line.strip().casefold(), "no")
    return found if found in meanings else "no"


@given(TYPED)
def test_a_key_means_the_same_in_every_question_and_nothing_else_allows_anything(line: str) -> None:
    widened = {"once": "once", "add": "add", "no": "deny"}
    assert TerminalApprover(Answers(line)).widen(CALL, "why", can_add=True) == widened[meant(line, "once", "add")]
    assert TerminalApprover(Answers(line)).widen(CALL, "why", can_add=False) == widened[meant(line, "once")]
    assert TerminalApprover(Answers(line)).confirm(CALL, "") == meant(line, "once", "always")
    assert TerminalApprover(Answers(line)).grant("the preset", "scope") == (meant(line, "once") == "once")


def test_enter_is_a_no_and_what_is_no_answer_is_asked_about_three_times() -> None:
    entered, puzzled, corrected = Answers("", "y"), Answers("s", "b", "c", "y"), Answers("what?", "y")
    assert (TerminalApprover(entered).confirm(CALL, ""), entered.asked) == ("no", 1)
    assert (TerminalApprover(puzzled).confirm(CALL, ""), puzzled.asked) == ("no", 3)
    assert (TerminalApprover(corrected).confirm(CALL, ""), corrected.asked) == ("once", 2)


def test_a_change_is_shown_as_a_diff_and_its_text_not_twice() -> None:
    terminal = Answers("y")
    approver = TerminalApprover(terminal)
    assert approver.confirm(CALL, "Careful.", preview="+y") == "once"
    assert terminal.shown == ["write_file\n  path: x", "+y", "Careful."]
    assert approver.shown is CALL
    quiet = TerminalApprover(Answers(), yes=True)
    assert (quiet.confirm(CALL, ""), quiet.shown) == ("once", None)


def test_a_command_is_shown_whole() -> None:
    command = "echo harmless " + "x" * 10_000 + "; rm -rf /"
    assert format_call_details(ToolCall(id="1", name="run_shell", arguments={"command": command})).endswith(
        "; rm -rf /"
    )
    long = format_call_details(ToolCall(id="1", name="write_file", arguments={"content": "x" * 10_000}))
    assert long.endswith("… (8,000 more characters)")


# ── At a real terminal ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def cli(tmp_path: Path) -> Segue:
    home = tmp_path / "home"
    (home / ".git").mkdir(parents=True)
    return Segue(home)


class Waiting:
    """A body whose last pieces come when it is let go."""

    def __init__(self, *pieces: bytes) -> None:
        self._pieces = pieces
        self.go = threading.Event()

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._pieces:
            if b"tool_calls" in piece:
                assert self.go.wait(SAFE_SECONDS)
            yield piece


def late(reply: Reply) -> tuple[Reply, threading.Event]:
    """The same reply, whose words come at once and whose call comes later."""
    body = Waiting(*reply.body)
    return Reply(body=cast("tuple[bytes, ...]", body), headers=reply.headers), body.go


@pytest.mark.parametrize("typed", ["s\r", "y\ry\r", "a", "\x1b[200~add\r\x1b[201~\r"])
def test_what_was_typed_ahead_does_not_answer_and_waits_for_the_prompt(cli: Segue, typed: str) -> None:
    reply, go = late(OPENAI.calls(("read_file", {"path": "/etc/hostname"}), words="I look."))
    replies = [reply, OPENAI.answers("The end."), *[OPENAI.answers(f"Answer {number}.") for number in range(3)]]
    environ = {"OPENAI_API_KEY": "k", "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    with Server(replies) as server:
        environ["OPENAI_BASE_URL"] = f"{server.url}/v1"
        with ChatProcess(
            cli, "chat", "--id", "talk", "--preset", "executor", "--agent", "openai/x", **environ
        ) as approver:
            approver.wait_for("executor>")
            approver.enter("Go.")
            approver.wait_for("I look.")
            approver.type(typed)
            go.set()
            approver.wait_for("Allow it anyway?")
            approver.type("n\r")
            approver.wait_for("refused: ")
            approver.wait_for("The end.")
            approver.wait_for("executor>")
            if "\r" not in typed or "\x1b" in typed:
                approver.type(" is still here\r")
            approver.wait_for("Answer 0.")
    turns = cli.library.load("talk").turns
    assert [turn.content.split(":")[0] for turn in turns if turn.role == "tool"] == ["refused"]
    assert cli.library.overview("talk").scope is None
    said = [turn.content for turn in turns if turn.role == "user"]
    assert said[0] == "Go."
    assert said[1].startswith(typed.strip("\r").removeprefix("\x1b[200~").partition("\r")[0])


def test_what_was_typed_ahead_does_not_delete(cli: Segue) -> None:
    cli.run("new", "--id", "talk")
    with ChatProcess(cli, "delete", "talk") as approver:
        approver.type("y\ny\n")  # long before anything is asked
        approver.wait_for("[y/N]")
        approver.type("n\n")
        assert approver.end() == 1
    assert cli.library.overview("talk").id == "talk"


def test_what_was_typed_ahead_does_not_answer_ask(cli: Segue) -> None:
    preset(cli.home / ".config" / "segue" / "agents", "mine", "Go.", parents="[executor]", model="openai/x")
    calls: list[tuple[str, dict[str, object]]] = [
        ("read_file", {"path": "/etc/hostname"}),
        ("write_file", {"path": "x.md", "content": "new\x1b[2J\n"}),
    ]
    reply, go = late(OPENAI.calls(*calls, words="I look."))
    environ = {"OPENAI_API_KEY": "k", "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    with Server([reply, OPENAI.answers("The end.")]) as server:
        environ["OPENAI_BASE_URL"] = f"{server.url}/v1"
        with ChatProcess(cli, "ask", "--agent", "mine", "Why?", **environ) as approver:
            approver.wait_for("I look.")
            approver.type("s\ny\n")
            go.set()
            approver.wait_for("Allow it anyway?")
            approver.type("\n")
            approver.wait_for("Run it?")
            assert "\x1b[32m+new\\x1b[2J\x1b[0m" in approver.raw
            approver.type("\n")
            approver.wait_for("The end.")
            assert approver.end() == 0
    assert not (cli.home / "x.md").exists()
    (head,) = cli.library.list()
    assert cli.library.overview(head.id).scope is None

"""`segue resume --with`: a session goes on in an AI tool, here one as small as can be, and comes back."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from segue.model import JsonObject
    from tests.support.cli import Segue

SCRIPTED = Path(__file__).resolve().parents[1] / "support" / "scripted_tool.py"
CALL: JsonObject = {"type": "tool_call", "id": "1", "name": "grep", "arguments": {"words": "token"}}


class Desk:
    """A home with tools of its own on the PATH."""

    def __init__(self, cli: Segue) -> None:
        self.cli = cli
        self.bin = cli.home / "bin"
        self.bin.mkdir()
        self.path = f"{self.bin}:{cli.environment()['PATH']}"
        self.install("claude", f'exec {shlex.quote(sys.executable)} {shlex.quote(str(SCRIPTED))} "$@"')

    def install(self, name: str, script: str) -> None:
        (self.bin / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        (self.bin / name).chmod(0o700)

    def resume(self, *words: str, said: str = "", code: int = 0) -> tuple[str, str]:
        done = self.cli.run("resume", "login", *words, stdin=said.encode(), PATH=self.path)
        assert done.code == code, done
        return done.text, done.complaint

    def said(self) -> list[str]:
        return [turn.content for turn in self.cli.library.load("login").turns]


@pytest.fixture
def desk(cli: Segue, session: str) -> Desk:
    assert session == "login"
    return Desk(cli)


def test_a_session_goes_on_in_a_tool_and_every_turn_comes_back_once(desk: Desk) -> None:
    text, told = desk.resume("--with", "claude", said="And logout?")
    assert text == "I was told 2 messages. \n"
    assert "handed over to claude, nothing lost" in told
    assert "imported 2 turns from claude" in told
    desk.resume("--from", "claude")
    assert desk.said() == [
        "Why does login fail?",
        "The token expires.",
        "And logout?",
        "I was told 2 messages. ",
    ]
    assert desk.cli.library.load("login").status == "paused"


def test_the_tool_goes_on_in_its_own_session_while_nothing_was_said_elsewhere(desk: Desk) -> None:
    desk.resume("--with", "claude", said="And logout?")
    text, told = desk.resume("--with", "claude", said="And now?")
    assert text == "I was told 4 messages. \n"
    assert "claude continues its existing session, which is up to date" in told
    assert len(list(desk.cli.home.glob(".claude/projects/*/*.jsonl"))) == 1


def test_a_branch_that_left_the_tool_behind_is_handed_over_anew(desk: Desk) -> None:
    desk.resume("--with", "claude", said="And logout?")
    desk.cli.ok("fork", "login", "--at", "2", "--name", "other")
    text, told = desk.resume("--with", "claude", said="Something else?")
    assert text == "I was told 2 messages. \n"
    assert "1 other branch is left out" in told
    assert desk.said()[2:] == ["Something else?", "I was told 2 messages. "]
    assert len(desk.cli.library.load("login").path("main")) == 4


def test_what_could_not_be_carried_is_said_exactly(desk: Desk) -> None:
    with desk.cli.library.resume("login") as live:
        live.add("assistant", "Let me look.", parts=[CALL, {"type": "image"}, {"type": "reasoning", "text": "Hm."}])
    _, told = desk.resume("--with", "claude", said="And?")
    assert [line.removeprefix("segue: for claude: ") for line in told.splitlines() if "for claude:" in line] == [
        "1 image is left out",
        "1 piece of reasoning is left out",
        "1 call has no result, and is marked as interrupted",
    ]
    assert "3 losses listed above" in told


def test_printed_the_command_is_on_stdout_alone_and_what_is_said_there_comes_back_later(desk: Desk) -> None:
    text, told = desk.resume("--with", "claude", "--print")
    assert text.startswith(f"cd {desk.cli.home} && {desk.bin}/claude --resume ")
    assert "to import the replies later: segue resume login --from claude" in told
    subprocess.run(["/bin/sh", "-c", text], input=b"Said later", check=True, env=desk.cli.environment(PATH=desk.path))
    assert len(desk.said()) == 2
    _, told = desk.resume("--agent", "offline", said="/exit\n")
    assert "imported 2 turns from claude" in told
    assert desk.said()[2] == "Said later"


def test_any_other_command_is_told_in_words_and_what_is_said_there_does_not_come_back(desk: Desk) -> None:
    desk.install("parrot", "cat")
    text, told = desk.resume("--with", "parrot", said="And logout?")
    assert text.index("Why does login fail?") < text.index("The token expires.") < text.index("And logout?")
    assert "the replies of parrot cannot be imported" in told
    assert len(desk.said()) == 2


def test_a_command_gets_the_document_where_it_wants_it(desk: Desk) -> None:
    desk.install("parrot", "")
    words, _ = desk.resume("--with", "parrot --first {} --last", "--print")
    argv = shlex.split(words.partition(" && ")[2])
    assert argv[:2] == [str(desk.bin / "parrot"), "--first"]
    assert "The token expires." in argv[2]
    assert argv[3:] == ["--last"]


def test_no_text_of_a_conversation_reaches_a_shell(desk: Desk) -> None:
    with desk.cli.library.resume("login") as live:
        live.add("user", "'; touch owned; $(touch owned) `touch owned`\n--option")
    desk.install("parrot", "exit 0")
    text, _ = desk.resume("--with", "parrot", "--print")
    subprocess.run(["/bin/sh", "-c", text], check=True, env=desk.cli.environment(PATH=desk.path))
    assert not (desk.cli.home / "owned").exists()


def test_a_completed_session_is_handed_over_only_after_a_yes(desk: Desk) -> None:
    desk.cli.ok("complete", "login")
    desk.resume("--with", "claude", "--print", said="n\n", code=1)
    assert desk.cli.library.load("login").status == "completed"
    desk.resume("--with", "claude", "--print", "--yes")
    assert desk.cli.library.load("login").status == "paused"


def test_a_tool_that_fails_without_a_word_is_told(desk: Desk) -> None:
    desk.install("claude", "exit 3")
    _, told = desk.resume("--with", "claude", said="And logout?", code=8)
    assert "claude exited with 3" in told
    assert "no new turns in claude" in told


@pytest.mark.parametrize(
    ("words", "code", "complaint"),
    [
        (("--with", "nowhere"), 3, "'nowhere' is not on the PATH"),
        (("--with", "codex"), 3, "codex is not on the PATH"),
        (("--with", "'"), 2, "is not a command: No closing quotation"),
        (("--with", " "), 2, "no tool is named"),
        (("--print",), 2, "--print prints the command of a tool"),
        (("--with", "claude", "--from", "claude"), 2, "cannot be used together"),
        (("--from", "claude"), 3, "session login was never handed over to claude"),
        (("--from", "parrot"), 3, "cannot import replies from 'parrot'"),
    ],
)
def test_mistakes_are_told_in_one_line_and_change_nothing(
    desk: Desk, words: tuple[str, ...], code: int, complaint: str
) -> None:
    before = desk.cli.files()
    done = desk.cli.run("resume", "login", *words, stdin=b"Hello?", PATH=f"{desk.bin}:/usr/bin:/bin")
    assert (done.code, done.text, done.complaint.count("\n")) == (code, "", 1), done
    assert complaint in done.complaint
    assert desk.cli.files() == before


def test_without_a_terminal_and_without_words_nothing_is_started(desk: Desk) -> None:
    before = desk.cli.files()
    _, told = desk.resume("--with", "claude", code=2)
    assert "stdin is not a terminal, so claude needs a message" in told
    assert desk.cli.files() == before

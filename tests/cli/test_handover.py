"""`segue resume --with` and `--from`: a minimal AI tool continues a session, and its replies are imported."""

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


class ToolHome:
    """A home folder with AI tools on the PATH."""

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
def home(cli: Segue, session: str) -> ToolHome:
    assert session == "login"
    return ToolHome(cli)


def test_a_session_goes_on_in_a_tool_and_every_turn_comes_back_once(home: ToolHome) -> None:
    text, told = home.resume("--with", "claude", said="And logout?")
    assert text == "I was told 2 messages. \n"
    assert "handed over to claude, nothing lost" in told
    assert "imported 2 turns from claude" in told
    home.resume("--from", "claude")
    assert home.said() == [
        "Why does login fail?",
        "The token expires.",
        "And logout?",
        "I was told 2 messages. ",
    ]
    assert home.cli.library.load("login").status == "paused"


def test_the_tool_goes_on_in_its_own_session_while_nothing_was_said_elsewhere(home: ToolHome) -> None:
    home.resume("--with", "claude", said="And logout?")
    text, told = home.resume("--with", "claude", said="And now?")
    assert text == "I was told 4 messages. \n"
    assert "claude continues its existing session, which is up to date" in told
    assert len(list(home.cli.home.glob(".claude/projects/*/*.jsonl"))) == 1


def test_a_branch_that_left_the_tool_behind_is_handed_over_anew(home: ToolHome) -> None:
    home.resume("--with", "claude", said="And logout?")
    home.cli.ok("fork", "login", "--at", "2", "--name", "other")
    text, told = home.resume("--with", "claude", said="Something else?")
    assert text == "I was told 2 messages. \n"
    assert "1 other branch is left out" in told
    assert home.said()[2:] == ["Something else?", "I was told 2 messages. "]
    assert len(home.cli.library.load("login").path("main")) == 4


def test_what_could_not_be_carried_is_said_exactly(home: ToolHome) -> None:
    with home.cli.library.resume("login") as live:
        live.add("assistant", "Let me look.", parts=[CALL, {"type": "image"}, {"type": "reasoning", "text": "Hm."}])
    _, told = home.resume("--with", "claude", said="And?")
    assert [line.removeprefix("segue: for claude: ") for line in told.splitlines() if "for claude:" in line] == [
        "1 image is left out",
        "1 piece of reasoning is left out",
        "1 call has no result, and is marked as interrupted",
    ]
    assert "3 losses listed above" in told


def test_printed_the_command_is_on_stdout_alone_and_what_is_said_there_comes_back_later(home: ToolHome) -> None:
    text, told = home.resume("--with", "claude", "--print")
    assert text.startswith(f"cd {home.cli.home} && {home.bin}/claude --resume ")
    assert "to import the replies later: segue resume login --from claude" in told
    subprocess.run(["/bin/sh", "-c", text], input=b"Said later", check=True, env=home.cli.environment(PATH=home.path))
    assert len(home.said()) == 2
    _, told = home.resume("--agent", "offline", said="/exit\n")
    assert "imported 2 turns from claude" in told
    assert home.said()[2] == "Said later"


def test_any_other_command_is_told_in_words_and_what_is_said_there_does_not_come_back(home: ToolHome) -> None:
    home.install("parrot", "cat")
    text, told = home.resume("--with", "parrot", said="And logout?")
    assert text.index("Why does login fail?") < text.index("The token expires.") < text.index("And logout?")
    assert "the replies of parrot cannot be imported" in told
    assert len(home.said()) == 2


def test_a_command_gets_the_document_where_it_wants_it(home: ToolHome) -> None:
    home.install("parrot", "")
    words, _ = home.resume("--with", "parrot --first {} --last", "--print")
    argv = shlex.split(words.partition(" && ")[2])
    assert argv[:2] == [str(home.bin / "parrot"), "--first"]
    assert "The token expires." in argv[2]
    assert argv[3:] == ["--last"]


def test_no_text_of_a_conversation_reaches_a_shell(home: ToolHome) -> None:
    with home.cli.library.resume("login") as live:
        live.add("user", "'; touch owned; $(touch owned) `touch owned`\n--option")
    home.install("parrot", "exit 0")
    text, _ = home.resume("--with", "parrot", "--print")
    subprocess.run(["/bin/sh", "-c", text], check=True, env=home.cli.environment(PATH=home.path))
    assert not (home.cli.home / "owned").exists()


def test_a_completed_session_is_handed_over_only_after_a_yes(home: ToolHome) -> None:
    home.cli.ok("complete", "login")
    home.resume("--with", "claude", "--print", said="n\n", code=1)
    assert home.cli.library.load("login").status == "completed"
    home.resume("--with", "claude", "--print", "--yes")
    assert home.cli.library.load("login").status == "paused"


def test_a_tool_that_fails_without_a_word_is_told(home: ToolHome) -> None:
    home.install("claude", "exit 3")
    _, told = home.resume("--with", "claude", said="And logout?", code=8)
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
    home: ToolHome, words: tuple[str, ...], code: int, complaint: str
) -> None:
    before = home.cli.files()
    done = home.cli.run("resume", "login", *words, stdin=b"Hello?", PATH=f"{home.bin}:/usr/bin:/bin")
    assert (done.code, done.text, done.complaint.count("\n")) == (code, "", 1), done
    assert complaint in done.complaint
    assert home.cli.files() == before


def test_without_a_terminal_and_without_words_nothing_is_started(home: ToolHome) -> None:
    before = home.cli.files()
    _, told = home.resume("--with", "claude", code=2)
    assert "stdin is not a terminal, so claude needs a message" in told
    assert home.cli.files() == before

"""A conversation without a person: what is read as if typed, and what goes where."""

from __future__ import annotations

import os
import subprocess
import sys
from io import BytesIO, StringIO
from typing import TYPE_CHECKING

import pytest

from segue.chat.terminal.script import ScriptTerminal, continues
from tests.support.chat_terminal import PACKAGE, ROOT
from tests.support.conversation import EchoAgent, ScriptedChat

if TYPE_CHECKING:
    from pathlib import Path


class Scripted:
    def __init__(self, typed: bytes) -> None:
        self.out, self.err = StringIO(), StringIO()
        self.terminal = ScriptTerminal(BytesIO(typed), self.out, self.err)

    def lines(self) -> list[str]:
        return list(iter(lambda: self.terminal.read_line("> ") or "", ""))


@pytest.fixture
def desk(tmp_path: Path) -> ScriptedChat:
    return ScriptedChat(tmp_path)


def test_answers_go_to_standard_output_and_everything_else_beside_it(desk: ScriptedChat) -> None:
    desk.agent = EchoAgent("One.", "Two.\n")
    assert desk.talk("a", "/title T", "b", "/title", "/exit") == "One.\n\nTwo.\n\nT\n"
    assert desk.err == (
        "the title is now: T\n" + f"session talk is saved in {desk.store}\nresume with: segue resume talk\n"
    )


def test_what_was_read_is_not_repeated(desk: ScriptedChat) -> None:
    desk.agent = EchoAgent("Fine.")
    desk.talk("how are you")
    assert "how are you" not in desk.out + desk.err


@pytest.mark.parametrize(
    ("typed", "lines"),
    [
        (b"a\nb\n", ["a", "b"]),
        (b"a\r\nb", ["a", "b"]),
        (b"a\\\nb\\\nc\nd\n", ["a\nb\nc", "d"]),
        (b"a\\\\\nb\n", ["a\\\\", "b"]),
        (b"a\\", ["a"]),
        ("\ufeff/exit\n".encode(), ["/exit"]),
        ("a\u2028b\x0cc\n".encode(), ["a\u2028b\x0cc"]),
    ],
)
def test_lines_are_read_as_if_typed(typed: bytes, lines: list[str]) -> None:
    assert Scripted(typed).lines() == lines


@pytest.mark.parametrize(
    ("line", "goes_on"), [("a", False), ("a\\", True), ("a\\\\", False), ("a\\\\\\", True), ("", False)]
)
def test_a_line_goes_on_after_an_odd_number_of_backslashes(line: str, goes_on: bool) -> None:  # noqa: FBT001
    assert continues(line) == goes_on


def test_what_is_not_utf_8_is_reported_with_its_line_and_nothing_of_it_is_lost(desk: ScriptedChat) -> None:
    desk.talk("fine", b"caf\xe9 au lait", "also fine")
    assert "segue: line 2 of the input is not UTF-8 (byte 4); these bytes are recorded as escapes" in desk.err
    assert [content for role, content in desk.said if role == "user"] == ["fine", "caf\\xe9 au lait", "also fine"]


@pytest.mark.parametrize(
    ("typed", "default", "safe", "answer", "left"),
    [
        (b"y\nz\n", False, False, True, ["z"]),
        (b"YES \n", False, False, True, []),
        (b"n\n", True, True, False, []),
        (b"\nz\n", True, False, True, ["z"]),
        (b"", True, False, False, []),
        (b"", False, True, True, []),
        (b"hello\nz\n", True, False, False, ["hello", "z"]),
    ],
)
def test_a_question_takes_the_next_line_as_its_answer(
    typed: bytes,
    default: bool,  # noqa: FBT001
    safe: bool,  # noqa: FBT001
    answer: bool,  # noqa: FBT001
    left: list[str],
) -> None:
    script = Scripted(typed)
    assert script.terminal.ask("Really?", default=default, safe=safe) == answer
    assert script.lines() == left
    assert script.err.getvalue() == f"Really? [{'Y/n' if default else 'y/N'}]\n"


def test_no_control_sequence_of_a_stranger_gets_out(desk: ScriptedChat) -> None:
    desk.agent = EchoAgent(("\x1b]0;owned\x07", "\x1b", "[2J\u202e"))
    desk.talk("hello", "/title \x1b[31mred", "/title", "/history", "/nosuch\x1b[2J", "/load \x9b31m")
    assert not [character for character in desk.out + desk.err if character in "\x1b\x07\x9b\u202e"]
    assert desk.out.startswith("\\x1b]0;owned\\x07\\x1b[2J\\u202e\n")


def test_line_ends_of_other_systems_are_line_ends_even_when_cut_in_two(desk: ScriptedChat) -> None:
    desk.agent = EchoAgent(("one\r", "\ntwo\r\nthree\r"))
    assert desk.talk("hello") == "one\ntwo\nthree\\r\n"


def test_an_answer_ends_with_one_line_end_and_an_empty_one_with_none(desk: ScriptedChat) -> None:
    desk.agent = EchoAgent(("a\n", ""), ("", ""), "b")
    assert desk.talk("1", "2", "3") == "a\n\nb\n"


def test_a_script_waits_for_no_library_of_terminals(desk: ScriptedChat) -> None:
    heavy = ("prompt_toolkit", "rich", "segue.chat.terminal.interactive")
    code = "import sys; from pathlib import Path; from tests.support import chat_program\n"
    code += f"chat_program.main(Path(sys.argv[1])); print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code, str(desk.root)],
        input=b"hello\n",
        capture_output=True,
        check=True,
        env={"PYTHONPATH": f"{PACKAGE}{os.pathsep}{ROOT}"},
    )
    assert done.stdout == b"You said: 'hello'.\n[]\n"


def test_somebody_who_types_while_the_output_goes_elsewhere_sees_a_prompt() -> None:
    err = StringIO()
    terminal = ScriptTerminal(BytesIO(b"a\\\nb\n"), StringIO(), err, prompts=True)
    assert terminal.read_line("agent> ") == "a\nb"
    assert err.getvalue() == "agent> … "

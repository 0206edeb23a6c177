"""`segue ask`: one question, one answer, and what is kept of them."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.chat_cli import BEGINNING, Running, Slow, program, said
from tests.support.providers.houses import HOUSES
from tests.support.providers.server import Server

if TYPE_CHECKING:
    from tests.support.cli import Result, Segue

ECHO = "command:cat"
(OPENAI,) = (house for house in HOUSES if house.name == "openai")


def session_of(result: Result) -> str:
    found = re.search(r"^segue: session (\S+)$", result.complaint, re.MULTILINE)
    assert found is not None, result
    return found[1]


def test_only_the_answer_goes_to_standard_output_and_both_are_recorded(cli: Segue) -> None:
    result = cli.run("ask", "Why so?", "--agent", ECHO)
    assert (result.code, result.text) == (0, "Why so?\n")
    id = session_of(result)
    assert said(cli, id) == [("user", "Why so?"), ("assistant", "Why so?")]
    assert (cli.library.load(id).status, cli.library.load(id).title) == ("paused", "Why so?")


def test_standard_input_is_attached_as_context(cli: Segue) -> None:
    result = cli.run("ask", "What is wrong?", "--agent", ECHO, stdin="ERROR: größer\n".encode())
    assert "ERROR: größer" in result.text
    session = cli.library.load(session_of(result))
    assert [(one.path, one.size_bytes) for one in session.attachments] == [("standard input", 16)]
    assert session.turns[0].content == "What is wrong?"


def test_what_came_over_standard_input_is_not_missed_later(cli: Segue) -> None:
    id = session_of(cli.run("ask", "What is wrong?", "--agent", "offline", stdin=b"ERROR\n"))
    assert "since it was attached" not in cli.run("resume", id).complaint


def test_without_a_question_standard_input_is_the_question(cli: Segue) -> None:
    result = cli.run("ask", "--agent", ECHO, stdin=b"Why so?\n")
    assert result.text == "Why so?\n"
    assert cli.library.load(session_of(result)).attachments == ()


def test_a_question_that_begins_with_a_slash_is_a_question(cli: Segue) -> None:
    assert cli.run("ask", "/exit", "--agent", ECHO).text == "/exit\n"


def test_it_can_go_on_in_a_session(cli: Segue, session: str) -> None:
    result = cli.run("ask", "--session", session[:3], "And then?", "--agent", ECHO)
    assert session_of(result) == session
    assert "Why does login fail?" in result.text
    assert [role for role, _ in said(cli, session)] == ["user", "assistant", "user", "assistant"]


def test_json_has_the_answer_and_where_it_is_kept(cli: Segue) -> None:
    result = cli.run("ask", "Why so?", "--agent", ECHO, "--json")
    found = json.loads(result.text)
    assert found["session"] == session_of(result)
    assert (found["answer"], found["agent"], found["tokens_by"]) == ("Why so?", "cat", "tokenizer")


def test_an_answer_is_exact_in_a_pipe_and_printable_at_a_terminal(cli: Segue) -> None:
    agent = program(cli.home, "hostile", "#!/bin/sh\nprintf '\\033[2Jred'\n")
    assert cli.run("ask", "Why?", "--agent", agent).out == b"\x1b[2Jred\n"
    shown = cli.at_terminal("ask", "Why?", "--agent", agent).end().text
    assert "red\n" in shown
    assert "\x1b[2J" not in shown


def test_no_answer_has_a_code_of_its_own_and_the_question_is_kept_once(cli: Segue, session: str) -> None:
    agent = program(cli.home, "broken", "#!/bin/sh\necho 'no credit' >&2; exit 4\n")
    for _ in range(2):
        result = cli.run("ask", "And then?", "--session", session, "--agent", agent)
        assert (result.code, result.text) == (8, "")
        assert "no credit" in result.complaint
    assert cli.run("ask", "And then?", "--session", session, "--agent", agent, "--json").code == 8
    assert said(cli, session)[2:] == [("user", "And then?")]
    assert cli.run("ask", "And then?", "--session", session, "--agent", ECHO).code == 0
    assert len(said(cli, session)) == 4


def test_ctrl_c_keeps_what_had_come(cli: Segue) -> None:
    slow = Slow(cli.home)
    with Running(cli, ["ask", "hello", "--agent", slow.agent]) as asking:
        assert asking.process.stdin is not None
        asking.process.stdin.close()
        asking.process.stdin = None
        asking.wait_for(BEGINNING)
        assert asking.notify(signal.SIGINT) == 130
    (id,) = cli.library.store.ids()
    session = cli.library.load(id)
    assert [(turn.content, turn.partial) for turn in session.turns] == [("hello", False), (BEGINNING, True)]
    assert session.status == "paused"


@pytest.mark.parametrize(
    ("code", "args", "stdin", "word"),
    [
        (2, (), b"", "there is no question"),
        (2, ("  ",), b"", "there is no question"),
        (2, ("Why?",), b"\xff\xfe", "not UTF-8"),
        (2, ("Why?",), b"x" * (1 << 20) + b"y", "larger than 1,048,576 bytes"),
        (2, ("Why?", "--agent", "anthropic"), b"", "ANTHROPIC_API_KEY"),
        (3, ("Why?", "--agent", "nobody"), b"", "there is no agent 'nobody'"),
        (3, ("Why?", "--session", "nobody"), b"", "there is no session nobody"),
    ],
)
def test_what_cannot_be_asked_begins_no_session(
    cli: Segue, code: int, args: tuple[str, ...], stdin: bytes, word: str
) -> None:
    assert word in cli.refuses(code, "ask", *args, stdin=stdin)
    assert list(cli.library.store.ids()) == []


def test_without_a_model_nothing_is_asked_and_no_rule_answers(cli: Segue, session: str) -> None:
    before = cli.files()
    for args in (("Why?",), ("--session", session, "Why?"), ("--json", "Why?")):
        result = cli.run("ask", *args, PATH="/usr/bin:/bin")
        assert (result.code, result.text) == (8, "")
        assert "no agent is available (no --agent, no API key, no AI tool on the PATH)" in result.complaint
        assert "--agent offline" in result.complaint
    assert cli.files() == before


def test_the_offline_agent_answers_where_it_is_named(cli: Segue) -> None:
    assert "not a model" in cli.run("ask", "--agent", "offline", "Why?").text
    cli.ok("new", "--id", "talk")
    assert "not a model" in cli.run("ask", "--session", "talk", "--agent", "offline", "Why?").text
    (cli.home / ".config" / "segue").mkdir(parents=True)
    (cli.home / ".config" / "segue" / "config.toml").write_text('agent = "offline"\n', encoding="utf-8")
    assert "not a model" in cli.run("ask", "Why?", PATH="/usr/bin:/bin").text


def test_a_completed_session_is_not_asked(cli: Segue, session: str) -> None:
    cli.ok("complete", session)
    before = cli.files()
    assert "completed" in cli.refuses(2, "ask", "--session", session, "Why?", "--agent", ECHO)
    assert cli.files() == before


def test_a_closed_input_is_no_context(cli: Segue) -> None:
    done = subprocess.run(
        ["sh", "-c", f'exec "{sys.executable}" -m segue ask Why --agent {ECHO} <&-'],
        env=cli.environment(),
        cwd=cli.home,
        check=False,
        capture_output=True,
    )
    assert (done.returncode, done.stdout) == (0, b"Why\n")


def test_a_model_answers_over_the_network_and_its_counts_are_recorded(cli: Segue) -> None:
    with Server([OPENAI.answers("The token ", "expires.")]) as server:
        result = cli.run(
            *("ask", "Why?", "--agent", "openai/one", "--model", "two"),
            OPENAI_BASE_URL=f"{server.url}/v1",
            OPENAI_API_KEY="k",
        )
    assert (result.code, result.text) == (0, "The token expires.\n")
    assert server.asked[0].body["model"] == "two"
    turn = cli.library.load(session_of(result)).turns[-1]
    assert (turn.model, turn.tokens_by) == (OPENAI.model, "provider")


def test_the_server_can_be_named_by_the_configuration(cli: Segue) -> None:
    with Server([OPENAI.answers("Yes.")]) as server:
        folder = cli.home / ".config" / "segue"
        folder.mkdir(parents=True)
        text = f'agent = "openai"\nmodel = "mine"\n[openai]\nbase_url = "{server.url}/v1"\n'
        (folder / "config.toml").write_text(text, encoding="utf-8")
        assert cli.run("ask", "Why?").text == "Yes.\n"
    assert server.asked[0].body["model"] == "mine"


def test_the_last_session_is_asked_in_with_c(cli: Segue) -> None:
    cli.ok("new", "--id", "older")
    for question in ("Why?", "And now?"):
        option = ["-c"] if question == "And now?" else []
        assert cli.call("ask", question, "--agent", "command:cat", *option).code == 0
    (name,) = {head.id for head in cli.library.list() if head.turn_count}
    assert [turn.content for turn in cli.library.load(name).turns if turn.role == "user"] == ["Why?", "And now?"]
    assert "cannot be used together" in cli.refuses(2, "ask", "Why?", "-c", "--session", "older")

"""`segue chat`: who answers, what is recorded, and how it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from base64 import b64encode
from typing import TYPE_CHECKING

import pytest

from tests.support.chat_cli import BEGINNING, ChatProcess, Running, Slow, preset, program, said, script

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.cli import Segue

ECHO = "command:cat"
CTRL_D = "\x04"


def config(cli: Segue, text: str) -> Path:
    path = cli.home / ".config" / "segue" / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    return path


def answer(cli: Segue, *args: str, **env: str) -> str:
    """What comes of one question with these options, in a session called `talk`."""
    result = cli.run("chat", "--id", "talk", *args, stdin=script("hello"), **env)
    assert result.code == 0, result
    return result.text


@pytest.fixture
def slow(cli: Segue) -> Slow:
    return Slow(cli.home)


# ── What is said and recorded ────────────────────────────────────────────────────────────────────────────────────────


def test_lines_are_read_as_if_typed_and_only_answers_go_to_standard_output(cli: Segue) -> None:
    result = cli.run("chat", "--id", "talk", "--agent", ECHO, stdin=script("hello", "/decide Be brief", "/exit", "no"))
    assert (result.code, result.text) == (0, "hello\n")
    assert said(cli, "talk") == [("user", "hello"), ("assistant", "hello")]
    session = cli.library.load("talk")
    assert (session.status, session.agent, [one.content for one in session.decisions]) == (
        "paused",
        "cat",
        ["Be brief"],
    )


def test_leaving_says_where_the_session_is_and_how_to_come_back(cli: Segue) -> None:
    result = cli.run("chat", "--id", "talk", "--agent", "offline")
    assert cli.store in result.complaint
    assert "segue resume talk\n" in result.complaint


def test_the_way_back_names_the_store_where_the_call_did(cli: Segue) -> None:
    store = f"journal:{cli.home / 'my notes {1}'}"
    result = cli.run("chat", "--id", "talk", "--agent", "offline", "--store", store)
    assert f"segue resume talk --store '{store}'\n" in result.complaint


def test_the_first_question_is_the_title_unless_one_was_given(cli: Segue) -> None:
    for title in ("", "Login bug"):
        cli.run(
            "chat", "--id", f"t{len(title)}", "--agent", ECHO, "--title", title, stdin=script("Why so?", "And now?")
        )
    assert [cli.library.load(id).title for id in ("t0", "t9")] == ["Why so?", "Login bug"]


def test_title_tags_and_id_are_those_of_the_call(cli: Segue) -> None:
    cli.run("chat", "--id", "talk", "--agent", "offline", "--title", "A", "--tag", "x", "--tag", "y")
    session = cli.library.load("talk")
    assert (session.title, session.tags) == ("A", ("x", "y"))


def test_a_closed_input_is_an_empty_one(cli: Segue) -> None:
    done = subprocess.run(
        ["sh", "-c", f'exec "{sys.executable}" -m segue chat --id talk --agent offline <&-'],
        env=cli.environment(),
        cwd=cli.home,
        check=False,
        capture_output=True,
    )
    assert (done.returncode, cli.library.load("talk").status) == (0, "paused")


@pytest.mark.parametrize("lines", [(), ("/exit",), ("/help", "/stats", "/quit"), ("/complete",), ("", " ")])
def test_a_session_in_which_nothing_was_said_is_not_kept(cli: Segue, lines: tuple[str, ...]) -> None:
    preset(cli.home / "agents", "reviewer", "You review code.")
    result = cli.run("chat", "--agent", ECHO, "--preset", "reviewer", stdin=script(*lines))
    assert (result.code, result.complaint) == (0, "Empty session discarded.\n")
    assert cli.files() == {}


@pytest.mark.parametrize("line", ["hello", "/title Login bug", "/tag urgent", "/learn Tokens expire", "/fork"])
def test_a_session_in_which_anything_was_recorded_is_kept(cli: Segue, line: str) -> None:
    assert "resume with" in cli.run("chat", "--agent", ECHO, stdin=script(line)).complaint
    assert len(list(cli.library.store.ids())) == 1


@pytest.mark.parametrize("args", [("--id", "talk"), ("--title", "A"), ("--tag", "x")])
def test_a_session_that_was_given_a_name_is_kept(cli: Segue, args: tuple[str, ...]) -> None:
    assert "resume with" in cli.run("chat", "--agent", ECHO, *args).complaint
    assert len(list(cli.library.store.ids())) == 1


def test_going_to_another_session_leaves_no_empty_one_behind(cli: Segue) -> None:
    cli.library.create(id="other").close()
    result = cli.run("chat", "--agent", ECHO, stdin=script("/load other"))
    assert "now in session other, with 0 turns\n" in result.complaint
    assert list(cli.library.store.ids()) == ["other"]


def test_coming_back_and_saying_nothing_keeps_what_was_there(cli: Segue) -> None:
    cli.library.create(id="empty").close()
    assert "resume with" in cli.run("resume", "empty", stdin=script("/exit")).complaint
    assert list(cli.library.store.ids()) == ["empty"]


# ── Who answers ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_with_nothing_set_up_the_offline_partner_answers(cli: Segue) -> None:
    assert "not a model" in answer(cli, PATH=str(cli.home))
    assert cli.library.load("talk").agent == "offline"


@pytest.mark.parametrize("args", [("--agent", "nobody"), ("--preset", "nobody"), ("--agent", "reviewr")])
def test_an_unknown_agent_is_told_what_exists_before_anything_starts(cli: Segue, args: tuple[str, ...]) -> None:
    preset(cli.home / "agents", "reviewer", "You review code.")
    assert "reviewer" in cli.refuses(3, "chat", *args)
    assert list(cli.library.store.ids()) == []


def test_an_unknown_agent_is_told_of_the_agents_too(cli: Segue) -> None:
    assert "offline, anthropic" in cli.refuses(3, "chat", "--agent", "nobody")


def test_a_missing_key_is_told_before_anything_starts(cli: Segue) -> None:
    assert "ANTHROPIC_API_KEY" in cli.refuses(2, "chat", "--agent", "anthropic")
    assert list(cli.library.store.ids()) == []


def test_a_preset_is_named_by_the_session_with_its_hash_and_its_prompt_is_sent(cli: Segue) -> None:
    preset(cli.home / ".segue" / "agents", "reviewer", "You review code.")
    assert "You review code." in answer(cli, "--preset", "reviewer", "--agent", ECHO)
    session = cli.library.load("talk")
    assert session.preset is not None
    assert (session.agent, session.preset.name, session.preset.hash[:7]) == ("reviewer", "reviewer", "sha256:")
    assert session.overrides == {"agent": ECHO}


def test_a_preset_can_be_the_agent_and_its_model_is_a_wish(cli: Segue) -> None:
    preset(cli.home / ".claude" / "agents", "reviewer", "You review code.", model="opus")
    result = cli.run("chat", "--agent", "reviewer", "--id", "talk", stdin=script("hello"), PATH=str(cli.home))
    assert "not a model" in result.text
    assert "the preset asks for opus" in result.complaint


def test_a_preset_gets_its_model_through_the_tool_of_the_same_house(cli: Segue) -> None:
    programs = cli.home / "bin"
    programs.mkdir()
    program(programs, "claude", '#!/bin/sh\necho "claude $*"\n')
    preset(cli.home / "agents", "reviewer", "You review code.", model="opus")
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    assert answer(cli, "--agent", "reviewer", PATH=path) == "claude -p --no-session-persistence --model opus\n"


def test_a_preset_cannot_name_a_command(cli: Segue) -> None:
    preset(cli.home / "agents", "evil", "You help.", model="'command:touch here'")
    assert "cannot name a command" in cli.refuses(2, "chat", "--agent", "evil")
    assert not (cli.home / "here").exists()


def test_presets_are_found_above_up_to_the_repository_and_the_nearest_wins(cli: Segue) -> None:
    here = cli.home / "repository" / "below"
    (here.parent / ".git").mkdir(parents=True)
    preset(cli.home / "agents", "outside", "Too far.")
    preset(here.parent / "agents", "near", "Not this one.")
    preset(here.parent / "agents", "above", "You stand above.")
    preset(here / ".segue" / "agents", "near", "You are near.")
    preset(cli.home / ".config" / "segue" / "agents", "own", "You are mine.")
    seen = {}
    for name in ("near", "above", "own", "outside"):
        done = subprocess.run(
            [sys.executable, "-m", "segue", "chat", "--preset", name, "--agent", ECHO],
            input=b"hello\n",
            capture_output=True,
            check=False,
            env=cli.environment(),
            cwd=here,
        )
        seen[name] = done.stdout.decode().split("\n")[1] if done.stdout else f"{done.returncode}"
    assert seen == {"near": "You are near.", "above": "You stand above.", "own": "You are mine.", "outside": "3"}


def test_a_model_that_nobody_has_to_choose_from_is_refused(cli: Segue) -> None:
    assert "no models to choose from" in cli.refuses(2, "chat", "--agent", "offline", "--model", "x")


# ── The configuration ────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_configuration_decides_where_the_call_does_not(cli: Segue) -> None:
    config(cli, f'agent = "{ECHO}"\nmax_tokens = 5000\n')
    result = cli.run("chat", "--id", "talk", stdin=script("hello", "/stats"))
    assert result.text.startswith("hello\n")
    assert "of 5,000 tokens" in result.text
    assert "not a model" in cli.run("chat", "--agent", "offline", stdin=script("hello")).text


def test_the_configuration_can_name_a_preset(cli: Segue) -> None:
    preset(cli.home / "agents", "reviewer", "You review code.")
    config(cli, 'agent = "reviewer"\n')
    answer(cli)
    assert cli.library.load("talk").agent == "reviewer"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("agent = 'offline'\nmodel =\n", "line 2: it is not TOML"),
        ("agent = 'offline", "line 1: it is not TOML"),
        ("\nagnet = 'offline'\n", "line 2: there is no setting 'agnet'"),
        ("agent = 'offline'\nmax_tokens = 'many'\n", "line 2: max_tokens must be a number"),
        ("max_tokens = 0\n", "line 1: max_tokens must be a number"),
        ("max_tokens = true\n", "line 1: max_tokens must be a number"),
        ("idle_minutes = 'long'\n", "line 1: idle_minutes must be a number of minutes"),
        ("idle_minutes = -1\n", "line 1: idle_minutes must be a number of minutes"),
        ("idle_minutes = nan\n", "line 1: idle_minutes must be a number of minutes"),
        ("idle_minutes = false\n", "line 1: idle_minutes must be a number of minutes"),
        ("[openai]\nbase_url = 7\n", "line 2: openai.base_url must be a text"),
        ("[openai]\nkey = 'x'\n", "line 2: there is no setting 'openai.key'"),
        ("openai = 'x'\n", "line 1: openai must be a table"),
    ],
)
def test_a_wrong_configuration_is_named_by_its_line(cli: Segue, text: str, place: str) -> None:
    path = config(cli, text)
    assert f"{path} {place}" in cli.refuses(2, "chat")


# ── Ways to end ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_failing_agent_costs_no_question_and_the_code_says_so(cli: Segue) -> None:
    agent = program(cli.home, "broken", "#!/bin/sh\necho 'no credit' >&2; exit 4\n")
    result = cli.run("chat", "--id", "talk", "--agent", agent, stdin=script("hello", "n", "/exit"))
    assert result.code == 1
    assert "no credit" in result.complaint
    assert said(cli, "talk") == [("user", "hello")]


def test_ctrl_c_without_a_person_leaves_cleanly(cli: Segue, slow: Slow) -> None:
    with Running(cli, ["chat", "--id", "talk", "--agent", slow.agent]) as talk:
        talk.type("hello")
        talk.wait_for(BEGINNING)
        assert talk.notify(signal.SIGINT) == 130
    assert said(cli, "talk") == [("user", "hello"), ("assistant", BEGINNING)]
    session = cli.library.load("talk")
    assert (session.status, session.turns[-1].partial) == ("paused", True)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_being_told_to_end_keeps_what_had_come_and_ends_the_command_that_answers(
    cli: Segue, slow: Slow, number: signal.Signals
) -> None:
    with Running(cli, ["chat", "--id", "talk", "--agent", slow.agent]) as talk:
        talk.type("hello")
        talk.wait_for(BEGINNING)
        assert talk.notify(number) == 128 + number
    session = cli.library.load("talk")
    assert (session.status, session.turns[-1].content, session.turns[-1].partial) == ("interrupted", BEGINNING, True)
    with pytest.raises(OSError, match="No such device"):  # nobody reads it any more
        os.open(cli.home / "held", os.O_WRONLY | os.O_NONBLOCK)


# ── At a terminal ────────────────────────────────────────────────────────────────────────────────────────────────────


def converse_at(seat: ChatProcess) -> None:
    """Say hello, and wait until the answer is there and the next prompt."""
    seat.wait_for("heard>")
    seat.type("hello\r")
    seat.wait_for("I heard.")
    seat.wait_for("heard>")


@pytest.fixture
def heard(cli: Segue) -> str:
    return program(cli.home, "heard", "#!/bin/sh\ncat > asked\necho I heard.\n")


def test_the_prompt_shows_the_agent_and_ctrl_d_leaves(cli: Segue, heard: str) -> None:
    with ChatProcess(cli, "chat", "--id", "talk", "--agent", heard) as seat:
        converse_at(seat)
        seat.type(CTRL_D)
        seat.wait_for("segue resume talk")
        assert seat.end() == 0
    assert said(cli, "talk") == [("user", "hello"), ("assistant", "I heard.")]


def test_the_commands_of_a_chat_at_a_terminal(cli: Segue, heard: str) -> None:
    for name, text in (("xclip", "cat > copied"), ("mine", 'cat "$1" > before\nprintf "in\\n*mine*\\n" > "$1"')):
        program(cli.home, name, f"#!/bin/sh\ncd {cli.home}\n{text}\n")
    (cli.home / "notes.txt").write_text("Tokens live an hour.")
    path = f"{cli.home}:{os.environ['PATH']}"
    with ChatProcess(cli, "chat", "--id", "talk", "--agent", heard, PATH=path, DISPLAY=":9", VISUAL="mine") as seat:
        seat.wait_for("heard>")
        seat.type("see @not\t")
        seat.wait_for("@notes.txt")
        seat.enter(".")
        seat.wait_for("notes.txt is attached (20 bytes)")
        seat.wait_for("I heard.")
        assert "Tokens live an hour." in (cli.home / "asked").read_text()
        seat.wait_for("heard>")
        seat.enter("/copy")
        seat.wait_for("copied 8 characters with xclip")
        assert (cli.home / "copied").read_text() == "I heard."
        assert f"\x1b]52;c;{b64encode(b'I heard.').decode()}\x07" in seat.raw
        seat.wait_for("heard>")
        seat.enter("/edit last")
        seat.wait_for("now in branch-2; the message as it was is in main: /switch main")
        seat.wait_for("in\n*mine*\n")
        seat.wait_for("I heard.")
        assert (cli.home / "before").read_text() == "see @notes.txt."
        seat.wait_for("heard>")
        seat.enter("/new")
        seat.wait_for("now in session heard-")
        seat.wait_for("heard>")
        seat.enter("/compact now")
        seat.wait_for("there is nothing to summarize yet")
        seat.wait_for("heard>")
        seat.enter("/resume")
        seat.wait_for("(number or words, Enter for none)")
        seat.enter("talk")
        seat.wait_for("now in session talk, with 2 turns")
        seat.wait_for("in\n*mine*\n")
        seat.wait_for("heard>")
        seat.enter("exit")
        seat.wait_for("segue resume talk")
        assert seat.end() == 0
    assert list(cli.library.store.ids()) == ["talk"]
    assert said(cli, "talk") == [("user", "in\n*mine*"), ("assistant", "I heard.")]


def test_the_session_used_last_is_the_one_that_the_chat_went_to(cli: Segue) -> None:
    cli.call("chat", "--id", "first", "--agent", "offline", stdin=script("hello", "/new Second"))
    assert cli.ok("show", "-").startswith("Second\n")


def test_a_session_that_is_open_elsewhere_can_be_continued_in_a_copy(cli: Segue, heard: str) -> None:
    with cli.library.create(id="other", agent="offline") as live, ChatProcess(cli, "chat", "--agent", heard) as seat:
        live.add("user", "one")
        live.add("assistant", "two")
        live.set_overrides({"agent": heard})
        seat.wait_for("heard>")
        seat.enter("/resume other")
        seat.wait_for("session other is in use by process")
        seat.wait_for("Continue in a copy of it? [Y/n]")
        seat.enter("")
        seat.wait_for("the command ./heard")
        seat.wait_for("[y/N]")
        seat.enter("n")
        seat.wait_for("the copy is deleted again")
        live.set_overrides({})
        seat.wait_for("heard>")
        seat.enter("/resume other")
        seat.wait_for("Continue in a copy of it? [Y/n]")
        seat.enter("")
        seat.wait_for("a copy of other with 2 turns, which stays as it is")
        seat.wait_for("offline>")
        seat.enter("quit")
        assert seat.end() == 0
    (copy,) = (head for head in cli.library.list() if head.id != "other")
    assert said(cli, copy.id) == [("user", "one"), ("assistant", "two")]


def test_a_person_who_falls_silent_is_told_that_the_session_is_paused(cli: Segue, heard: str) -> None:
    config(cli, "idle_minutes = 0.003\n")
    with ChatProcess(cli, "chat", "--id", "talk", "--agent", heard) as seat:
        seat.wait_for("the session is saved and paused; your next message resumes it")
        assert cli.library.load("talk").status == "paused"
        seat.type("hello\r")
        seat.wait_for("I heard.")
        seat.wait_for("heard>")
        seat.type(CTRL_D)
        assert seat.end() == 0
    assert said(cli, "talk") == [("user", "hello"), ("assistant", "I heard.")]


def test_a_terminal_that_is_closed_loses_nothing(cli: Segue, heard: str) -> None:
    with ChatProcess(cli, "chat", "--id", "talk", "--agent", heard) as seat:
        converse_at(seat)
        seat.hang_up()
    assert said(cli, "talk") == [("user", "hello"), ("assistant", "I heard.")]
    assert cli.library.store.owner("talk") is None


def test_a_message_on_the_command_line_is_sent_first(cli: Segue) -> None:
    done = cli.call("chat", "--agent", "command:cat", "--id", "talk", "Why does", "login fail?", stdin=b"And logout?\n")
    assert done.code == 0
    assert [turn.content for turn in cli.library.load("talk").turns if turn.role == "user"] == [
        "Why does login fail?",
        "And logout?",
    ]
    with ChatProcess(cli, "chat", "--agent", "command:cat", "Hello you") as seat:
        seat.wait_for("cat> Hello you")
        seat.type("/exit\r")
        assert seat.end() == 0

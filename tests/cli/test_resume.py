"""`segue resume`: which session it finds, what it shows, which agent answers, and what it does after a crash."""

from __future__ import annotations

import signal
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

import segue
from tests.support.chat_cli import BEGINNING, ChatProcess, Running, Slow, preset, program, said, script

if TYPE_CHECKING:
    from tests.support.cli import Segue

ECHO = "command:cat"
CTRL_C = "\x03"


def keep(cli: Segue, id: str, *contents: str, title: str = "", ago: int = 1) -> str:
    """A session that was left so many days ago, with these turns."""
    moment = datetime.now(UTC) - timedelta(days=ago)
    library = segue.open(cli.store, clock=lambda: moment)
    with library.create(agent="offline", id=id, title=title) as live:
        for number, content in enumerate(contents):
            live.add("assistant" if number % 2 else "user", content)
    library.store.mark_changed(id, moment)
    return id


def resume(cli: Segue, *args: str, stdin: bytes = b"") -> str:
    """What resuming says beside the answers; it must succeed."""
    result = cli.run("resume", *args, stdin=stdin)
    assert result.code == 0, result
    return result.complaint


def resumed(cli: Segue, *args: str) -> str:
    """The session that these words resume."""
    return resume(cli, *args).rpartition("segue resume ")[2].strip()


# ── Which one ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_last_is_the_last_active_one(cli: Segue) -> None:
    keep(cli, "older", "a", "b", ago=3)
    keep(cli, "newest", "a", "b", ago=1)
    keep(cli, "oldest", "a", "b", ago=9)
    assert resumed(cli, "--last") == "newest"


def test_last_passes_over_a_damaged_one_and_says_so(cli: Segue) -> None:
    keep(cli, "older", "a", "b", ago=3)
    (cli.root / "broken.jsonl").write_bytes(b"{}\n")
    result = cli.run("resume", "--last")
    assert result.code == 0
    assert "broken is damaged" in result.complaint
    assert "segue resume older" in result.complaint


def test_an_exact_id_wins_over_those_that_begin_so(cli: Segue) -> None:
    keep(cli, "log", "a", "b")
    keep(cli, "login", "a", "b")
    assert resumed(cli, "log") == "log"


@pytest.mark.parametrize("words", [("qa-20",), ("LOGIN", "bug"), ("bug", "login"), ("expires",), ("Token expires",)])
def test_a_beginning_or_words_that_one_session_has_are_enough(cli: Segue, words: tuple[str, ...]) -> None:
    keep(cli, "qa-2026", "Why so?", "The token expires.", title="The login bug")
    keep(cli, "other", "Hello.", "Hello!", title="Something else")
    assert resumed(cli, *words) == "qa-2026"


@pytest.mark.parametrize("words", [("login",), ("log",), ()])
def test_without_a_terminal_several_are_listed_and_none_is_resumed(cli: Segue, words: tuple[str, ...]) -> None:
    keep(cli, "log-1", title="First login", ago=2)
    keep(cli, "log-2", title="Second login", ago=1)
    before = cli.files()
    result = cli.run("resume", *words, stdin=script("1"))
    assert (result.code, result.text) == (3, "")
    assert result.complaint.index("log-2") < result.complaint.index("log-1")
    assert "use one of these ids" in result.complaint
    assert cli.files() == before


def test_at_a_terminal_one_of_several_is_chosen_by_its_number(cli: Segue) -> None:
    keep(cli, "log-1", title="First login", ago=2)
    keep(cli, "log-2", title="Second login", ago=1)
    with ChatProcess(cli, "resume", "login") as seat:
        seat.wait_for("Which one?")
        seat.type("9\n")
        seat.wait_for("Which one?")
        seat.type("2\n")
        seat.wait_for("offline>")
        seat.type("/exit\r")
        seat.wait_for("segue resume log-1")
        assert seat.end() == 0


def test_choosing_none_changes_nothing(cli: Segue) -> None:
    keep(cli, "log-1", ago=2)
    keep(cli, "log-2", ago=1)
    before = cli.files()
    with ChatProcess(cli, "resume", "log") as seat:
        seat.wait_for("Which one?")
        seat.type("\n")
        assert seat.end() == 1
    assert cli.files() == before


@pytest.mark.parametrize("args", [(), ("--last",)])
def test_where_there_is_nothing_to_resume_chat_is_suggested(cli: Segue, args: tuple[str, ...]) -> None:
    assert "start one with: segue chat" in cli.refuses(3, "resume", *args)


def test_words_that_nothing_has_resume_nothing(cli: Segue, session: str) -> None:
    before = cli.files()
    assert "there is no session zzz" in cli.refuses(3, "resume", "zzz")
    assert "no session matches 'zzz größe'" in cli.refuses(3, "resume", "zzz", "größe")
    assert "cannot be used together" in cli.refuses(2, "resume", session, "--last")
    assert cli.files() == before


def test_a_damaged_session_is_not_touched(cli: Segue) -> None:
    keep(cli, "older", "a", "b", ago=3)
    (cli.root / "broken.jsonl").write_bytes(b"{}\n")
    before = cli.files()
    assert "segue recover broken" in cli.refuses(5, "resume", "broken")
    assert cli.files() == before


def test_whoever_comes_second_is_told_who_holds_the_session(cli: Segue) -> None:
    with Running(cli, ["chat", "--id", "talk", "--agent", ECHO]) as first:
        first.type("hello")
        first.wait_for("hello")
        result = cli.run("resume", "talk")
        assert result.code == 4
        assert f"in use by process {first.process.pid}" in result.complaint


# ── What is shown ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_last_turns_and_where_it_stopped_are_shown_and_everything_goes_on_in_order(cli: Segue) -> None:
    keep(cli, "talk", *(f"turn {number}" for number in range(1, 21)), title="Login bug")
    result = cli.run("resume", "talk", "--agent", ECHO, stdin=script("next"))
    assert "16 earlier turns" in result.complaint
    assert [f"turn {number}\n" in result.complaint for number in (16, 17, 20)] == [False, True, True]
    assert "Login bug · 20 turns · paused, last active 1d ago" in result.complaint
    assert "Where it stopped: You asked: turn 19. Answer: turn 20" in result.complaint
    assert result.text.index("turn 1\n") < result.text.index("turn 20\n") < result.text.index("next\n")
    assert [content for _, content in said(cli, "talk")][:21] == [*(f"turn {n}" for n in range(1, 21)), "next"]


def test_a_long_turn_is_shortened_and_a_hostile_one_is_made_printable(cli: Segue) -> None:
    keep(cli, "talk", "\x1b[2J\u202ehello", "\n".join(f"line {number}" for number in range(1, 50)))
    shown = resume(cli, "talk")
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert ("assistant · shortened" in shown, "line 12\n" in shown, "line 13\n" in shown) == (True, True, False)


def test_the_active_branch_is_the_one_that_goes_on(cli: Segue) -> None:
    with cli.library.create(agent="offline", id="talk") as live:
        live.add("user", "one")
        live.add("assistant", "two")
        live.fork(at=0, name="other")
        live.add("user", "elsewhere")
        live.add("assistant", "here")
    shown = resume(cli, "talk")
    assert "branch other" in shown
    assert "elsewhere" in shown
    assert "one\n" not in shown


def test_a_changed_prompt_is_shown_and_the_current_one_is_used(cli: Segue) -> None:
    folder = cli.home / "agents"
    preset(folder, "reviewer", "You review code.\nToday is 2026-01-05.\nBe kind.")
    cli.run("chat", "--id", "talk", "--preset", "reviewer", "--agent", "offline", stdin=script("hello"))
    preset(folder, "reviewer", "You review code.\nToday is 2026-02-06.\nBe kind.")
    assert "has changed" not in resume(cli, "talk")
    preset(folder, "reviewer", "You review code.\nToday is 2026-02-06.\nBe strict.")
    result = cli.run("resume", "talk", "--agent", ECHO, stdin=script("again"))
    assert "the prompt of reviewer has changed since this session used it" in result.complaint
    assert "\n-Be kind.\n+Be strict.\n" in result.complaint
    assert "Be strict." in result.text
    assert "has changed" not in resume(cli, "talk", "--agent", "offline")


def test_a_preset_that_is_gone_is_missed_and_the_conversation_goes_on(cli: Segue) -> None:
    preset(cli.home / "agents", "reviewer", "You review code.")
    cli.run("chat", "--id", "talk", "--preset", "reviewer", "--agent", "offline", stdin=script("hello"))
    (cli.home / "agents" / "reviewer.md").unlink()
    assert "the preset reviewer no longer exists" in resume(cli, "talk", stdin=script("again"))
    assert len(said(cli, "talk")) == 4


# ── A completed session ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("stdin", [b"", b"n\n", b"\n", b"what?\n"])
def test_a_completed_session_is_resumed_only_on_a_yes(cli: Segue, session: str, stdin: bytes) -> None:
    cli.ok("complete", session)
    before = cli.files()
    result = cli.run("resume", session, stdin=stdin)
    assert result.code == 1
    assert "was marked complete" in result.complaint
    assert cli.files() == before


@pytest.mark.parametrize(("args", "stdin"), [((), b"y\n"), (("--yes",), b"")])
def test_a_yes_takes_it_up_again(cli: Segue, session: str, args: tuple[str, ...], stdin: bytes) -> None:
    cli.ok("complete", session)
    assert "completed, last active" in resume(cli, session, "--agent", "offline", *args, stdin=stdin)
    assert cli.library.load(session).status == "paused"


# ── Who answers ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_whoever_was_named_answers_again_and_another_can_be_named(cli: Segue) -> None:
    cli.run("chat", "--id", "talk", "--agent", "offline")
    (cli.home / ".config" / "segue").mkdir(parents=True)
    (cli.home / ".config" / "segue" / "config.toml").write_text(f'agent = "{ECHO}"\n', encoding="utf-8")
    assert "not a model" in cli.run("resume", "talk", stdin=script("hello")).text
    assert "again" in cli.run("resume", "talk", "--agent", ECHO, stdin=script("again")).text
    assert cli.library.load("talk").overrides == {"agent": ECHO}


def test_an_unknown_agent_leaves_the_session_as_it_is(cli: Segue, session: str) -> None:
    before = cli.files()
    assert "there is no agent 'nobody'" in cli.refuses(3, "resume", session, "--agent", "nobody")
    assert cli.files() == before


def test_a_command_that_a_session_names_runs_only_on_a_yes_at_a_terminal(cli: Segue) -> None:
    agent = program(cli.home, "evil", "#!/bin/sh\ntouch was-run\necho done\n")
    with cli.library.create(agent="offline", id="talk") as live:
        live.set_overrides({"agent": agent})
    before = cli.files()
    for typed in (script("hello"), script("y", "hello")):
        result = cli.run("resume", "talk", stdin=typed)
        assert result.code == 2
        assert f"use --agent {agent}" in result.complaint
    with ChatProcess(cli, "resume", "talk") as seat:
        seat.wait_for("You are asked once for this session. [y/N]")
        seat.type("\r")
        seat.end()
    assert cli.files() == before
    assert not (cli.home / "was-run").exists()
    with ChatProcess(cli, "resume", "talk") as seat:
        seat.wait_for("the command ")
        seat.wait_for("[y/N]")
        seat.type("y\r")
        seat.wait_for("evil>")
        seat.type("hello\r")
        seat.wait_for("done")
        seat.type("/exit\r")
        assert seat.end() == 0
    assert cli.run("resume", "talk", stdin=script("hello")).text == "done\n"


def test_a_server_that_a_session_names_gets_nothing_without_a_yes(cli: Segue, session: str) -> None:
    with cli.library.open(session) as live:
        live.set_overrides({"agent": "openai/m@http://127.0.0.1:9/v1"})
    assert "which was not set here" in cli.run("resume", session, stdin=script("hello")).complaint
    assert len(said(cli, session)) == 2


# ── After a crash ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_after_a_kill_in_mid_answer_nothing_is_lost_nothing_invented_and_the_question_is_offered(cli: Segue) -> None:
    slow = Slow(cli.home)
    slow.be_quick()
    with Running(cli, ["chat", "--id", "talk", "--agent", slow.agent]) as talk:
        talk.type("first")
        talk.wait_for("The whole answer.")
        (cli.home / "whole").unlink()
        talk.type("second")
        talk.wait_for(BEGINNING)
        assert talk.notify(signal.SIGKILL) == -signal.SIGKILL
    slow.let_go()
    before = [("user", "first"), ("assistant", "The whole answer."), ("user", "second")]
    assert said(cli, "talk") == before
    assert cli.library.load("talk").status == "interrupted"

    slow.be_quick()
    declined = cli.run("resume", "talk", stdin=script("n"))
    assert "interrupted, last active" in declined.complaint
    assert "Not answered yet: second" in declined.complaint
    assert "your last message was not answered" in declined.complaint
    assert said(cli, "talk") == before

    assert cli.run("resume", "talk", stdin=script("y")).text == "The whole answer.\n"
    assert said(cli, "talk") == [*before, ("assistant", "The whole answer.")]
    asked = (cli.home / "asked").read_text(encoding="utf-8")
    assert (asked.count("first"), asked.count("second")) == (1, 1)


def test_the_same_at_a_terminal_and_ctrl_c_stops_an_answer_but_not_the_conversation(cli: Segue) -> None:
    slow = Slow(cli.home)
    with ChatProcess(cli, "chat", "--id", "talk", "--agent", slow.agent) as seat:
        seat.wait_for("slow>")
        seat.type("why does __init__(a*b*c)\\\r  fail?\r")
        seat.wait_for(BEGINNING)
        seat.process.kill()
        seat.process.wait()
    slow.let_go()
    with ChatProcess(cli, "resume", "--last") as seat:
        seat.wait_for("Ask again?")
        assert "user\nwhy does __init__(a*b*c)\n  fail?\n" in seat.seen  # what the user typed is not Markdown
        seat.type("y\r")
        seat.wait_for(BEGINNING)
        seat.type(CTRL_C)
        seat.wait_for("slow>")
        slow.be_quick()
        seat.type("and now?\r")
        seat.wait_for("The whole answer.")
        seat.wait_for("slow>")
        seat.type("/exit\r")
        assert seat.end() == 0
    turns = cli.library.load("talk").turns
    assert [(turn.content, turn.partial) for turn in turns] == [
        ("why does __init__(a*b*c)\n  fail?", False),
        (BEGINNING, True),
        ("and now?", False),
        ("The whole answer.", False),
    ]

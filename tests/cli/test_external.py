"""Sessions of AI tools by their ids: shown and exported in place, and resumed."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import segue
from segue.integrations import INTEGRATIONS
from tests.cli.test_hostile import ATTACKS, obeyed
from tests.support.chat_cli import ChatProcess
from tests.support.integration_homes import CLAUDE, CODEX, move_in, snapshot
from tests.support.pty import PtyProcess

if TYPE_CHECKING:
    from segue.library import Library
    from tests.support.cli import Result, Segue

SCRIPTED = Path(__file__).resolve().parents[1] / "support" / "scripted_tool.py"
OWN = "0b1ec7ed-0000-4000-8000-000000000001"
AT = "2026-01-05T09:30:00.000Z"


class ToolHome:
    """A home folder where AI tools are installed and have sessions, and no store is named."""

    def __init__(self, cli: Segue) -> None:
        self.cli = cli
        self.project = cli.home / "project"
        self.project.mkdir()
        self.bin = cli.home / "bin"
        self.bin.mkdir()
        self.env = {
            "SEGUE_STORE": "",
            "XDG_STATE_HOME": str(cli.home / "state"),
            "PATH": f"{self.bin}:/usr/bin:/bin",
        }
        self.install("claude", f'exec {shlex.quote(sys.executable)} {shlex.quote(str(SCRIPTED))} "$@"')

    def install(self, name: str, script: str) -> None:
        (self.bin / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        (self.bin / name).chmod(0o700)

    def configure(self, text: str) -> None:
        path = self.cli.home / ".config" / "segue" / "config.toml"
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")

    def store_session(self, *said: str, id: str = OWN, title: str = "", cwd: str = "", at: str = AT) -> None:
        """A session of Claude Code, in the project."""
        records: list[dict[str, object]] = []
        for number, text in enumerate(said):
            role = "assistant" if number % 2 else "user"
            message = {"role": role, "id": f"m{number}", "content": [{"type": "text", "text": text}]}
            head = {"type": role, "uuid": f"{id}-{number}", "parentUuid": f"{id}-{number - 1}" if number else None}
            records.append({**head, "timestamp": at, "cwd": cwd or str(self.project), "message": message})
        if title:
            records.append({"type": "custom-title", "customTitle": title})
        slug = re.sub(r"[^A-Za-z0-9]", "-", str(self.project))
        path = self.cli.home / ".claude" / "projects" / slug / f"{id}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
        os.utime(path, (1_700_000_000, 1_700_000_000))  # no answer is being written

    def run(self, *words: str, said: str = "", code: int = 0) -> Result:
        done = self.cli.run(*words, stdin=said.encode(), **self.env)
        assert done.code == code, done
        return done

    @property
    def library(self) -> Library:
        return segue.open(f"journal:{self.cli.home / 'state' / 'segue' / 'sessions'}")

    def said(self, id: str) -> list[str]:
        return [turn.content for turn in self.library.load(id).turns]


@pytest.fixture
def home(cli: Segue) -> ToolHome:
    found = ToolHome(cli)
    found.store_session("Why does login fail?", "The token expires.", title="Login bug")
    return found


# ── Read where they are ──────────────────────────────────────────────────────────────────────────────────────────────


def test_a_session_of_a_tool_is_shown_by_the_id_that_a_listing_shows_and_nothing_is_copied(home: ToolHome) -> None:
    before = snapshot(home.cli.home / ".claude")
    (line,) = home.run("list").text.splitlines()
    id = line.split("\t")[0]
    for name in (id, id[:6]):
        shown = home.run("show", name).text
        assert shown.startswith("Login bug\n")
        assert "The token expires." in shown
    last = json.loads(home.run("show", id, "-n", "1", "--json").text)
    assert [turn["content"] for turn in last["turns"]] == ["The token expires."]
    assert snapshot(home.cli.home / ".claude") == before
    assert not (home.cli.home / "state").exists()


def test_it_is_exported_with_the_records_of_the_tool(home: ToolHome) -> None:
    session = json.loads(home.run("export", OWN[:8], "--format", "json").text)
    assert (session["tool"], session["origin"], session["cwd"]) == ("claude", OWN, str(home.project))
    assert session["own_turns"]["main"][0]["native"]["records"][0]["uuid"] == f"{OWN}-0"
    assert home.run("export", OWN).text.startswith("# Login bug\n")


def test_it_is_forked_into_a_session_of_the_store(home: ToolHome) -> None:
    id = home.run("fork", OWN[:8], "--new", "--at", "1", "--title", "Again").text.strip()
    copy = home.library.load(id)
    assert (copy.title, home.said(id)) == ("Again", ["Why does login fail?"])
    assert {"tool", "origin"} & set(copy.extra) == set()


def test_an_answer_that_is_being_written_is_shown_as_far_as_it_goes(home: ToolHome) -> None:
    (path,) = home.cli.home.glob(".claude/projects/*/*.jsonl")
    with path.open("ab") as file:
        file.write(b'{"type":"us')
    shown = home.run("show", OWN)
    assert "The token expires." in shown.text
    assert shown.complaint.endswith("line 4: it is truncated\n")


def test_what_the_store_has_comes_first(home: ToolHome) -> None:
    with home.library.create(id=f"{OWN[:8]}-of-ours") as live:
        live.add("user", "Ours")
    assert "Ours" in home.run("show", OWN[:8]).text
    assert "The token expires." in home.run("show", OWN).text


def test_a_call_that_names_a_store_looks_nowhere_else(home: ToolHome) -> None:
    assert "there is no session" in home.cli.refuses(3, "show", OWN)
    assert "no session" in home.run("show", OWN, "--store", f"journal:{home.cli.home}/other", code=3).complaint


def test_a_beginning_that_several_sessions_share_names_them(home: ToolHome) -> None:
    other = f"{OWN[:-1]}2"
    home.store_session("Hello", id=other)
    for verb in ("show", "export", "resume"):
        assert "could be any of 2 sessions: 0002 (Hello), 0001 (Login bug)" in home.run(verb, OWN[:8], code=3).complaint


def test_a_session_without_a_word_in_it_is_told(home: ToolHome) -> None:
    home.store_session(id="0dd", title="Nothing yet")
    assert "claude session 0dd contains nothing readable" in home.run("show", "0dd", code=3).complaint


# ── Gone on with ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_resumed_it_goes_on_in_its_own_tool_where_it_was_held(home: ToolHome) -> None:
    done = home.run("resume", OWN[:8], said="And logout?")
    assert done.text == "I was told 2 messages. \n"
    assert done.complaint == f"segue: claude continues its own session {OWN}\n"
    shown = home.run("show", OWN).text
    assert shown.index("The token expires.") < shown.index("And logout?") < shown.index("I was told 2 messages.")
    assert not (home.cli.home / "state").exists()


def test_the_command_for_that_can_be_printed(home: ToolHome) -> None:
    done = home.run("resume", OWN, "--print", "--with", "claude")
    assert done.text == f"cd {home.project} && {home.bin}/claude --resume {OWN}\n"
    assert home.run("resume", OWN, "--print").text == done.text


def test_where_its_folder_is_gone_it_goes_on_here(home: ToolHome) -> None:
    home.store_session("Hello", cwd="/nowhere/at/all")
    done = home.run("resume", OWN, "--print")
    assert done.text.startswith(f"cd {home.cli.home} && ")
    assert "/nowhere/at/all does not exist any more" in done.complaint


def test_with_another_tool_it_is_copied_handed_over_and_comes_back(home: ToolHome) -> None:
    move_in(home.cli.home, "codex")
    before = snapshot(home.cli.home / ".codex")
    done = home.run("resume", CODEX[:8], "--with", "claude", said="And now?")
    copy = f"codex-{CODEX}"
    assert f"imported from codex as {copy}: 4 turns" in done.complaint
    assert "handed over to claude, nothing lost" in done.complaint
    assert "imported 2 turns from claude" in done.complaint
    assert home.said(copy)[4] == "And now?"
    again = home.run("resume", CODEX[:8], "--with", "claude", said="Really?")
    assert f"imported from codex as {copy}: nothing new" in again.complaint
    assert "claude continues its existing session" in again.complaint
    assert len(home.said(copy)) == 8
    assert snapshot(home.cli.home / ".codex") == before


def test_with_an_agent_it_goes_on_here(home: ToolHome) -> None:
    before = snapshot(home.cli.home / ".claude")
    done = home.run("resume", OWN, "--agent", "offline", said="It expires on Mondays.\n")
    assert f"imported from claude as claude-{OWN}: 2 turns" in done.complaint
    assert home.said(f"claude-{OWN}")[:3] == ["Why does login fail?", "The token expires.", "It expires on Mondays."]
    assert snapshot(home.cli.home / ".claude") == before


def test_what_its_own_tool_cannot_go_on_with_goes_on_here(home: ToolHome) -> None:
    move_in(home.cli.home, "llm")
    id = json.loads(home.run("list", "--tool", "llm", "--json").text)[0]["id"]
    done = home.run("resume", id, said="And now?\n")
    assert f"imported from llm as llm-{id}" in done.complaint
    assert "And now?" in home.said(f"llm-{id}")


def test_words_that_are_short_are_no_ids(home: ToolHome) -> None:
    with home.library.create(id="fixing", title="Fix 0b1") as live:
        live.add("user", "Hello")
    done = home.run("resume", OWN[:3], "--agent", "offline", said="/exit\n")
    assert "Fix 0b1 · 1 turn" in done.complaint


def test_enter_in_the_picker_opens_the_tool(home: ToolHome) -> None:
    home.install("claude", 'echo "Here is $0 with $*"')
    argv = [sys.executable, "-m", "segue"]
    with PtyProcess(argv, env=home.cli.environment(**home.env), cwd=home.cli.home) as person:
        person.wait_for("Login bug")
        person.type("\r")
        person.wait_for(f"claude continues its own session {OWN}")
        person.wait_for(f"/claude with --resume {OWN}")
        assert person.end() == 0


def test_a_chat_lists_completes_and_resumes_what_segue_list_shows(home: ToolHome) -> None:
    other = f"journal:{home.cli.home / 'other'}"
    home.configure(f'stores = ["{other}"]\n')
    with segue.open(other).create(id="away", title="Elsewhere", agent="offline") as live:
        live.add("user", "Over there")
        live.add("assistant", "Over here")
    copy, before = f"claude-{OWN}", snapshot(home.cli.home / ".claude")
    with ChatProcess(home.cli, "chat", "--id", "talk", "--agent", "offline", **home.env) as seat:
        seat.wait_for("offline>")
        seat.type("/resume login")
        seat.wait_for("claude · Login bug")
        seat.type("\t")
        seat.wait_for(OWN)
        seat.type("\x15")
        seat.enter("/list")
        seat.wait_for(" 1  talk · 0 turns · ")
        seat.wait_for(" · this one")
        seat.wait_for(" 2  Elsewhere · 2 turns")
        seat.wait_for(" 3  Login bug · 2 turns · ")
        seat.wait_for(" · claude\n")
        seat.enter("/resume 3")
        seat.wait_for(f"imported from claude as {copy}: 2 turns")
        seat.wait_for(f"now in session {copy}, with 2 turns")
        seat.wait_for("The token expires.")
        seat.wait_for("claude>")
        seat.enter("/agent offline")
        seat.wait_for("offline>")
        seat.enter("/list bug")
        seat.wait_for(" 1  Login bug · 2 turns · ")
        seat.wait_for(" · this one\n")
        seat.wait_for("offline>")
        seat.enter("/resume away")
        seat.wait_for("now in session away, with 2 turns")
        seat.wait_for("(resume with: segue resume")
        seat.wait_for("Over here")
        seat.wait_for("claude>")
        seat.enter("/resume -")
        seat.wait_for(f"now in session {copy}, with 2 turns; away is paused")
        seat.wait_for("--store")
        seat.wait_for("offline>")
        with segue.open(other).resume("away"):
            seat.enter("/resume away")
            seat.wait_for("Continue in a copy of it? [Y/n]")
            seat.enter("")
            seat.wait_for("a copy of away with 2 turns, which stays as it is")
            seat.wait_for("claude>")
        seat.enter("exit")
        assert seat.end() == 0
    assert home.said(copy) == ["Why does login fail?", "The token expires."]
    assert [head.turn_count for head in segue.open(other).list()] == [2, 2]
    assert snapshot(home.cli.home / ".claude") == before


def test_lines_of_a_list_mean_the_same_before_a_chat_in_it_and_after_it(home: ToolHome) -> None:
    home.store_session("Unrelated", "Quite.", id=f"{OWN[:-1]}2", title="Later", at="2026-01-06T09:30:00.000Z")
    home.run("list")
    done = home.run("chat", "--agent", "offline", said="/resume @2\n/list later\n/exit\n")
    assert f"imported from claude as claude-{OWN}: 2 turns\n" in done.complaint
    assert home.run("show", "@1").text.startswith("Later\n")
    done = home.run("chat", "--agent", "offline", said=f"/resume {OWN[:-1]}\n1\n/exit\n")  # one of them is a copy now
    assert [line.split(" · ")[0] for line in done.text.splitlines()] == [" 1  Login bug", " 2  Later"]
    assert f"now in session claude-{OWN}, with 2 turns" in done.complaint


@pytest.mark.parametrize(
    ("words", "code", "complaint"),
    [
        (("resume", OWN), 2, "stdin is not a terminal, so claude needs a message"),
        (("resume", OWN, "--from", "claude"), 3, "is a session of claude, and was not handed over"),
        (("resume", "f00dfeed"), 3, "no session"),
    ],
)
def test_mistakes_are_told_in_one_line(home: ToolHome, words: tuple[str, ...], code: int, complaint: str) -> None:
    with home.library.create(id="other"):
        pass
    done = home.run(*words, code=code)
    assert complaint in done.complaint
    assert done.complaint.count("\n") == 1


def test_a_tool_that_is_not_installed_is_told_before_anything_is_done(home: ToolHome) -> None:
    (home.bin / "claude").unlink()
    assert "claude is not on the PATH" in home.run("resume", OWN, said="Hello", code=3).complaint


# ── One conversation, one line ───────────────────────────────────────────────────────────────────────────────────────


def lines(home: ToolHome, *words: str) -> list[str]:
    return [line.split("\t")[0] for line in home.run(*words).text.splitlines()]


def test_a_conversation_is_one_line_wherever_it_is_and_none_of_its_copies_is_imported(home: ToolHome) -> None:
    copy = f"claude-{OWN}"
    home.run("resume", OWN, "--agent", "offline", said="It expires on Mondays.\n")
    home.store_session("Why does login fail?", "The token expires.", "And a zebra?", title="Login bug")
    shown = home.cli.at_terminal("search", "zebra", **{**home.env, "NO_COLOR": "1"}).end().text
    assert "user, turn 3, in claude" in shown
    assert "also in Claude Code" in shown
    assert f"\n  segue import claude {OWN}\n" in shown
    home.run("import", "claude", OWN)
    assert lines(home, "list") == lines(home, "search", "token") == [copy]
    home.run("resume", copy, "--with", "claude", said="And logout?")
    home.run("add", copy, "Said here")
    home.run("resume", copy, "--with", "claude", said="And now?")  # in another new session of the tool
    (listed,) = json.loads(home.run("list", "--json").text)
    assert (listed["id"], len(listed["copies"])) == (copy, 3)
    assert {one["tool"] for one in listed["copies"]} == {"claude"}
    assert lines(home, "list", "--tool", "claude") == lines(home, "search", "logout") == [copy]
    assert home.run("import", "claude", "--all").text == f"{copy}: nothing new\n"
    (native_id, *_) = (one["id"] for one in listed["copies"] if one["id"] != OWN)
    refused = home.run("import", "claude", native_id, code=2).complaint
    assert f"is a copy of session {copy}, which is in the store" in refused
    assert (
        f"is a copy of session {copy}" in home.run("resume", native_id, "--agent", "offline", said="/exit\n").complaint
    )
    home.run("delete", copy, "--yes")
    assert len(lines(home, "list")) == 1  # the last of its copies speaks for the others


def test_a_command_that_is_printed_again_is_for_the_same_session(home: ToolHome) -> None:
    with home.library.create(id="login") as live:
        live.add("user", "Why?")
    before = set(home.cli.home.glob(".claude/projects/*/*.jsonl"))
    printed = {home.run("resume", "login", "--with", "claude", "--print").text for _ in range(3)}
    assert len(printed) == len(set(home.cli.home.glob(".claude/projects/*/*.jsonl")) - before) == 1
    home.run("add", "login", "Said here")
    assert home.run("resume", "login", "--with", "claude", "--print").text not in printed
    assert sorted(lines(home, "list")) == sorted([OWN, "login"])


def test_a_copy_continues_in_the_session_of_which_it_is_a_copy_while_that_is_up_to_date(home: ToolHome) -> None:
    copy = f"claude-{OWN}"
    home.run("import", "claude", OWN)
    before = set(home.cli.home.glob(".claude/projects/*/*.jsonl"))
    done = home.run("resume", copy, "--with", "claude", said="And logout?")
    assert f"claude starts in {home.project}, the folder of this session" in done.complaint
    assert "claude continues its existing session, which is up to date" in done.complaint
    assert "imported 2 turns from claude" in done.complaint
    assert set(home.cli.home.glob(".claude/projects/*/*.jsonl")) == before
    assert lines(home, "list") == [copy]
    assert home.run("import", "claude", "--all").text.startswith(f"{copy}: nothing new")
    assert len(home.said(copy)) == 4


def test_what_was_handed_over_is_not_imported_with_a_store_that_was_moved_or_with_another(home: ToolHome) -> None:
    with home.library.create(id="login") as live:
        live.add("user", "Why?")
    home.run("resume", "login", "--with", "claude", "--print")
    sessions = home.cli.home / "state" / "segue" / "sessions"
    moved = home.cli.home / "moved"
    sessions.rename(moved)
    assert home.run("import", "claude", "--all", "--store", f"journal:{moved}").text == f"claude-{OWN}: 2 turns\n"
    other = f"journal:{home.cli.home}/other"
    (home.cli.home / "state" / "segue" / "trust" / "links.jsonl").unlink()
    assert home.run("import", "claude", "--all", "--store", other).text == f"claude-{OWN}: 2 turns\n"
    assert [head.id for head in segue.open(other).list()] == [f"claude-{OWN}"]
    next(home.cli.home.rglob(f"{OWN}.jsonl")).unlink()
    told = home.run("import", "claude", "--all", "--store", other).complaint
    assert "claude has only copies of sessions in the store in" in told


# ── Where a tool starts ──────────────────────────────────────────────────────────────────────────────────────────────


def test_a_tool_starts_in_the_folder_of_the_session_if_the_user_has_used_it(home: ToolHome) -> None:
    argv = [sys.executable, "-m", "segue", "new", "--id", "mine"]
    subprocess.run(argv, env=home.cli.environment(**home.env), cwd=home.project, check=True, capture_output=True)
    home.run("add", "mine", "Why?")
    done = home.run("resume", "mine", "--with", "claude", "--print")
    assert done.text.startswith(f"cd {home.project} && ")
    assert f"segue: claude starts in {home.project}, the folder of this session\n" in done.complaint


def test_a_session_of_strangers_does_not_decide_where_a_tool_starts(home: ToolHome) -> None:
    with home.library.create(id="theirs", extra={"cwd": str(home.project)}) as live:
        live.add("user", "Why?")
    done = home.run("resume", "theirs", "--with", "claude", "--print")
    assert done.text.startswith(f"cd {home.cli.home} && ")
    reason = f"this session names the folder {home.project}, which you have not used with Segue"
    assert f"segue: {reason}; claude starts in {home.cli.home}\n" in done.complaint
    seat = home.cli.at_terminal("resume", "theirs", "--with", "claude", "--print", **home.env)
    seat.wait_for("Start claude there? [y/N]")
    seat.type("y\r")
    assert f"cd {home.project} && " in seat.end().text
    assert home.run("resume", "theirs", "--with", "claude", "--print").text.startswith(f"cd {home.project} && ")


def test_where_the_folder_of_a_session_is_gone_the_user_decides(home: ToolHome) -> None:
    with home.library.create(id="old", extra={"cwd": "/nowhere/at/all"}) as live:
        live.add("user", "Why?")
    done = home.run("resume", "old", "--with", "claude", "--print")
    assert "/nowhere/at/all, the folder of this session, does not exist here\n" in done.complaint
    assert f"segue: claude starts in {home.cli.home}\n" in done.complaint
    seat = home.cli.at_terminal("resume", "old", "--with", "claude", "--print", **home.env)
    seat.wait_for(f"Start claude in {home.cli.home}? [y/N]")
    seat.type("n\r")
    assert seat.end().code == 1


OLD_RELEASE = """
case "$*" in *--no-session-persistence*) echo "error: unknown option '--no-session-persistence'" >&2; exit 1;; esac
for word; do case "$word" in --session-id=*) id="${word#--session-id=}";; esac; done
record='{"type":"user","uuid":"1","timestamp":"2026-01-05T09:30:00Z","message":{"role":"user","content":"So far"}}'
mkdir -p "$HOME/.claude/projects/-x" && echo "$record" > "$HOME/.claude/projects/-x/$id.jsonl"
echo "An answer."
"""


@pytest.mark.parametrize("script", ['[ "$*" = "-p --no-session-persistence" ] && echo "An answer."', OLD_RELEASE])
def test_a_tool_that_answers_as_an_agent_leaves_no_entries_of_its_own(home: ToolHome, script: str) -> None:
    home.install("claude", script)
    said = "Why?\nWhy not?\nAnd now?\n"
    assert home.run("chat", "--agent", "claude", "--id", "talk", said=said).text.count("An answer.") == 3
    assert sorted(lines(home, "list")) == sorted([OWN, "talk"])
    assert lines(home, "search", "far") == []
    assert home.run("import", "claude", "--all").text == f"claude-{OWN}: 2 turns\n"


# ── All of it is text of strangers ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "call",
    [
        ("list",),
        ("list", "--json"),
        ("search", "clipboard"),
        ("show", OWN),
        ("show", OWN, "--markdown"),
        ("show", OWN, "-n", "1"),
        ("show", OWN, "--json"),
        ("export", OWN),
        ("export", OWN, "--format", "jsonl"),
        ("resume", OWN, "--print"),
        ("resume", OWN, "--with", "claude"),
        ("resume", OWN, "--with", "parrot {}", "--print"),
        ("import", "claude", "--all"),
    ],
    ids=" ".join,
)
def test_at_a_terminal_no_control_character_of_a_tool_gets_through(home: ToolHome, call: tuple[str, ...]) -> None:
    attack = "\n".join(ATTACKS)
    evil = home.cli.home / "evil\x1b]0;owned\x07\nfolder"
    evil.mkdir()
    home.store_session(attack, attack, title=attack, cwd=str(evil))
    home.install("claude", "exit 0")
    home.install("parrot", "exit 0")
    done = home.cli.at_terminal(*call, **home.env).end()
    assert obeyed(done.out) == []
    assert b"Traceback" not in done.out
    assert not any("owned" in name for name in os.listdir(home.cli.home) if not name.startswith("evil"))


def test_the_file_of_a_session_may_be_called_anything(home: ToolHome) -> None:
    (path,) = home.cli.home.glob(".claude/projects/*/*.jsonl")
    path.rename(path.with_name("--evil \x1b[31m.jsonl"))
    for call in (("list",), ("show", "--", "--evil"), ("resume", "--", "--evil \x1b[31m")):
        done = home.cli.at_terminal(*call, **home.env).end()
        assert obeyed(done.out) == []
        assert b"Traceback" not in done.out
    assert "is not the id of a session" in home.run("resume", "--", "--evil", said="Hello", code=2).complaint


def test_the_corpus_of_every_tool_is_shown_in_place(home: ToolHome) -> None:
    move_in(home.cli.home)
    entries = json.loads(home.run("list", "--json").text)
    assert {entry["tool"] for entry in entries} == set(INTEGRATIONS)
    for entry in entries:
        shown = json.loads(home.run("show", entry["id"], "--json").text)
        assert (len(shown["turns"]), shown["title"]) == (entry["turn_count"], entry["title"])
    assert CLAUDE in {entry["id"] for entry in entries}

"""Sessions that AI tools keep, by their ids: shown and exported where they are, and gone on with."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import segue
from tests.cli.test_hostile import ATTACKS, obeyed
from tests.support.integration_homes import CLAUDE, CODEX, PLACES, move_in, snapshot
from tests.support.pty import PtyProcess

if TYPE_CHECKING:
    from segue.library import Library
    from tests.support.cli import Result, Segue

SCRIPTED = Path(__file__).resolve().parents[1] / "support" / "scripted_tool.py"
OWN = "0b1ec7ed-0000-4000-8000-000000000001"
AT = "2026-01-05T09:30:00.000Z"


class House:
    """A home where AI tools are installed and have kept sessions, and no store is named."""

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

    def keep(self, *said: str, id: str = OWN, title: str = "", cwd: str = "") -> None:
        """A session of Claude Code, held in the project."""
        records: list[dict[str, object]] = []
        for number, text in enumerate(said):
            role = "assistant" if number % 2 else "user"
            message = {"role": role, "id": f"m{number}", "content": [{"type": "text", "text": text}]}
            head = {"type": role, "uuid": f"{id}-{number}", "parentUuid": f"{id}-{number - 1}" if number else None}
            records.append({**head, "timestamp": AT, "cwd": cwd or str(self.project), "message": message})
        if title:
            records.append({"type": "custom-title", "customTitle": title})
        slug = re.sub(r"[^A-Za-z0-9]", "-", str(self.project))
        path = self.cli.home / ".claude" / "projects" / slug / f"{id}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")

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
def house(cli: Segue) -> House:
    found = House(cli)
    found.keep("Why does login fail?", "The token expires.", title="Login bug")
    return found


# ── Read where they are ──────────────────────────────────────────────────────────────────────────────────────────────


def test_a_session_of_a_tool_is_shown_by_the_id_that_a_listing_shows_and_nothing_is_copied(house: House) -> None:
    before = snapshot(house.cli.home / ".claude")
    (line,) = house.run("list").text.splitlines()
    id = line.split("\t")[0]
    for name in (id, id[:6]):
        shown = house.run("show", name).text
        assert shown.startswith("Login bug\n")
        assert "The token expires." in shown
    last = json.loads(house.run("show", id, "--last", "1", "--json").text)
    assert [turn["content"] for turn in last["turns"]] == ["The token expires."]
    assert snapshot(house.cli.home / ".claude") == before
    assert not (house.cli.home / "state").exists()


def test_it_is_exported_with_the_records_of_the_tool(house: House) -> None:
    session = json.loads(house.run("export", OWN[:8], "--format", "json").text)
    assert (session["tool"], session["origin"], session["cwd"]) == ("claude", OWN, str(house.project))
    assert session["own_turns"]["main"][0]["native"]["records"][0]["uuid"] == f"{OWN}-0"
    assert house.run("export", OWN).text.startswith("# Login bug\n")


def test_an_answer_that_is_being_written_is_shown_as_far_as_it_goes(house: House) -> None:
    (path,) = house.cli.home.glob(".claude/projects/*/*.jsonl")
    with path.open("ab") as file:
        file.write(b'{"type":"us')
    shown = house.run("show", OWN)
    assert "The token expires." in shown.text
    assert shown.complaint.endswith("line 4: it is truncated\n")


def test_what_the_store_has_comes_first(house: House) -> None:
    with house.library.create(id=f"{OWN[:8]}-of-ours") as live:
        live.add("user", "Ours")
    assert "Ours" in house.run("show", OWN[:8]).text
    assert "The token expires." in house.run("show", OWN).text


def test_a_call_that_names_a_store_looks_nowhere_else(house: House) -> None:
    assert "there is no session" in house.cli.refuses(3, "show", OWN)
    assert "no session" in house.run("show", OWN, "--store", f"journal:{house.cli.home}/other", code=3).complaint


def test_a_beginning_that_several_sessions_share_names_them(house: House) -> None:
    other = f"{OWN[:-1]}2"
    house.keep("Hello", id=other)
    for verb in ("show", "export", "resume"):
        assert f"could be any of 2 sessions: {OWN}, {other}" in house.run(verb, OWN[:8], code=3).complaint


def test_a_session_without_a_word_in_it_is_told(house: House) -> None:
    house.keep(id="0dd", title="Nothing yet")
    assert "claude session 0dd contains nothing readable" in house.run("show", "0dd", code=3).complaint


# ── Gone on with ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_resumed_it_goes_on_in_its_own_tool_where_it_was_held(house: House) -> None:
    done = house.run("resume", OWN[:8], said="And logout?")
    assert done.text == "I was told 2 messages. \n"
    assert done.complaint == f"segue: claude continues its own session {OWN}\n"
    shown = house.run("show", OWN).text
    assert shown.index("The token expires.") < shown.index("And logout?") < shown.index("I was told 2 messages.")
    assert not (house.cli.home / "state").exists()


def test_the_command_for_that_can_be_printed(house: House) -> None:
    done = house.run("resume", OWN, "--print", "--with", "claude")
    assert done.text == f"cd {house.project} && {house.bin}/claude --resume {OWN}\n"
    assert house.run("resume", OWN, "--print").text == done.text


def test_where_its_folder_is_gone_it_goes_on_here(house: House) -> None:
    house.keep("Hello", cwd="/nowhere/at/all")
    done = house.run("resume", OWN, "--print")
    assert done.text.startswith(f"cd {house.cli.home} && ")
    assert "/nowhere/at/all does not exist any more" in done.complaint


def test_with_another_tool_it_is_copied_handed_over_and_comes_back(house: House) -> None:
    move_in(house.cli.home, "codex")
    before = snapshot(house.cli.home / ".codex")
    done = house.run("resume", CODEX[:8], "--with", "claude", said="And now?")
    copy = f"codex-{CODEX}"
    assert f"imported from codex as {copy}: 4 turns" in done.complaint
    assert "handed over to claude, nothing lost" in done.complaint
    assert "imported 2 turns from claude" in done.complaint
    assert house.said(copy)[4] == "And now?"
    again = house.run("resume", CODEX[:8], "--with", "claude", said="Really?")
    assert f"imported from codex as {copy}: nothing new" in again.complaint
    assert "claude continues its existing session" in again.complaint
    assert len(house.said(copy)) == 8
    assert snapshot(house.cli.home / ".codex") == before


def test_with_an_agent_it_goes_on_here(house: House) -> None:
    before = snapshot(house.cli.home / ".claude")
    done = house.run("resume", OWN, "--agent", "offline", said="It expires on Mondays.\n")
    assert f"imported from claude as claude-{OWN}: 2 turns" in done.complaint
    assert house.said(f"claude-{OWN}")[:3] == ["Why does login fail?", "The token expires.", "It expires on Mondays."]
    assert snapshot(house.cli.home / ".claude") == before


def test_what_its_own_tool_cannot_go_on_with_goes_on_here(house: House) -> None:
    move_in(house.cli.home, "llm")
    id = json.loads(house.run("list", "--tool", "llm", "--json").text)[0]["id"]
    done = house.run("resume", id, said="And now?\n")
    assert f"imported from llm as llm-{id}" in done.complaint
    assert "And now?" in house.said(f"llm-{id}")


def test_words_that_are_short_are_no_ids(house: House) -> None:
    with house.library.create(id="fixing", title="Fix 0b1") as live:
        live.add("user", "Hello")
    done = house.run("resume", OWN[:3], "--agent", "offline", said="/exit\n")
    assert "Fix 0b1 · 1 turn" in done.complaint


def test_enter_in_the_picker_opens_the_tool(house: House) -> None:
    house.install("claude", 'echo "Here is $0 with $*"')
    argv = [sys.executable, "-m", "segue"]
    with PtyProcess(argv, env=house.cli.environment(**house.env), cwd=house.cli.home) as person:
        person.wait_for("Login bug")
        person.type("\r")
        person.wait_for(f"claude continues its own session {OWN}")
        person.wait_for(f"/claude with --resume {OWN}")
        assert person.end() == 0


@pytest.mark.parametrize(
    ("words", "code", "complaint"),
    [
        (("resume", OWN), 2, "stdin is not a terminal, so claude needs a message"),
        (("resume", OWN, "--from", "claude"), 3, "no session matches"),
        (("resume", "f00dfeed"), 3, "no session"),
    ],
)
def test_mistakes_are_told_in_one_line(house: House, words: tuple[str, ...], code: int, complaint: str) -> None:
    with house.library.create(id="other"):
        pass
    done = house.run(*words, code=code)
    assert complaint in done.complaint
    assert done.complaint.count("\n") == 1


def test_a_tool_that_is_not_installed_is_told_before_anything_is_done(house: House) -> None:
    (house.bin / "claude").unlink()
    assert "claude is not on the PATH" in house.run("resume", OWN, said="Hello", code=3).complaint


# ── All of it is text of strangers ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "call",
    [
        ("list",),
        ("list", "--json"),
        ("search", "clipboard"),
        ("show", OWN),
        ("show", OWN, "--markdown"),
        ("show", OWN, "--last", "1"),
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
def test_at_a_terminal_no_control_character_of_a_tool_gets_through(house: House, call: tuple[str, ...]) -> None:
    attack = "\n".join(ATTACKS)
    evil = house.cli.home / "evil\x1b]0;owned\x07\nfolder"
    evil.mkdir()
    house.keep(attack, attack, title=attack, cwd=str(evil))
    house.install("claude", "exit 0")
    house.install("parrot", "exit 0")
    done = house.cli.at_terminal(*call, **house.env).end()
    assert obeyed(done.out) == []
    assert b"Traceback" not in done.out
    assert not any("owned" in name for name in os.listdir(house.cli.home) if not name.startswith("evil"))


def test_the_file_of_a_session_may_be_called_anything(house: House) -> None:
    (path,) = house.cli.home.glob(".claude/projects/*/*.jsonl")
    path.rename(path.with_name("--evil \x1b[31m.jsonl"))
    for call in (("list",), ("show", "--", "--evil"), ("resume", "--", "--evil \x1b[31m")):
        done = house.cli.at_terminal(*call, **house.env).end()
        assert obeyed(done.out) == []
        assert b"Traceback" not in done.out
    assert "is not the id of a session" in house.run("resume", "--", "--evil", said="Hello", code=2).complaint


def test_the_corpus_of_every_tool_is_shown_in_place(house: House) -> None:
    move_in(house.cli.home)
    entries = json.loads(house.run("list", "--json").text)
    assert {entry["tool"] for entry in entries} == set(PLACES)
    for entry in entries:
        shown = json.loads(house.run("show", entry["id"], "--json").text)
        assert (len(shown["turns"]), shown["title"]) == (entry["turn_count"], entry["title"])
    assert CLAUDE in {entry["id"] for entry in entries}

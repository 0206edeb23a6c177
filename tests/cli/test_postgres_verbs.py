"""Every verb works on a store in Postgres as it does on files: the life of a session, from its first turn on."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import segue

if TYPE_CHECKING:
    from tests.support.cli import Segue
    from tests.support.postgres import PostgresServer

SCRIPTED = Path(__file__).resolve().parents[1] / "support" / "scripted_tool.py"


@pytest.fixture
def team(cli: Segue, postgres_url: str) -> Segue:
    """The command with a store in Postgres."""
    cli.store = postgres_url
    return cli


@pytest.fixture
def login(team: Segue) -> str:
    team.ok("new", "--id", "login", "--title", "Login bug")
    team.ok("add", "login", "Why does login fail?")
    team.ok("add", "login", "--role", "assistant", "The token expires.")
    return "login"


def test_a_session_is_recorded_organized_branched_and_ended(team: Segue, login: str) -> None:
    team.ok("tag", login, "web")
    team.ok("rename", login, "Login fails")
    assert team.ok("fork", login, "--at", "1", "--name", "idea") == "idea\n"
    team.ok("add", login, "Another idea?")
    team.ok("switch", login, "main")
    assert "main and idea part after turn 1" in team.ok("diff", login, "main", "idea")
    assert "└─ idea  1 turn after 1 of main" in team.ok("tree", login)
    assert [line.split("\t")[1] for line in team.ok("branches", login).splitlines()] == ["main", "idea"]
    team.ok("complete", login)
    assert "it stays completed" in team.call("resume", login).complaint
    team.ok("reopen", login)
    team.ok("pause", login)
    assert "The token expires." in team.ok("show", login)
    assert "Login fails" in team.ok("list", "--tag", "web", "--status", "paused")
    assert "The token expires." in team.ok("search", "token")
    assert "The token expires." in team.ok("tail", login, "-n", "1")
    assert team.ok("verify") == "1 session is sound\n"


def test_what_is_exported_is_imported_again(team: Segue, login: str) -> None:
    team.ok("export", "--all", "out")
    before = team.ok("show", login)
    team.ok("delete", login, "--for-good", "--yes")
    assert team.ok("import", "out/login.json") == "login: 2 turns\n"
    assert team.ok("import", "out/login.json") == "login: already in the store, nothing new\n"
    assert team.ok("show", login) == before


def test_what_is_deleted_or_cleaned_is_in_the_trash(team: Segue, login: str) -> None:
    assert team.ok("clean", "--older-than", "1h", "--yes") == "deleted 0 sessions without activity for 1h\n"
    team.ok("delete", login, "--yes")
    assert team.ok("trash", "list").split("\t")[:2] == ["login", "Login bug"]
    assert team.ok("trash", "restore", login) == "restored login\n"
    assert len(team.library.load(login).turns) == 2


def test_a_damaged_session_is_found_and_recovered(
    team: Segue, login: str, postgres_server: PostgresServer, postgres_schema: str
) -> None:
    spoil = "UPDATE {s}.events SET body = overlay(body PLACING 'X'::bytea FROM 60) WHERE seq = 4"
    postgres_server.execute(spoil.replace("{s}", postgres_schema))
    shown = team.call("show", login)
    assert (shown.code, "The token expires." in shown.text) == (5, False)
    assert "segue recover login" in shown.complaint
    assert team.call("verify").code == 5
    assert "in the trash" in team.ok("recover", login, "--yes")
    assert team.ok("verify") == "1 session is sound\n"


def test_sessions_move_there_and_back_with_everything(team: Segue, login: str) -> None:
    team.ok("fork", login, "--at", "1", "--name", "idea")
    with team.library.open(login) as live:
        live.attach("notes.txt", b"Refresh early\n")
    url, journal = team.store, f"journal:{team.home}/laptop"
    assert team.ok("convert", "--all", "--to", journal).splitlines() == [
        "login: copied 6 of 6 events, verified, nothing lost",
        "copied or completed 1 of 1 sessions, nothing lost",
    ]
    team.ok("add", login, "And logout?", "--store", journal)
    told = team.ok("convert", "--all", "--store", journal, "--to", url, "--json")
    assert json.loads(told) == {"id": "login", "events": 7, "added": 1, "blobs": 1, "losses": []}
    assert team.library.load(login) == segue.open(journal).load(login)
    assert team.ok("convert", "--all", "--to", journal).splitlines() == [
        "login: already up to date, verified, nothing lost",
        "copied or completed 0 of 1 sessions, nothing lost",
    ]


def test_moving_shows_how_far_it_is_at_a_terminal(team: Segue, login: str) -> None:
    team.ok("new", "--id", "other")
    terminal = team.at_terminal("convert", "--all", "--to", f"journal:{team.home}/laptop")
    done = terminal.end()
    assert (done.code, login in done.text) == (0, True)
    assert "1 of 2 sessions" in done.text


def test_a_session_is_handed_over_to_an_ai_tool_and_its_replies_come_back(team: Segue, login: str) -> None:
    tool = team.home / "bin" / "claude"
    tool.parent.mkdir()
    tool.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {shlex.quote(str(SCRIPTED))} "$@"\n')
    tool.chmod(0o700)
    path = f"{tool.parent}:{team.environment()['PATH']}"
    done = team.run("resume", login, "--with", "claude", stdin=b"And logout?", PATH=path)
    assert (done.code, done.text) == (0, "I was told 2 messages. \n"), done
    assert [turn.content for turn in team.library.load(login).turns][2:] == ["And logout?", "I was told 2 messages. "]
    assert team.library.load(login).status == "paused"


def test_a_chat_is_recorded_there_and_resumed(team: Segue) -> None:
    url, store = team.store, ("--store", team.store)
    team.store = f"journal:{team.home}/unused"
    begun = team.call("chat", "--agent", "offline", *store, stdin=b"I want to fix the login bug\n")
    assert begun.code == 0, begun
    (head,) = segue.open(url).list()
    assert (head.turn_count, head.status) == (2, "paused")
    team.store = url
    resumed = team.call("resume", head.id, stdin=b"The token expires\n")
    assert resumed.code == 0, resumed
    assert segue.open(url).list()[0].turn_count == 4
    assert not (team.home / "unused").exists()

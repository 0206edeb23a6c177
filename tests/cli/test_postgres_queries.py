"""Listing, searching and picking sessions in Postgres from the command line: the database does it, without a copy."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

import segue
from tests.support import warm
from tests.support.cli import Segue
from tests.support.pty import PtyProcess

if TYPE_CHECKING:
    from pathlib import Path

    from segue.library import Library


class PostgresSegue(Segue):
    """The command with a store in Postgres."""

    def __init__(self, home: Path, url: str) -> None:
        super().__init__(home)
        self.store = url


@pytest.fixture
def cli(tmp_path: Path, postgres_url: str) -> PostgresSegue:
    cli = PostgresSegue(tmp_path, postgres_url)
    with cli.library as library:
        _create(library, "qa-20260102-030405-ab3x", "Login bug", "Why does login fail?", "See src/auth/login.py")
        _create(library, "qa-20260102-030406-cd7y", "Überprüfung", "The café is naïve.", "The token expires.")
        _create(library, "dev-20260102-030407-ef9z", "Deploy", "Ship it.", "Done, with a token.")
    return cli


def _create(library: Library, id: str, title: str, question: str, answer: str) -> None:
    with library.create(id=id, title=title, agent=id.partition("-")[0], tags=["team"]) as live:
        live.add("user", question)
        live.add("assistant", answer)


def _ids(text: str) -> list[str]:
    return [line.partition("\t")[0] for line in text.splitlines()]


def _at_screen(cli: Segue, *args: str) -> PtyProcess:
    return PtyProcess([sys.executable, "-m", "segue", *args], env=cli.environment(), cwd=cli.home)


def test_sessions_are_listed_and_filtered(cli: Segue) -> None:
    everything = ["dev-20260102-030407-ef9z", "qa-20260102-030406-cd7y", "qa-20260102-030405-ab3x"]
    assert _ids(cli.ok("list")) == everything
    assert _ids(cli.ok("list", "--limit", "2")) == everything[:2]
    assert _ids(cli.ok("list", "--agent", "dev")) == everything[:1]
    assert _ids(cli.ok("list", "--status", "paused", "--tag", "team")) == everything
    assert _ids(cli.ok("list", "--since", "1h")) == everything
    (entry, *_) = json.loads(cli.ok("list", "--json"))
    assert (entry["turn_count"], entry["title"], entry["store"]) == (2, "Deploy", cli.library.store.url)
    result = cli.call("list", "--until", "1h")
    assert (result.code, result.text) == (0, "")


def test_text_is_found_as_in_a_journal(cli: Segue, tmp_path: Path) -> None:
    journal = Segue(tmp_path / "copy")
    journal.home.mkdir()
    cli.ok("convert", "--all", "--to", journal.store)
    for text in ("token", "TOK", '"token expires"', "login.py", "src/auth/login.py", "cafe", "ship it"):
        found, expected = (json.loads(one.call("search", text, "--json").text or "[]") for one in (cli, journal))
        assert {one["id"]: (one["found"] | {"in": ""}, one["matches"]) for one in found} == {
            one["id"]: (one["found"] | {"in": ""}, one["matches"]) for one in expected
        }, text


def test_nothing_is_copied_into_the_local_index(cli: Segue) -> None:
    cli.ok("list")
    cli.ok("search", "token")
    cli.ok("add", "ab3x", "another token")
    with closing(sqlite3.connect(cli.home / ".cache" / "segue" / "catalog.sqlite3")) as index:
        for table in ("sessions", "pieces"):
            assert index.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)  # noqa: S608 - ours
    assert _ids(cli.ok("search", "another")) == ["qa-20260102-030405-ab3x"]


def test_a_session_is_found_by_a_part_of_its_id_or_by_words(cli: Segue) -> None:
    for text in ("qa-20260102-030405", "ab3x", "login bug"):
        assert "Why does login fail?" in cli.call("show", text).text
    assert "Why does login fail?" in cli.call("show", "why login fail").text
    assert "cd7y (Überprüfung), ab3x (Login bug)" in cli.refuses(3, "show", "qa-2026")
    assert "qa-20260102-030405-ab3x" in cli.refuses(3, "show", "qa-20260102-030405-ab3q")
    assert "Ship it." in cli.call("show", "--last").text
    cli.ok("list", "--tag", "team")
    assert "The café is naïve." in cli.call("show", "@2").text
    assert "The café is naïve." in cli.call("show", "-").text


def test_a_list_at_a_terminal_has_short_ids_and_numbers(cli: Segue) -> None:
    with _at_screen(cli, "list") as screen:
        screen.wait_for("Login bug")
        screen.end()
    assert "ab3x" in screen.seen
    assert "qa-20260102-030405-ab3x" not in screen.seen


def test_a_list_at_a_terminal_ends_where_nobody_reads_on(cli: Segue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("segue.cli.list.MOST", 2)
    monkeypatch.setattr("segue.console.output.stdout_is_tty", lambda: True)
    result = cli.call("list", PAGER="")
    assert (result.text.count("\n"), "Login bug" in result.text) == (3, False)
    assert result.complaint == "segue: only the 2 sessions that were active last are shown; to show more: --limit N\n"
    result = cli.call("list", "--limit", "3", PAGER="")
    assert ("Login bug" in result.text, result.complaint) == (True, "")


def test_a_session_is_picked(cli: Segue) -> None:
    with _at_screen(cli, "list", "--pick") as screen:
        screen.wait_for("Deploy")
        screen.type("token exp")
        screen.wait_for("Überprüfung")
        screen.type("\x1b\x1b")


def test_what_another_process_records_is_followed(cli: Segue) -> None:
    with warm.Popen(
        [sys.executable, "-m", "segue", "tail", "ef9z", "-n", "1", "-f", "--json"],
        stdout=subprocess.PIPE,
        env=cli.environment(),
        cwd=cli.home,
    ) as follower:
        assert follower.stdout is not None
        assert json.loads(follower.stdout.readline())["content"] == "Done, with a token."
        assert json.loads(follower.stdout.readline())["status"] == "paused"
        cli.ok("add", "ef9z", "And now?")
        assert json.loads(follower.stdout.readline())["content"] == "And now?"
        follower.terminate()


def test_cleaning_asks_the_database_for_old_sessions(cli: Segue) -> None:
    assert "0 sessions" in cli.ok("clean", "--older-than", "1d", "--dry-run")


def test_two_sources_are_merged(cli: Segue, tmp_path: Path) -> None:
    with segue.open(f"journal:{tmp_path}/state/segue/sessions") as library:
        _create(library, "local-1", "Local login", "A token of here.", "Yes.")
    config = cli.home / ".config" / "segue" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f"stores = [{json.dumps(cli.store)}]\n", encoding="utf-8")

    def ok(*args: str) -> str:
        return cli.ok(*args, SEGUE_STORE="", XDG_STATE_HOME=f"{tmp_path}/state")

    assert sorted(_ids(ok("search", "token"))) == [
        "dev-20260102-030407-ef9z",
        "local-1",
        "qa-20260102-030406-cd7y",
    ]
    assert len(_ids(ok("list"))) == 4
    assert _ids(ok("list", "--limit", "1")) == ["local-1"]

"""Deleting and cleaning with undo, at the command line and at a terminal."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

import segue

if TYPE_CHECKING:
    from tests.support.cli import Segue


@pytest.fixture
def old(cli: Segue) -> str:
    """A session without activity for 40 days."""
    return make_old(cli, "old")


def make_old(cli: Segue, id: str, *, days: int = 40, **about: str) -> str:
    then = datetime.now(UTC) - timedelta(days=days)
    with segue.open(cli.store, clock=lambda: then).create(id=id, **about) as live:  # type: ignore[arg-type]
        live.add("user", "Long ago")
    age(cli, f"{id}.jsonl", days)
    return id


def age(cli: Segue, name: str, days: float) -> None:
    then = datetime.now(UTC).timestamp() - days * 86400
    os.utime(cli.root / name, (then, then))


# ── Delete and restore ───────────────────────────────────────────────────────────────────────────────────────────────


def test_what_was_deleted_comes_back_as_it_was(cli: Segue, session: str) -> None:
    before = cli.ok("export", session)
    assert cli.ok("delete", session, "--yes") == "deleted login\n"
    assert "no sessions in" in cli.call("list").complaint
    assert cli.refuses(3, "show", session)
    assert cli.ok("trash", "list").split("\t")[:2] == ["login", "Login bug"]
    assert cli.ok("trash", "restore", "log") == "restored login\n"
    assert cli.ok("export", session) == before
    assert "is empty" in cli.call("trash", "list").complaint


def test_nothing_is_restored_over_another_session(cli: Segue, session: str) -> None:
    cli.ok("delete", session, "--yes")
    cli.ok("new", "--id", session)
    assert "login" in cli.refuses(4, "trash", "restore", session)
    assert "0 turns" in cli.ok("show", session)


def test_for_good_is_for_good_and_also_out_of_the_trash(cli: Segue, session: str) -> None:
    cli.ok("delete", session, "--yes")
    assert cli.ok("delete", session, "--for-good", "--yes") == "deleted login\n"
    assert json.loads(cli.ok("trash", "list", "--json")) == []
    assert "login" in cli.refuses(3, "delete", session, "--for-good", "--yes")


def test_the_trash_is_emptied_only_after_a_yes(cli: Segue, session: str) -> None:
    cli.ok("delete", session, "--yes")
    assert "--yes" in cli.refuses(2, "trash", "empty")
    terminal = cli.at_terminal("trash", "empty")
    terminal.wait_for("in the trash for good? [y/N]")
    terminal.type("\n")
    assert terminal.end().code == 1
    assert cli.ok("trash", "empty", "--older-than", "1d", "--yes").startswith("deleted 0 sessions")
    assert len(json.loads(cli.ok("trash", "list", "--json"))) == 1
    assert cli.ok("trash", "empty", "--yes").startswith("deleted 1 session for good")
    assert not list((cli.root / ".trash").iterdir())


def test_a_store_without_a_trash_says_so_and_a_plain_yes_is_not_enough(cli: Segue) -> None:
    folder = cli.home / "ralph"
    folder.mkdir(mode=0o700)
    store = f"ralph:{folder}/sessions"
    segue.open(store).create(id="loop").close()
    assert "has no trash" in cli.refuses(2, "delete", "loop", "--yes", "--store", store)
    terminal = cli.at_terminal("delete", "loop", "--store", store)
    terminal.wait_for("This store has no trash. Delete loop for good? [y/N]")
    terminal.type("n\n")
    assert terminal.end().code == 1
    assert cli.ok("delete", "loop", "--for-good", "--yes", "--store", store) == "deleted loop\n"


# ── Clean ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_cleaning_shows_what_would_go_and_takes_only_yes_for_yes(cli: Segue, session: str) -> None:
    make_old(cli, "old", title="An old plan")
    terminal = cli.at_terminal("clean", "--older-than", "30d")
    terminal.wait_for("Move 1 session to the trash? [y/N]")
    assert b"old  An old plan \xc2\xb7 last active" in terminal.seen
    assert b"1 turn" in terminal.seen
    terminal.type("\n")
    assert terminal.end().code == 1
    assert sorted(cli.library.store.ids()) == [session, "old"]
    terminal = cli.at_terminal("clean", "--older-than", "30d")
    terminal.wait_for("[y/N]")
    terminal.type("y\n")
    assert terminal.end().code == 0
    assert sorted(cli.library.store.ids()) == [session]
    cli.ok("trash", "restore", "old")
    assert sorted(cli.library.store.ids()) == [session, "old"]


def test_without_a_terminal_and_without_a_yes_nothing_is_cleaned(cli: Segue, old: str) -> None:
    assert "--yes" in cli.refuses(2, "clean", "--older-than", "30d")
    assert list(cli.library.store.ids()) == [old]


@pytest.mark.parametrize("text", ["1m", "5m", "30s", "0d", "59min", "1"])
def test_an_age_in_minutes_cleans_nothing(cli: Segue, old: str, text: str) -> None:
    cli.refuses(2, "clean", "--older-than", text, "--yes")
    assert list(cli.library.store.ids()) == [old]


def test_more_than_fits_is_counted(cli: Segue) -> None:
    for number in range(23):
        make_old(cli, f"old-{number:02}")
    terminal = cli.at_terminal("clean", "--older-than", "30d")
    terminal.wait_for("Move 23 sessions to the trash? [y/N]")
    assert b"and 3 more" in terminal.seen
    terminal.type("n\n")
    assert terminal.end().code == 1
    shown = cli.ok("clean", "--older-than", "30d", "--dry-run").splitlines()
    assert len(shown) == 24
    assert shown[-1] == "would delete 23 sessions without activity for 30d"
    assert len(list(cli.library.store.ids())) == 23


def test_a_pinned_session_is_never_cleaned(cli: Segue, old: str) -> None:
    cli.ok("tag", old, "pinned")
    library = segue.open(cli.store, clock=lambda: datetime.now(UTC) + timedelta(days=400))
    assert [why for _, why in library.clean(timedelta(days=30)).kept] == ["it is pinned"]


def test_only_what_the_filters_choose_is_cleaned(cli: Segue) -> None:
    make_old(cli, "of-qa", agent="qa")
    make_old(cli, "of-dev", agent="dev")
    assert "deleted of-qa" in cli.ok("clean", "--older-than", "30d", "--agent", "qa", "--yes")
    assert list(cli.library.store.ids()) == ["of-dev"]
    assert "--older-than" in cli.refuses(2, "clean", "--agent", "dev", "--yes")


def test_what_was_long_in_the_trash_is_erased_by_the_next_cleaning_that_says_so(cli: Segue, old: str) -> None:
    long_ago = segue.open(cli.store, clock=lambda: datetime.now(UTC) - timedelta(days=31))
    long_ago.discard(old)
    shown = cli.call("clean", "--dry-run")
    assert "would delete 1 session for good that had been in the trash for 30 days or more" in shown.text
    assert "--yes" in cli.refuses(2, "clean")
    assert len(json.loads(cli.ok("trash", "list", "--json"))) == 1
    assert "deleted 1 session for good" in cli.ok("clean", "--yes")
    assert json.loads(cli.ok("trash", "list", "--json")) == []


# ── Activity ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_lines_without_a_time_are_as_young_as_their_file(cli: Segue) -> None:
    cli.root.mkdir()
    (cli.root / "foreign.jsonl").write_text(
        '{"type":"metadata","session_id":"foreign","agent":"x"}\n{"type":"turn","role":"user","content":"Hi"}\n'
    )
    assert "deleted 0 sessions" in cli.ok("clean", "--older-than", "1h", "--yes")
    assert json.loads(cli.ok("list", "--json"))[0]["updated_at"] > "2026"
    age(cli, "foreign.jsonl", 40)
    assert "deleted foreign" in cli.ok("clean", "--older-than", "30d", "--yes")


def test_a_line_without_a_time_that_was_added_today_keeps_an_old_session(cli: Segue, old: str) -> None:
    with (cli.root / f"{old}.jsonl").open("a") as file:
        file.write('{"type":"turn","role":"user","content":"Added by hand"}\n')
    assert "deleted 0 sessions" in cli.ok("clean", "--older-than", "1h", "--yes")
    assert cli.library.list()[0].updated_at > datetime.now(UTC) - timedelta(minutes=5)


def test_a_text_edited_in_emacs_today_keeps_its_session(cli: Segue) -> None:
    store = f"gptel:{cli.home / 'gptel'}"
    then = datetime.now(UTC) - timedelta(days=40)
    with segue.open(store, clock=lambda: then).create(id="api-20200101000000") as live:
        live.add("user", "Long ago")
    tree = cli.home / "gptel" / "api-20200101000000"
    for path in [path for path in tree.rglob("*") if path.is_file()]:
        os.utime(path, (then.timestamp(), then.timestamp()))
    assert "would delete api-20200101000000" in cli.ok("clean", "--older-than", "30d", "--dry-run", "--store", store)
    page = tree / "branches" / "main" / "session.md"
    page.write_text(page.read_text().replace("Long ago", "Long ago, and again"))
    assert "would delete 0 sessions" in cli.ok("clean", "--older-than", "1h", "--dry-run", "--store", store)


def test_a_copy_with_an_old_file_is_as_young_as_what_was_said(cli: Segue, session: str) -> None:
    age(cli, f"{session}.jsonl", 400)
    assert "deleted 0 sessions" in cli.ok("clean", "--older-than", "1h", "--yes")


def test_a_converted_session_is_as_old_as_the_one_it_is_a_copy_of(cli: Segue, old: str) -> None:
    target = f"soleur:{cli.home / 'soleur'}"
    cli.ok("convert", old, "--to", target)
    found = segue.open(target).store.head(old)
    assert abs(found.updated_at - cli.library.store.head(old).updated_at) < timedelta(minutes=1)

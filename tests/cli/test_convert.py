from __future__ import annotations

import json
from typing import TYPE_CHECKING

import segue

if TYPE_CHECKING:
    from tests.support.cli import Segue


def test_a_session_is_copied_whole_and_the_source_stays(cli: Segue, session: str) -> None:
    before = cli.files()
    told = cli.ok("convert", "log", "--to", f"soleur:{cli.home}/archive")
    assert told == "login: copied 4 of 4 events, verified, nothing lost\n"
    assert segue.open(f"soleur:{cli.home}/archive").load(session) == cli.library.load(session)
    assert cli.files() == before


def test_again_only_what_is_missing_is_copied(cli: Segue, session: str) -> None:
    call = ("convert", "--all", "--to", f"gptel:{cli.home}/tree")
    cli.ok(*call)
    cli.ok("add", session, "And logout?")
    cli.ok("new", "--id", "other")
    assert cli.ok(*call).splitlines()[-1] == "copied or completed 2 of 2 sessions, nothing lost"
    assert cli.ok(*call).splitlines() == [
        "login: already up to date, verified, nothing lost",
        "other: already up to date, verified, nothing lost",
        "copied or completed 0 of 2 sessions, nothing lost",
    ]


def test_one_that_is_in_the_way_is_named_and_the_others_are_copied(cli: Segue, session: str) -> None:
    archive = segue.open(f"journal:{cli.home}/archive")
    archive.create(id=session, title="Another").close()
    cli.ok("new", "--id", "other")
    done = cli.call("convert", "--all", "--to", archive.store.url)
    assert (done.code, done.complaint) == (4, "segue: session login: session login exists already\n")
    assert archive.load("other") == cli.library.load("other")
    assert archive.load(session).title == "Another"
    assert "exists already" in cli.refuses(4, "convert", session, "--to", archive.store.url)


def test_as_json_it_is_a_line_a_session(cli: Segue, session: str) -> None:
    told = cli.ok("convert", "--all", "--to", f"journal:{cli.home}/archive", "--json")
    assert [json.loads(line) for line in told.splitlines()] == [
        {"id": session, "events": 4, "added": 4, "blobs": 0, "losses": []}
    ]


def test_mistakes_are_told_and_make_nothing(cli: Segue, session: str) -> None:
    to = ("--to", f"journal:{cli.home}/archive")
    assert "specify a session or --all" in cli.refuses(2, "convert", *to)
    assert "specify a session or --all" in cli.refuses(2, "convert", session, "--all", *to)
    assert "there is no session nowhere" in cli.refuses(3, "convert", "nowhere", *to)
    assert "is the store of the sessions itself" in cli.refuses(2, "convert", session, "--to", cli.store)
    assert "is gone when this command exits" in cli.refuses(2, "convert", session, "--to", "memory:")
    assert "does not name a store" in cli.refuses(2, "convert", session, "--to", "nowhere:x")
    assert not (cli.home / "archive").exists()


# ── Where a session belongs ──────────────────────────────────────────────────────────────────────────────────────────


def test_a_new_session_knows_where_it_began(cli: Segue) -> None:
    cli.ok("new", "--id", "one")
    cli.call("ask", "Why?", "--agent", "offline")
    found = [cli.library.load(head.id).extra for head in cli.library.list()]
    assert found == [{"cwd": str(cli.home), "project": str(cli.home)}] * 2


def test_relinked_sessions_belong_to_where_their_folder_is_now(cli: Segue) -> None:
    cli.ok("new", "--id", "one")
    moved = cli.home / "moved"
    moved.mkdir()
    assert cli.ok("relink", str(cli.home), str(moved)) == f"one: {moved}\n"
    assert cli.library.overview("one").overrides == {"cwd": str(moved), "project": str(moved)}
    assert cli.ok("list", "--project", str(moved)).startswith("one\t")
    done = cli.call("relink", "/nowhere", str(moved))
    assert (done.code, done.text) == (0, "")
    assert "belongs to /nowhere" in done.complaint


def test_a_folder_is_relinked_to_a_folder_that_is_there(cli: Segue) -> None:
    assert "is not a folder" in cli.refuses(2, "relink", "old", "new")
    assert "are the same folder" in cli.refuses(2, "relink", ".", ".")

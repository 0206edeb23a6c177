from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

import segue

if TYPE_CHECKING:
    from tests.support.cli import Segue


def status(cli: Segue, session: str) -> str:
    return cli.library.store.head(session).status


def interrupted(cli: Segue) -> str:
    live = cli.library.create(id="dead")
    live.release()
    return live.id


# ── Branches ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_fork_prints_the_name_of_the_branch_and_goes_on_in_it(cli: Segue, session: str) -> None:
    assert cli.ok("fork", session, "--at", "1", "--name", "other") == "other\n"
    cli.ok("add", session, "another way")
    assert [turn.content for turn in cli.library.load(session).turns] == ["Why does login fail?", "another way"]


def test_a_session_that_is_open_elsewhere_is_forked_into_a_new_one(cli: Segue, session: str) -> None:
    with cli.library.open(session):
        assert f"or continue in a copy: segue fork {session} --new" in cli.refuses(4, "fork", session)
        name = cli.ok("fork", session, "--new", "--at", "1", "--title", "Again").strip()
        told = json.loads(cli.ok("fork", session, "--new", "--id", "third", "--json"))
    before, copy = cli.library.load(session), cli.library.load(name)
    assert (copy.title, copy.status) == ("Again", "paused")
    assert [turn.content for turn in copy.turns] == [turn.content for turn in before.turns[:1]]
    assert told == {"id": "third", "source": session, "turns": before.turn_count}
    assert cli.library.load("third").title == before.title


def test_fork_can_stay_and_switch_can_go(cli: Segue, session: str) -> None:
    name = cli.ok("fork", session, "--stay").strip()
    assert cli.library.load(session).branch == "main"
    cli.ok("switch", session, name)
    assert cli.library.load(session).branch == name


def test_branches_shows_each_with_its_origin_and_a_star_at_the_active_one(cli: Segue, session: str) -> None:
    cli.ok("fork", session, "--at", "1", "--name", "other")
    main, other = (line.split("\t") for line in cli.ok("branches", session).splitlines())
    assert (main[:4], other[:4]) == (["", "main", "", "2"], ["*", "other", "main at 1", "1"])
    assert [(each["name"], each["active"]) for each in json.loads(cli.ok("branches", session, "--json"))] == [
        ("main", False),
        ("other", True),
    ]


@pytest.mark.parametrize(
    ("code", "args"),
    [
        (2, ("fork", "login", "--at", "9")),
        (2, ("fork", "login", "--at", "9", "--new")),
        (2, ("fork", "login", "--new", "--stay")),
        (2, ("fork", "login", "--title", "x")),
        (2, ("fork", "login", "--at", "-1")),
        (2, ("fork", "login", "--name", "../x")),
        (4, ("fork", "login", "--name", "main")),
        (3, ("switch", "login", "nope")),
    ],
)
@pytest.mark.usefixtures("session")
def test_a_branch_that_cannot_be_changes_nothing(cli: Segue, code: int, args: tuple[str, ...]) -> None:
    before = cli.files()
    cli.refuses(code, *args)
    assert cli.files() == before


# ── Names, tags, status ──────────────────────────────────────────────────────────────────────────────────────────────


def test_rename_gives_another_title(cli: Segue, session: str) -> None:
    assert json.loads(cli.ok("rename", session, "Second look", "--json"))["title"] == "Second look"


def test_tags_come_with_plus_and_go_with_minus(cli: Segue, session: str) -> None:
    assert cli.ok("tag", session) == "web\n"
    assert cli.ok("tag", session, "+urgent", "-web", "plain") == "urgent\nplain\n"
    assert cli.ok("tag", session, "--remove", "urgent") == "plain\n"
    assert json.loads(cli.ok("tag", session, "--json")) == {"id": session, "tags": ["plain"]}


def test_a_mistyped_option_is_no_tag(cli: Segue, session: str) -> None:
    assert "--remov" in cli.refuses(2, "tag", session, "--remov", "web")
    assert cli.ok("tag", session) == "web\n"


def test_completed_can_be_taken_back(cli: Segue, session: str) -> None:
    cli.ok("complete", session)
    assert status(cli, session) == "completed"
    assert "segue reopen login makes it paused again" in cli.refuses(2, "pause", session)
    cli.ok("reopen", session)
    assert status(cli, session) == "paused"
    assert "not completed" in cli.refuses(2, "reopen", session)


def test_an_interrupted_session_can_be_paused(cli: Segue) -> None:
    session = interrupted(cli)
    assert status(cli, session) == "interrupted"
    cli.ok("pause", session)
    assert status(cli, session) == "paused"


def test_pausing_twice_is_pausing_once(cli: Segue, session: str) -> None:
    before = cli.files()
    cli.ok("pause", session)
    assert cli.files() == before


# ── Delete and clean ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_without_a_terminal_delete_wants_a_yes(cli: Segue, session: str) -> None:
    assert "--yes" in cli.refuses(2, "delete", session)
    assert cli.ok("delete", session, "--yes") == "deleted login\n"
    assert "no sessions in" in cli.call("list").complaint


def test_with_a_yes_only_an_id_or_a_part_of_one_deletes(cli: Segue, session: str) -> None:
    assert "'Bug' is not an id; its words match login (Login bug)" in cli.refuses(3, "delete", "Bug", "--yes")
    cli.ok("tail", session)
    for form in ("@1", "-", "--last"):
        assert session in cli.ok("list")
        assert f"{form} means {session}; nothing was done" in cli.refuses(2, "delete", form, "--yes")
    assert cli.ok("delete", session[:3], "--yes") == f"deleted {session}\n"


def test_one_unknown_id_among_several_deletes_none(cli: Segue, session: str) -> None:
    cli.refuses(3, "delete", session, "nobody", "--yes")
    assert session in cli.ok("list")


def test_a_session_in_use_is_not_deleted(cli: Segue, session: str) -> None:
    with cli.library.open(session):
        assert "is in use" in cli.refuses(4, "delete", session, "--yes")
    assert session in cli.ok("list")


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 1), ("\n", 1), ("what?\n", 1), ("\x04", 1)])
def test_at_a_terminal_delete_asks_and_takes_only_yes_for_yes(cli: Segue, session: str, answer: str, code: int) -> None:
    terminal = cli.at_terminal("delete", "log")
    terminal.wait_for(f"Move {session} (Login bug) to the trash? [y/N]")
    terminal.type(answer)
    assert terminal.end().code == code
    assert (cli.root / "login.jsonl").exists() == (code == 1)


def test_cleaning_counts_what_it_removes_and_names_what_it_keeps(cli: Segue, session: str) -> None:
    long_ago = segue.open(cli.store, clock=lambda: datetime.now(UTC) - timedelta(days=40))
    for name in ("old", "older", "used"):
        long_ago.create(id=name).close()
        then = datetime.now(UTC).timestamp() - 40 * 86400
        os.utime(cli.root / f"{name}.jsonl", (then, then))
    (cli.root / "broken.jsonl").write_bytes(b"\x00\xff junk\n")
    with cli.library.open("used"):
        tried = cli.call("clean", "--older-than", "30d", "--dry-run")
        assert "would delete 2 sessions" in tried.text
        assert "kept used: it is in use" in tried.complaint
        assert json.loads(cli.call("clean", "--older-than", "30d", "--dry-run", "--json").out)["kept"] == [
            {"id": "used", "reason": "it is in use"}
        ]
        done = cli.call("clean", "--older-than", "30d", "--yes")
    assert done.text.splitlines()[-1] == "deleted 2 sessions without activity for 30d"
    assert sorted(cli.library.store.ids()) == ["broken", session, "used"]

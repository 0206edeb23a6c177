from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.support.cli import Segue


def test_stdout_is_the_id_and_nothing_else(cli: Segue) -> None:
    assert re.fullmatch(r"qa-\d{8}-\d{6}-\w{4}\n", cli.ok("new", "--agent", "qa"))


def test_what_is_said_of_a_new_session_is_recorded(cli: Segue) -> None:
    cli.ok("new", "--agent", "qa", "--title", "Login bug", "--tag", "a", "--tag", "b", "--id", "login")
    head = cli.library.store.head("login")
    assert (head.agent, head.title, head.tags, head.status) == ("qa", "Login bug", ("a", "b"), "paused")


def test_json_is_the_session_as_a_listing_has_it(cli: Segue) -> None:
    made = json.loads(cli.ok("new", "--id", "login", "--json"))
    (listed,) = json.loads(cli.ok("list", "--json"))
    assert made.items() <= listed.items()


def test_an_id_that_is_taken_is_a_conflict(cli: Segue, session: str) -> None:
    before = cli.files()
    assert "exists already" in cli.refuses(4, "new", "--id", session)
    assert cli.files() == before


def test_without_a_store_sessions_go_to_the_state_directory_of_the_platform(cli: Segue) -> None:
    cli.ok("new", "--id", "login", SEGUE_STORE="")
    assert [path.name for path in cli.home.rglob("*.jsonl")] == ["login.jsonl"]
    assert cli.ok("list", SEGUE_STORE="").startswith("login\t")


def test_the_option_wins_over_the_environment(cli: Segue) -> None:
    cli.ok("new", "--id", "login", "--store", f"journal:{cli.home}/other")
    assert (cli.home / "other" / "login.jsonl").is_file()
    assert not cli.root.exists()

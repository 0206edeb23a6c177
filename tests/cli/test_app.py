"""The command as a whole: what it imports, its help, and how it looks at a terminal."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from segue._version import __version__
from segue.cli import app as application
from segue.cli.app import VERBS, run
from segue.console import exit_codes
from segue.errors import SegueError

if TYPE_CHECKING:
    from tests.support.cli import Segue

CLI = Path(application.__file__).parent
ROOT = Path(__file__).resolve().parents[2]


def imported(cli: Segue, *args: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "segue", *args],
        capture_output=True,
        check=True,
        env=cli.environment(),
    )
    return set(re.findall(r"\| +([\w.]+)\n", done.stderr.decode()))


@pytest.mark.parametrize("flag", ["--version", "-V"])
def test_the_version_is_answered_without_importing_anything(cli: Segue, flag: str) -> None:
    assert cli.ok(flag) == f"segue {__version__}\n"
    assert {"click", "msgspec", "rich", "segue.library"}.isdisjoint(imported(cli, flag))


@pytest.mark.usefixtures("session")
def test_a_verb_imports_only_what_it_uses(cli: Segue) -> None:
    modules = imported(cli, "list")
    others = {f"segue.cli.{verb}" for verb in VERBS} - {"segue.cli.list"}
    unused = others | {
        "rich",
        "asyncio",
        "subprocess",
        "textual",
        "segue.chat",
        "segue.cli.picker",
        "segue.stores.memory",
    }
    assert unused.isdisjoint(modules)


def test_help_names_every_verb_and_every_exit_code(cli: Segue) -> None:
    shown = cli.ok("--help")
    assert [verb for verb in VERBS if f"\n  {verb} " not in shown] == []
    assert [code for code in exit_codes.Exit if f"\n  {code:d} " not in shown] == []


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_a_verb_has_examples_that_use_it(cli: Segue, verb: str) -> None:
    examples = cli.ok(verb, "--help").partition("Examples:\n")[2]
    assert f"segue {verb}" in examples


def test_piped_and_alone_it_prints_help(cli: Segue) -> None:
    assert cli.ok() == cli.ok("--help")


def test_every_family_of_errors_has_a_code_of_its_own() -> None:
    families = SegueError.__subclasses__()
    codes = {exit_codes.exit_code_of(family.__new__(family)) for family in families}
    assert len(codes) == len(families)
    assert exit_codes.Exit.UNEXPECTED not in codes


def test_only_the_output_module_touches_the_streams() -> None:
    touching = {
        f"{file.parent.name}/{file.name}"
        for room in (CLI, CLI.parent / "console")
        for file in room.glob("*.py")
        for node in ast.walk(ast.parse(file.read_bytes()))
        if ast.unparse(node) in {"sys.stdout", "sys.stderr", "click.echo", "click.secho", "print"}
    }
    assert touching == {
        "cli/_deadline.py",  # answers for a hook that is not done in time
        "cli/ask.py",  # hands them to the terminal of its conversation, which writes through the output module
        "console/entry.py",  # answers --version before anything is imported
        "console/output.py",
    }


def test_in_process_it_gives_the_code_back(cli: Segue, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["new", "--id", "here", "--store", cli.store]) == 0
    assert capsys.readouterr().out == "here\n"
    assert run(["show", "nobody", "--store", cli.store]) == 3


def test_the_reference_page_says_what_the_help_says(cli: Segue) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "reference", "--check"], check=False, env=cli.environment()
    )
    assert done.returncode == 0


# ── At a terminal ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_listing_at_a_terminal_is_a_table_with_relative_times(cli: Segue, session: str) -> None:
    header, row = cli.at_terminal("list", NO_COLOR="1").end().text.splitlines()
    assert header.split() == ["TITLE", "TURNS", "ACTIVE", "AGENT", "ID"]
    assert row.startswith("@1  Login bug ")
    assert row.endswith(session)
    assert re.search(r"  (now|\d+s ago)  ", row)
    assert header.index("ID") == row.index(session)


WIDE = {"日本語": 6, "Größe": 5, "e\u0301tude": 5, "👩👩👧 ❤ 👍": 11, "हिन्दी": 5, "한국어": 6, "Two lines of it": 15}
"""Titles as they are shown, and the columns that they take on a terminal."""
EMOJIS = "👩\u200d👩\u200d👧 ❤\ufe0f 👍\U0001f3fd"


def test_in_80_columns_no_line_breaks_and_the_columns_are_kept_in_any_script(cli: Segue) -> None:
    cut = ("日本語のとても長いタイトル" * 5, "x" * 200)
    for number, title in enumerate([*cut, EMOJIS, "Two\nlines\tof it", *list(WIDE)[:3], *list(WIDE)[4:6]]):
        with cli.library.create(agent="planner", title=title, id=f"{number}-session-of-a-long-name") as live:
            live.set_overrides({"cwd": "/srv/some-project"})
    header, *rows = cli.at_terminal("list", NO_COLOR="1", COLUMNS="80").end().text.splitlines()
    assert header.split() == ["TITLE", "ACTIVE", "AGENT", "PROJECT", "ID"]
    found = {row.split("  ")[1]: row.index("planner") for row in rows}
    assert {title: at - len(title) + WIDE[title] for title, at in found.items() if title in WIDE} == dict.fromkeys(
        WIDE, header.index("AGENT")
    )
    assert sum("…" in title for title in found) == 2
    assert all(re.fullmatch(r"planner  some-project  \d-sessio", row[row.index("planner") :]) for row in rows)


def test_a_long_list_goes_to_the_pager_the_newest_first_and_json_does_not(cli: Segue) -> None:
    for number in range(3):
        cli.library.create(id=f"session-{number}", title=f"Talk {number}").close()
    shown = cli.at_terminal("list", PAGER="sed s/^/paged:/", NO_COLOR="1").end().text
    assert [line[:16] for line in shown.splitlines()] == [
        "paged:    TITLE ",
        "paged:@1  Talk 2",
        "paged:@2  Talk 1",
        "paged:@3  Talk 0",
    ]
    assert "paged:" not in cli.at_terminal("list", "--json", PAGER="sed s/^/paged:/").end().text
    assert "paged:" not in cli.at_terminal("list", PAGER="sed s/^/paged:/", TERM="dumb").end().text
    assert "paged:" not in cli.run("list", PAGER="sed s/^/paged:/").text


def test_the_pager_gets_the_transcript(cli: Segue, session: str) -> None:
    shown = cli.at_terminal("show", session, PAGER="sed s/^/paged:/").end().text
    assert "paged:Why does login fail?" in shown


@pytest.mark.parametrize("pager", ["/no/such/pager", "", "'unbalanced"])
def test_without_a_pager_the_transcript_is_printed(cli: Segue, session: str, pager: str) -> None:
    assert "Why does login fail?" in cli.at_terminal("show", session, PAGER=pager).end().text


def test_a_pager_that_quits_early_is_no_error(cli: Segue, session: str) -> None:
    with cli.library.open(session) as live:
        live.add("user", "x" * 500_000)
    assert cli.at_terminal("show", session, PAGER="true").end().code == 0


def test_progress_is_shown_at_a_terminal_and_cleared(cli: Segue, session: str) -> None:
    cli.ok("new", "--id", "second")
    shown = cli.at_terminal("verify").end().text
    assert f"verifying 1 of 2: {session}" in shown
    assert "2 sessions are sound" in shown

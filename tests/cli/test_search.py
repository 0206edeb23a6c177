"""Finding sessions from the command line: over one store or all, as lines, JSON, or by picking."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import pytest

import segue
from segue.console.columns import width_of
from segue.durable.folder import Folder
from segue.index import Index
from segue.project import origin_of
from tests.support.pty import PtyProcess

if TYPE_CHECKING:
    from tests.support.cli import Segue

CORPUS = Path(__file__).resolve().parents[1] / "corpus"


class Variables(TypedDict):
    SEGUE_STORE: str
    XDG_STATE_HOME: str


def others(cli: Segue, *urls: str) -> Variables:
    """A configuration that names these stores, and no store named for all calls."""
    path = cli.home / ".config" / "segue" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"stores = {json.dumps(list(urls))}\n", encoding="utf-8")
    return Variables(SEGUE_STORE="", XDG_STATE_HOME=str(cli.home / "state"))


def catalog(cli: Segue) -> Path:
    return cli.home / ".cache" / "segue" / "catalog.sqlite3"


def at_screen(cli: Segue, *args: str, **env: str) -> PtyProcess:
    return PtyProcess([sys.executable, "-m", "segue", *args], env=cli.environment(**env), cwd=cli.home)


# ── search ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_search_tells_where_it_found_what(cli: Segue, session: str) -> None:
    (line,) = cli.ok("search", "token").splitlines()
    fields = line.split("\t")
    assert fields[:5] == [session, "assistant", "main", "1", "Login bug"]
    assert fields[6:] == [cli.store, "The token expires.", "2"]


@pytest.mark.parametrize(
    "words",
    [("token", "expires"), ('"token expires"',), ("tok*",), ("tok",), ("token exp",), ("TOKEN",), ("login bug",)],
)
def test_words_phrases_and_beginnings_are_found(cli: Segue, session: str, words: tuple[str, ...]) -> None:
    assert cli.ok("search", *words).startswith(f"{session}\t")


def test_json_has_the_session_and_the_place(cli: Segue, session: str) -> None:
    (found,) = json.loads(cli.ok("search", "token", "--json"))
    assert (found["id"], found["store"], found["matches"]) == (session, cli.store, 1)
    assert (found["found"]["kind"], found["found"]["marked"]) == ("turn", ["token"])
    (listed,) = json.loads(cli.ok("list", "--json"))
    assert listed.items() <= found.items()


@pytest.mark.usefixtures("session")
def test_what_was_found_is_marked_on_a_terminal(cli: Segue) -> None:
    assert "\x1b[33mtoken\x1b[0m" in cli.at_terminal("search", "token").end().text


def test_a_match_takes_one_line_of_a_terminal_however_long_the_text_around_it(cli: Segue, session: str) -> None:
    cli.ok("add", session, f"{'日本 before ' * 20} zebra {'after it ' * 20}")
    shown = cli.at_terminal("search", "zebra", NO_COLOR="1", COLUMNS="60").end().text.splitlines()
    assert shown[0].startswith("@1  Login bug  ")
    (line,) = (line for line in shown if "turn 3" in line)
    assert "zebra" in line
    assert line.endswith("…")
    assert width_of(line) <= 60


def commands(cli: Segue, word: str) -> list[str]:
    shown = cli.at_terminal("search", word, NO_COLOR="1").end().text
    return [line.strip() for line in shown.splitlines() if line.startswith("  segue ")]


def test_a_turn_is_named_by_the_command_that_forks_there(cli: Segue, session: str) -> None:
    assert "assistant, turn 2: The token expires." in cli.at_terminal("search", "token", NO_COLOR="1").end().text
    (command,) = commands(cli, "token")
    assert command == f"segue fork {session} --at 2"
    cli.ok(*command.split()[1:], "--name", "other")
    cli.ok("add", session, "a zebra")
    cli.ok("switch", session, "main")
    assert commands(cli, "token") == [command]
    assert commands(cli, "zebra") == [f"segue switch {session} other && segue fork {session} --at 3"]
    cli.ok("switch", session, "other")
    assert commands(cli, "token") == [command]  # the active branch shares the turn
    assert commands(cli, "zebra") == [f"segue fork {session} --at 3"]
    (found,) = json.loads(cli.ok("search", "zebra", "--json"))
    assert (found["found"]["turn"], found["found"]["branch"]) == (3, "other")


def test_the_turns_are_numbered_the_same_however_the_session_was_read(cli: Segue, session: str) -> None:
    cli.ok("search", "token")
    with cli.library.open(session) as live:
        live.add("assistant", "", parts=[{"type": "tool_call", "id": "1", "name": "grep", "arguments": {}}])
    cli.ok("add", session, "a zebra")
    assert cli.ok("search", "zebra").strip().split("\t")[-1] == "4"
    catalog(cli).unlink()
    assert [cli.ok("search", word).strip().split("\t")[-1] for word in ("zebra", "token")] == ["4", "2"]


def test_a_search_tells_how_many_more_there_are(cli: Segue) -> None:
    for number in range(4):
        cli.library.create(id=f"s{number}", title="zebra").close()
    result = cli.call("search", "zebra", "--limit", "3")
    assert (len(result.text.splitlines()), result.complaint) == (3, "segue: 1 more match; show all with --limit 4\n")
    assert cli.call("search", "zebra", "--limit", "4").complaint == ""


def test_a_branch_can_be_asked_for(cli: Segue, session: str) -> None:
    cli.ok("fork", session, "--at", "1", "--name", "other")
    cli.ok("add", session, "a zebra")
    assert cli.ok("search", "zebra", "--branch", "other").startswith(session)
    assert cli.call("search", "zebra", "--branch", "main").text == ""


@pytest.mark.usefixtures("session")
def test_finding_nothing_is_no_error_and_says_what_to_do(cli: Segue) -> None:
    result = cli.call("search", "zebra")
    assert (result.code, result.text) == (0, "")
    assert "try fewer words" in result.complaint
    assert cli.ok("search", "zebra", "--json") == "[]\n"


@pytest.mark.parametrize(
    "words", [(), ("",), ('"',), ("login", "--since", "x"), ("login", "--limit", "0"), ("a", "--pick")]
)
@pytest.mark.usefixtures("session")
def test_a_search_that_makes_no_sense_is_refused(cli: Segue, words: tuple[str, ...]) -> None:
    assert "; " in cli.refuses(2, "search", *words)


# ── Everything there is ──────────────────────────────────────────────────────────────────────────────────────────────


def test_the_stores_of_the_configuration_are_looked_into_as_well(cli: Segue) -> None:
    env = others(cli, "journal:~/notes", "soleur:~/soleur")
    cli.ok("new", "--id", "usual", "--title", "zebra", **env)
    for scheme in ("journal:notes", "soleur:soleur"):
        cli.ok("new", "--id", scheme[:3], "--title", "zebra", "--store", scheme, **env)
    assert {line.split("\t")[0] for line in cli.ok("list", **env).splitlines()} == {"usual", "jou", "sol"}
    assert {line.split("\t")[0] for line in cli.ok("search", "zebra", **env).splitlines()} == {"usual", "jou", "sol"}
    assert cli.ok("list", "--store", "journal:notes", **env).split("\t")[0] == "jou"
    stores = {entry["id"]: entry["store"] for entry in json.loads(cli.ok("list", "--json", **env))}
    assert stores["jou"] == f"journal:{cli.home}/notes"


def test_sessions_that_ai_tools_keep_are_found_where_they_are(cli: Segue) -> None:
    env = others(cli)
    kept = cli.home / ".claude" / "projects" / "-home" / "plain.jsonl"
    kept.parent.mkdir(parents=True)
    kept.write_bytes((CORPUS / "claude" / "plain.jsonl").read_bytes())
    (found,) = json.loads(cli.ok("list", "--tool", "claude", "--json", **env))
    assert (found["id"], found["tool"], found["store"].partition(":")[0]) == ("plain", "claude", "claude")
    assert cli.ok("search", "hello", **env).startswith("plain\t")


def test_a_store_that_cannot_be_looked_into_is_named_and_the_others_are_there(cli: Segue) -> None:
    env = others(cli, "journal:/dev/null")
    cli.ok("new", "--id", "usual", **env)
    result = cli.call("list", **env)
    assert (result.code, result.text.split("\t")[0]) == (0, "usual")
    assert "journal:/dev/null was skipped" in result.complaint


@pytest.mark.parametrize("value", ['"journal:x"', "[1]", '["nosuch:x"]'])
def test_a_configuration_that_names_no_store_is_refused(cli: Segue, value: str) -> None:
    env = others(cli)
    (cli.home / ".config" / "segue" / "config.toml").write_text(f"stores = {value}\n", encoding="utf-8")
    assert "config.toml" in cli.refuses(2, "list", **env)


def test_a_project_is_a_name_or_a_folder(cli: Segue) -> None:
    with cli.library.create(id="here", extra={"cwd": str(cli.home / "code" / "web"), "project": "shop"}):
        pass
    cli.library.create(id="there").close()
    for project in ("shop", "code", "./code", str(cli.home)):
        found = cli.call("list", "--project", project).text
        assert found.startswith("here\t") == (project != "code")
    assert json.loads(cli.ok("list", "--project", "shop", "--json"))[0]["project"] == "shop"


def test_the_root_of_a_repository_means_every_clone_of_it(cli: Segue) -> None:
    for name in ("clone", "moved", "other"):
        config = cli.home / name / ".git" / "config"
        config.parent.mkdir(parents=True)
        for folder in ("objects", "refs"):
            config.with_name(folder).mkdir()
        config.with_name("HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
        place = "https://example.org/team/other" if name == "other" else "git@example.org:team/login.git"
        config.write_text(f'[remote "origin"]\n\turl = {place}\n', encoding="utf-8")
        with cli.library.create(id=name, extra={**origin_of(cli.home / name, {})}):
            pass
    for project in (str(cli.home / "moved"), "example.org/team/login"):
        assert {one["id"] for one in json.loads(cli.ok("list", "--project", project, "--json"))} == {"clone", "moved"}


def test_until_keeps_what_has_rested_since(cli: Segue, session: str) -> None:
    assert cli.call("list", "--until", "1d").text == ""
    assert cli.ok("list", "--until", "2999-01-01").startswith(session)


# ── The index ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_index_is_in_the_cache_and_nobody_else_can_read_it(cli: Segue, session: str) -> None:
    before = cli.files()
    cli.ok("search", session)
    assert stat.S_IMODE(catalog(cli).stat().st_mode) == 0o600
    assert cli.files() == before


def test_what_verbs_write_is_in_the_index_before_anybody_asks(cli: Segue, session: str) -> None:
    cli.ok("list")
    cli.ok("rename", session, "Another title")
    cli.ok("new", "--id", "second")
    cli.ok("delete", session, "--yes")
    with Index(Folder(str(catalog(cli).parent))) as known:
        assert [entry.id for entry in known.entries()] == ["second"]


@pytest.mark.parametrize("junk", [b"", b"junk" * 3000, None])
def test_whatever_happens_to_the_index_the_answers_stay(cli: Segue, session: str, junk: bytes | None) -> None:
    before = cli.ok("list"), cli.ok("search", "token")
    if junk is None:
        catalog(cli).unlink()
        catalog(cli).mkdir()
    else:
        catalog(cli).write_bytes(junk)
    cli.ok("tag", session)
    cli.ok("tag", session, "later")
    assert (cli.ok("list").split("\t")[:3], cli.ok("search", "token").split("\t")[:3]) == (
        before[0].split("\t")[:3],
        before[1].split("\t")[:3],
    )


def test_without_a_cache_folder_everything_is_found_all_the_same(cli: Segue, session: str) -> None:
    (cli.home / ".cache").write_bytes(b"")
    assert cli.ok("list").startswith(session)
    assert cli.ok("search", "token").startswith(session)
    cli.ok("rename", session, "Other")


# ── The picker ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("args", [(), ("list", "--pick"), ("search", "token", "--pick")])
def test_enter_in_the_picker_resumes_the_session(cli: Segue, session: str, args: tuple[str, ...]) -> None:
    with at_screen(cli, *args) as person:
        person.wait_for("Login bug")
        person.type("\r")
        person.wait_for("Where it stopped")
        person.wait_for("offline>")
        person.type("\x04")
        assert person.end() == 0
    assert cli.library.overview(session).status == "paused"


def test_a_session_of_another_store_is_resumed_there(cli: Segue) -> None:
    env = others(cli, "journal:~/notes")
    with segue.open(f"journal:{cli.home}/notes").create(id="far", title="Far away") as live:
        live.add("user", "hello")
        live.add("assistant", "hello yourself")
    with at_screen(cli, **env) as person:
        person.wait_for("Far away")
        person.type("\r")
        person.wait_for("Where it stopped")
        person.wait_for("offline>")
        person.type("\x04")
        person.wait_for("segue resume far --store")
        assert person.end() == 0


@pytest.mark.usefixtures("session")
def test_leaving_the_picker_changes_nothing(cli: Segue) -> None:
    before = cli.files()
    with at_screen(cli) as person:
        person.wait_for("Login bug")
        person.type("\x1b")
        assert person.end() == 0
    assert cli.files() == before


@pytest.mark.parametrize(("answer", "text"), [("n\r", "segue new"), ("y\r", "/help")])
def test_where_there_is_nothing_yet_a_first_conversation_is_offered(cli: Segue, answer: str, text: str) -> None:
    with at_screen(cli) as person:
        person.wait_for("no sessions yet")
        person.wait_for("Start a conversation now?")
        person.type(answer)
        if text == "/help":
            person.wait_for("offline>")
            person.type("\x04")
        assert person.end() == 0
        assert text in person.seen


@pytest.mark.usefixtures("session")
def test_a_terminal_that_only_prints_gets_the_newest_sessions(cli: Segue) -> None:
    shown = cli.at_terminal(TERM="dumb").end()
    assert (shown.code, "Login bug" in shown.text) == (0, True)

"""How every verb finds a session; the verbs are those of the command table, so a new one is checked by existing."""

from __future__ import annotations

import json
import re
import signal
import sys
from typing import TYPE_CHECKING, NamedTuple

import click
import pytest

import segue
from segue.cli.app import VERBS, app
from segue.console.options import SessionArgument, SessionOption
from tests.cli.test_external import OWN, ToolHome
from tests.cli.test_resume import keep
from tests.support.pty import PtyProcess

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.cli import Segue

SESSION = "qa-20261115-093012-k3f2"
OTHER = "qa-20261115-093012-9xzz"
NOT_LOOKED_UP = {
    "chat --id",  # a new session
    "new --id",
    "fork --id",
    "import --id",
    "import ID",  # of one AI tool
    "trash restore ID...",  # of the trash
}
"""Parameters that take an id, but not of a session of a list."""


class Verb(NamedTuple):
    """A verb that takes a session: how it is called, before and after the session."""

    before: tuple[str, ...]
    after: tuple[str, ...] = ()
    stdin: bytes = b""
    shows: str = ""
    """What it prints of this session alone."""
    reads: bool = False
    """Whether it works on a session of an AI tool as it is."""
    is_careful: bool = False
    """Whether it never acts without a question on a session that only words have found."""


CALLS = {
    "resume": Verb(("resume",), ("--agent", "offline"), stdin=b"/exit\n", shows="Login bug"),
    "ask": Verb(("ask", "Why?", "--agent", "command:cat", "--session"), shows=SESSION),
    "add": Verb(("add",), ("Text", "--json"), shows=SESSION),
    "show": Verb(("show",), reads=True, shows=SESSION),
    "tail": Verb(("tail",), shows="The token expires.", reads=True),
    "export": Verb(("export",), ("--format", "json"), shows=SESSION, reads=True),
    "fork": Verb(("fork",), ("--json",), shows=SESSION),
    "branches": Verb(("branches",), shows="only-here", reads=True),
    "tree": Verb(("tree",), shows="only-here", reads=True),
    "diff": Verb(("diff",), ("main", "main"), shows="are identical", reads=True),
    "switch": Verb(("switch",), ("main", "--json"), shows=SESSION),
    "rename": Verb(("rename",), ("Login bug again", "--json"), shows=SESSION),
    "tag": Verb(("tag",), ("--json",), shows=SESSION, reads=True),
    "pause": Verb(("pause",), ("--json",), shows=SESSION),
    "complete": Verb(("complete",), ("--json",), shows=SESSION),
    "reopen": Verb(("reopen",), shows=f"{SESSION} is paused, not completed"),
    "delete": Verb(("delete",), is_careful=True),
    "convert": Verb(("convert",), ("--to", "journal:copies"), shows=SESSION, reads=True),
    "trust": Verb(("trust",), is_careful=True),
    "scope check": Verb(("scope", "check"), ("--read", "a", "--json"), shows=SESSION, is_careful=True),
    "scope show": Verb(("scope", "show"), ("--json",), shows=SESSION, is_careful=True),
    "scope allow": Verb(("scope", "allow"), ("--read", "a", "--json"), shows=SESSION, is_careful=True),
    "scope set": Verb(("scope", "set"), ("-",), stdin=b"paths: {read: [a]}\n", is_careful=True),
    "scope hook": Verb(("scope", "hook"), stdin=b"{}", shows="does not name a tool", is_careful=True),
    "verify": Verb(("verify",), ("--json",), shows=SESSION, reads=True),
    "recover": Verb(("recover",), ("--json",), shows=f"{SESSION} is not damaged", is_careful=True),
}
CONFIRMED = {"delete", "trust", "recover"}
"""Verbs with --yes, with which only an id or a part of it is good enough."""


def commands() -> Iterator[tuple[str, click.Command]]:
    """All commands of the app, with those of its groups."""
    with click.Context(app) as ctx:
        for verb in VERBS:
            command = app.get_command(ctx, verb)
            assert command is not None
            if not isinstance(command, click.Group):
                yield verb, command
            elif verb != "gptel":  # a dialect with paths of its own
                for name, sub in command.commands.items():
                    yield f"{verb} {name}", sub


def takes_session(command: click.Command) -> bool:
    return any(isinstance(param, SessionArgument | SessionOption) for param in command.params)


def test_every_parameter_that_takes_an_id_is_looked_up_in_the_same_way() -> None:
    for verb, command in commands():
        for param in command.params:
            shown = param.metavar or ""
            called = param.opts[0] if isinstance(param, click.Option) else shown.strip("[]")
            if re.search(r"\bID\b", shown) and not isinstance(param, SessionArgument | SessionOption):
                assert f"{verb} {called}" in NOT_LOOKED_UP
    assert set(CALLS) == {verb for verb, command in commands() if takes_session(command)}


@pytest.fixture
def two(cli: Segue) -> Segue:
    """Two sessions whose ids differ at the end; the second is older."""
    keep(cli, SESSION, "Why does it fail?", "The token expires.", title="Login bug", ago=1)
    keep(cli, OTHER, "Where to?", "To the sea.", title="Holidays", ago=2)
    with cli.library.open(SESSION) as live:
        live.fork(at=1, name="only-here", switch=False)
    cli.library.store.mark_changed(OTHER, segue.open(cli.store).load(OTHER).created_at)
    return cli


FORMS = {
    "id": SESSION,
    "beginning": SESSION[:-2],
    "end": "k3f2",
    "line": "@1",
    "previous": "-",
    "last": "--last",
    "title": "login BUG",
    "text": "token expires",
}
WORDS = {"title", "text"}


def used(cli: Segue) -> str:
    """The session that the last command has found."""
    (path,) = (cli.home / ".cache" / "segue" / "terminals").glob("*.session")
    return str(json.loads(path.read_bytes())[0][1])


@pytest.mark.parametrize("verb", CALLS)
def test_every_verb_accepts_every_form(two: Segue, verb: str) -> None:
    call = CALLS[verb]
    assert two.ok("list").startswith(f"{SESSION}\t")
    for kind, form in FORMS.items():
        two.ok("tail", SESSION if kind == "previous" else OTHER)
        given = [*call.before, form, *call.after]
        if verb == "ask" and kind == "last":
            given = [*given[:-2], "-c"]
        if verb in CONFIRMED and verb != "delete" and kind in {"id", "beginning", "end"}:
            given.append("--yes")
        done = two.call(*given, stdin=call.stdin)
        assert b"Traceback" not in done.err
        is_refused = kind in WORDS or (verb in {"scope hook", "delete"} and form in {"@1", "-", "--last"})
        if call.is_careful and is_refused:
            assert used(two) == (SESSION if kind == "previous" else OTHER), (kind, done)
            assert "k3f2" in done.complaint + done.text, (kind, done)
        else:
            assert used(two) == SESSION, (kind, done)
            assert ("segue: using k3f2 (" in done.complaint) == (kind in WORDS), (kind, done)
            assert call.shows in done.text + done.complaint, (kind, done)
        assert (two.root / f"{SESSION}.jsonl").exists()


@pytest.mark.parametrize("verb", sorted(CONFIRMED))
def test_with_a_yes_nothing_but_an_id_is_good_enough(two: Segue, verb: str) -> None:
    before = two.files()
    for form in ("@1", "-", "--last"):
        two.ok("list")
        two.ok("tail", SESSION)
        assert f"{form} means {SESSION}; nothing was done" in two.refuses(2, verb, form, "--yes")
    assert "its words match k3f2 (Login bug)" in two.refuses(3, verb, "login bug", "--yes")
    assert two.files() == before


# ── Sessions of AI tools ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def home(cli: Segue) -> ToolHome:
    found = ToolHome(cli)
    found.store_session("Why does login fail?", "The token expires.", title="Login bug")
    return found


@pytest.mark.parametrize("verb", sorted(CALLS.keys() - {"resume"}))
def test_every_verb_works_on_a_session_of_a_tool_or_names_the_command_that_imports_it(
    home: ToolHome, verb: str
) -> None:
    call = CALLS[verb]
    after = call.after if verb != "diff" else ("main", "main")
    for form in (OWN, OWN[:8], OWN[-6:], "--last"):
        given = [*call.before, form, *after] if (verb, form) != ("ask", "--last") else [*call.before[:-1], "-c"]
        done = home.cli.call(*given, stdin=call.stdin, **home.env)
        text = done.text + done.complaint
        if call.reads:
            assert done.code == 0, done
        elif form == "--last" and verb in {"delete", "scope hook"}:
            assert f"--last means {OWN}; nothing was done" in text
        elif verb == "delete":
            assert "is a session of claude; nothing was deleted; delete it in claude" in text
        else:
            assert f"{OWN} is a session of claude, and not in the store yet" in text, done
            assert f"import it first: segue import claude {OWN}" in text or verb == "scope hook", done
    assert not (home.cli.home / "state" / "segue" / "sessions").exists()


def test_once_imported_the_copy_is_changed_and_brought_up_to_date_by_the_id_of_the_tool(home: ToolHome) -> None:
    home.run("import", "claude", OWN[-6:])
    home.store_session("Why does login fail?", "The token expires.", "And logout?", title="Login bug")
    assert home.run("tag", OWN[:8], "urgent").text == "urgent\n"
    assert home.said(f"claude-{OWN}")[2:] == ["And logout?"]


def test_what_a_tool_writes_is_followed_in_place(home: ToolHome) -> None:
    terminal = home.cli.at_terminal("tail", OWN, "-f", **home.env)
    terminal.wait_for("The token expires.")
    home.store_session("Why does login fail?", "The token expires.", "And logout?", title="Login bug")
    terminal.wait_for("And logout?")
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.end().code == 130
    assert not (home.cli.home / "state" / "segue" / "sessions").exists()


def test_at_a_terminal_the_import_is_offered_at_once(home: ToolHome) -> None:
    terminal = home.cli.at_terminal("tag", "login bug", "urgent", **home.env)
    terminal.wait_for(f"{OWN} is a session of claude. Import it into the store first? [y/N]")
    terminal.type("y\n")
    done = terminal.end()
    assert (done.code, done.text.splitlines()[-1]) == (0, "urgent")
    assert home.library.load(f"claude-{OWN}").tags == ("urgent",)


def test_the_last_session_is_the_first_line_of_the_list_whoever_stores_it(home: ToolHome) -> None:
    with home.library.create(id="ours", title="Ours") as live:
        live.add("user", "Hello")
    home.library.store.mark_changed("ours", home.library.load("ours").created_at)
    for _ in range(2):
        first = home.run("list").text.split("\t")[0]
        assert first == ("ours" if first == "ours" else OWN)
        assert json.loads(home.run("export", "--last", "--format", "json").text)["id"].endswith(first)
        printed = home.run("resume", "--last", "--with", "claude", "--print")
        assert (f"--resume {OWN}" in printed.text) == (first == OWN)
        home.store_session("Why?", "So.", title="Login bug", at="2099-01-05T09:30:00.000Z")


# ── Lines of a list, and the session used before ─────────────────────────────────────────────────────────────────────


def test_without_a_list_or_a_session_used_before_that_is_said(cli: Segue, session: str) -> None:
    assert "no sessions were listed in this terminal yet; run segue list first" in cli.refuses(3, "show", "@1")
    assert "no session was used in this terminal yet" in cli.refuses(3, "show", "-")
    cli.ok("list")
    assert "had 1 line, and no line 2" in cli.refuses(3, "show", "@2")
    cli.ok("show", "@1")
    cli.ok("delete", session, "--yes")
    for form in ("@1", "-"):
        assert f"{form} means {session}, which does not exist any more" in cli.refuses(3, "show", form)
    cli.ok("delete", session, "--yes", "--for-good")
    assert "the session in line 1 was deleted" in cli.refuses(3, "show", "@1")
    assert not any(session in path.read_text() for path in (cli.home / ".cache" / "segue" / "terminals").iterdir())


def test_a_new_session_is_the_one_used_last(cli: Segue) -> None:
    name = cli.ok("new").strip()
    cli.ok("add", "-", "Hello")
    assert [turn.content for turn in cli.library.load(name).turns] == ["Hello"]


def test_lines_of_a_search_and_of_a_store_that_was_named_are_found_again(two: Segue) -> None:
    two.ok("search", "sea")
    assert OTHER in two.ok("show", "@1")
    elsewhere = f"journal:{two.home}/elsewhere"
    name = two.ok("new", "--store", elsewhere, "--title", "Elsewhere").strip()
    two.ok("list", "--store", elsewhere)
    assert name in two.ok("show", "@1")
    assert f"session {name} is in {elsewhere}" in two.refuses(2, "show", "@1", "--store", two.store)


@pytest.mark.parametrize("damage", [b"", b"{", b'[["journal:x"]]', b"[[1, 2]]", bytes(range(256))])
def test_a_record_that_cannot_be_read_is_no_record(two: Segue, damage: bytes) -> None:
    two.ok("list")
    two.ok("show", "@1")
    for path in (two.home / ".cache" / "segue" / "terminals").iterdir():
        path.write_bytes(damage)
    assert "no sessions were listed" in two.refuses(3, "show", "@1")
    assert "no session was used" in two.refuses(3, "show", "-")
    two.ok("list")
    assert SESSION in two.ok("show", "@1")


def test_two_windows_each_have_their_own_list(two: Segue) -> None:
    environment = two.environment(PS1="", ENV="")
    run = f"{sys.executable} -m segue"
    with (
        PtyProcess(["sh"], env=environment, cwd=two.home) as one,
        PtyProcess(["sh"], env=environment, cwd=two.home) as other,
    ):
        for window, words in ((one, "sea"), (other, "token")):
            window.type(f"{run} search {words} > /dev/null; echo fou''nd\n")
            window.wait_for("found")
        for window, title in ((one, "Holidays"), (other, "Login bug")):
            window.type(f"{run} show @1 | head -n 1; {run} show - | sed -n 1p; echo do''ne; exit\n")
            window.wait_for("done")
            assert window.seen.count(f"{title}\n") == 2
            window.end()


# ── Other stores, mistakes, and what it costs ────────────────────────────────────────────────────────────────────────


def test_sessions_of_configured_stores_are_found_as_they_are_listed(home: ToolHome) -> None:
    place = f"journal:{home.cli.home}/notes"
    with segue.open(place).create(id="elsewhere", title="Garden plans") as live:
        live.add("user", "Roses")
    config = home.cli.home / ".config" / "segue" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f'stores = ["{place}"]\n', encoding="utf-8")
    assert "Roses" in home.run("show", "garden").text
    assert home.run("tag", "elsewhere", "green").text == "green\n"
    assert segue.open(place).load("elsewhere").tags == ("green",)


def test_several_matches_are_listed_with_their_short_ids(two: Segue) -> None:
    keep(two, "again-1", title="Login again", ago=3)
    complaint = two.refuses(3, "show", "login")
    assert "could be any of 2 sessions: k3f2 (Login bug), again-1 (Login again)" in complaint
    complaint = two.refuses(3, "tag", "qa-2026")
    assert "could be any of 2 sessions: k3f2 (Login bug), 9xzz (Holidays); use one of these ids" in complaint
    error = json.loads(two.refuses_json(3, "show", "qa-2026", "--json"))["error"]
    assert error["candidates"] == [SESSION, OTHER]


def test_an_exact_id_reads_no_other_session_and_imports_no_index(two: Segue) -> None:
    (two.root / "broken.jsonl").write_bytes(b"{}\n")
    script = (
        "import sys; from segue.cli.app import run; code = run(['add', sys.argv[1], 'Text'])\n"
        "heavy = [name for name in sys.modules if name.startswith(('segue.index', 'segue.integrations', 'sqlite3'))]\n"
        "assert (code, heavy) == (0, []), heavy"
    )
    assert two.python(script, SESSION).code == 0

"""Mistakes of users and scripts: one line, an exit code that tells what to do, and nothing changed.

They are called within this process. A process is started once per exit code, to show that it ends in the same way.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.support.cli import Segue

READERS = [("show",), ("show", "-n", "1"), ("tail",), ("branches",), ("export",), ("fork",), ("rename", "--", "x")]
ODD_IDS = [
    *(("show", id) for id in ("../x", "", "x" * 300, "a\nb", "-x", ".hidden", "a/b", "a\x1b[31m")),
    *((verb, "../x") for verb in ("add", "delete", "tail", "verify", "recover", "pause", "export", "branches")),
]


def place(args: tuple[str, ...], session: str) -> list[str]:
    """The verb with the id after it."""
    verb, *rest = args
    return [verb, *rest, session] if "--" not in rest else [verb, session, *rest[1:]]


def test_a_missing_argument_is_named_with_its_choices_on_one_line(cli: Segue) -> None:
    told = cli.refuses(2, "completion")
    assert "\\" not in told
    assert "choose from: bash, zsh, fish" in told.lower()


@pytest.mark.usefixtures("session")
@pytest.mark.parametrize(("verb", "id"), ODD_IDS)
def test_an_id_outside_the_grammar_is_refused(cli: Segue, verb: str, id: str) -> None:
    before = cli.files()
    options = ["--yes"] if verb in {"delete", "recover"} else []
    text = ["text"] if verb == "add" else []
    assert "invalid session id" in cli.refuses(2, verb, *options, "--", id, *text)
    assert cli.files() == before


def test_an_unknown_id_suggests_the_near_one(cli: Segue, session: str) -> None:
    assert f"did you mean {session}?" in cli.refuses(3, "show", "logim")
    assert "segue list shows all" in cli.refuses(3, "show", "zzz")


def test_an_ambiguous_beginning_lists_the_candidates(cli: Segue, session: str) -> None:
    cli.ok("new", "--id", "logout")
    complaint = cli.refuses(3, "delete", "log", "--yes")
    assert f"{session}, logout" in complaint
    assert len(list(cli.library.store.ids())) == 2


@pytest.mark.parametrize(
    ("code", "store", "word"),
    [
        (2, "nosuch:/x", "does not name a store"),
        (2, "justtext", "does not name a store"),
        (2, "journal:", "does not name a folder"),
        (2, "memory:path", "has no path"),
        (6, "journal:FILE", "file"),
        (6, "journal:FILE/below", "file"),
    ],
)
@pytest.mark.parametrize("verb", ["list", "new"])
def test_a_store_that_cannot_be_is_said_at_once(cli: Segue, verb: str, code: int, store: str, word: str) -> None:
    file = cli.home / "a-file"
    file.write_text("mine", encoding="utf-8")
    assert word in cli.refuses(code, verb, "--store", store.replace("FILE", str(file)))
    assert file.read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("kind", ["folder", "link", "dangling", "pipe", "garbage", "empty", "binary"])
@pytest.mark.parametrize("args", READERS, ids=" ".join)
def test_what_is_no_journal_is_one_line_and_never_hangs(
    cli: Segue, session: str, args: tuple[str, ...], kind: str
) -> None:
    bad = cli.root / "bad.jsonl"
    match kind:
        case "folder":
            bad.mkdir()
        case "link":
            bad.symlink_to(f"{session}.jsonl")
        case "dangling":
            bad.symlink_to("nowhere")
        case "pipe":
            os.mkfifo(bad)
        case "garbage":
            bad.write_bytes(b"hello\n")
        case "empty":
            bad.write_bytes(b"")
        case _:
            bad.write_bytes(bytes(range(256)) * 20)
    before = cli.files()
    result = cli.call(*place(args, "bad"))
    assert result.code in {5, 6}, result
    assert result.text == ""
    assert result.complaint.startswith("segue: ")
    assert result.complaint.count("\n") == 1
    assert cli.files() == before
    assert cli.call("list").code == 0
    assert cli.call("verify").code == 5


@pytest.mark.parametrize(
    "args",
    [
        ("list", "--since", "nonsense"),
        ("list", "--since", "7x"),
        ("list", "--since", "2026-13-01"),
        ("list", "--since", "999999999w"),
        ("list", "--limit", "-1"),
        ("list", "--limit", "0"),
        ("list", "--limit", "many"),
        ("list", "--limit", "9" * 5000),
        ("list", "--status", "asleep"),
        ("list", "extra"),
        ("list", "--nosuch"),
        ("clean", "--older-than", "soon"),
        ("clean", "--older-than", "0d"),
        ("clean", "--older-than", "-3d"),
        ("clean", "--older-than", "999999999w"),
        ("show",),
        ("show", "login", "-n", "-1"),
        ("show", "login", "--markdown", "-n"),
        ("tail", "login", "-n", "-1"),
        ("add", "login", "text", "--role", "nobody"),
        ("add", "login", "text", "--tokens", "-1"),
        ("add", "login", "text", "--tokens", "9" * 30),
        ("add", "login", "text", "--jsonl"),
        ("export", "login", "--format", "pdf"),
        ("completion", "tcsh"),
        ("nosuch",),
        ("\x1b[31m",),
        ("--nosuch",),
    ],
    ids=lambda args: " ".join(args)[:40],
)
@pytest.mark.usefixtures("session")
def test_a_wrong_call_is_one_line_and_changes_nothing(cli: Segue, args: tuple[str, ...]) -> None:
    before = cli.files()
    cli.refuses(2, *args)
    assert cli.files() == before


@pytest.mark.parametrize(
    ("code", "name", "args"),
    [
        (2, "usage", ("show", "../x", "--json")),
        (2, "usage", ("show", "login", "--json", "--markdown")),
        (2, "usage", ("list", "--json", "--nosuch")),
        (3, "not_found", ("show", "nobody", "--json")),
        (4, "conflict", ("new", "--id", "login", "--json")),
        (5, "damaged", ("show", "broken", "--json")),
        (6, "storage", ("list", "--json", "--store", "journal:/dev/null")),
    ],
)
@pytest.mark.usefixtures("session")
def test_with_json_the_error_is_json_as_well(cli: Segue, code: int, name: str, args: tuple[str, ...]) -> None:
    (cli.root / "broken.jsonl").write_bytes(b"junk\n")
    result = cli.call(*args)
    error = json.loads(result.err)["error"]
    assert (result.code, error["code"]) == (code, name)
    assert error["message"]
    assert error["hint"]
    assert result.text == ""


@pytest.mark.parametrize(
    ("code", "args"),
    [
        (0, ("list",)),
        (1, ("chat", "--agent", "offline", "--id", "asked")),
        (2, ("list", "--limit", "many")),
        (3, ("show", "nobody")),
        (4, ("new", "--id", "login")),
        (5, ("show", "broken")),
        (6, ("list", "--store", "journal:/dev/null")),
        (8, ("ask", "--agent", "command:false", "--session", "login", "Why?")),
    ],
)
@pytest.mark.usefixtures("session")
def test_a_process_ends_as_a_call_within_this_process_does(cli: Segue, code: int, args: tuple[str, ...]) -> None:
    (cli.root / "broken.jsonl").write_bytes(b"junk\n")
    process = cli.run(*args, stdin=b"/nosuch\n")
    assert process.code == code, process
    if code == 1:
        cli.ok("delete", "asked", "--for-good", "--yes")
    assert cli.call(*args, stdin=b"/nosuch\n") == process


@pytest.mark.parametrize(
    "args", [("list",), ("show", "login"), ("--version",), ("--help",), ("list", "--help"), ("new",)]
)
@pytest.mark.usefixtures("session")
def test_output_that_cannot_be_written_is_one_line(cli: Segue, args: tuple[str, ...]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "segue", *args],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            env=cli.environment(),
        )
    assert done.returncode == 6
    assert done.stderr.startswith(b"segue: cannot write the output: the disk is full")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"])
@pytest.mark.parametrize("args", ["list", "add login", "nosuch"])
@pytest.mark.usefixtures("session")
def test_streams_that_are_closed_cause_no_traceback(cli: Segue, args: str, closed: str) -> None:
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m segue {args} {closed}"],
        input=b"text",
        capture_output=True,
        check=False,
        env=cli.environment(),
    )
    assert done.returncode in {0, 2, 6}
    assert b"Traceback" not in done.stderr


def test_a_mistake_of_our_own_is_one_line_too_and_shows_its_place_on_demand(cli: Segue) -> None:
    (cli.home / "segue_breaks.py").write_text(
        "import segue.library\ndef broken(url): raise RuntimeError('oh \\x1b[31m')\nsegue.library.open = broken\n"
        "from segue.cli import main\nmain()\n",
        encoding="utf-8",
    )
    for debug in ("", "1"):
        done = subprocess.run(
            [sys.executable, "segue_breaks.py", "list"],
            capture_output=True,
            check=False,
            cwd=cli.home,
            env=cli.environment(SEGUE_DEBUG=debug),
        )
        assert done.returncode == 70
        assert b"\x1b" not in done.stderr
        assert (b"Traceback" in done.stderr) == bool(debug)
        assert done.stderr.splitlines()[-1].startswith(b"segue: unexpected: RuntimeError: oh \\x1b[31m; ")

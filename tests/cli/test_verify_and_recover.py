from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.support.cli import PACKAGE

if TYPE_CHECKING:
    from tests.support.cli import Segue


def damage(cli: Segue, session: str) -> None:
    path = cli.root / f"{session}.jsonl"
    path.write_bytes(path.read_bytes().replace(b"Why does login fail?", b"Why does login work?"))


def test_sound_sessions_are_sound(cli: Segue, session: str) -> None:
    assert cli.ok("verify", session) == "1 session is sound\n"
    assert cli.ok("verify") == "1 session is sound\n"


def test_an_empty_store_is_sound(cli: Segue) -> None:
    assert cli.ok("verify") == "0 sessions are sound\n"


def test_every_damage_is_placed(cli: Segue, session: str) -> None:
    damage(cli, session)
    cli.ok("new", "--id", "sound")
    result = cli.call("verify")
    assert result.code == 5
    assert result.text.splitlines() == [
        "login: login.jsonl line 2: the checksum does not match: some of its bytes changed",
        "1 of 2 sessions is damaged",
    ]
    found = json.loads(cli.call("verify", session, "--json").out)
    assert (found["sound"], found["sessions"][0]["damages"][0]["line"]) == (False, 2)


def test_an_append_that_never_completed_is_said_and_no_damage(cli: Segue, session: str) -> None:
    with (cli.root / "login.jsonl").open("ab") as file:
        file.write(b'{"type":"tu')
    assert "11 bytes of an incomplete append" in cli.ok("verify", session)


def test_recovery_says_what_is_kept_and_lost_and_where_the_original_is(cli: Segue, session: str) -> None:
    damage(cli, session)
    damaged = (cli.root / "login.jsonl").read_bytes()
    shown = cli.ok("recover", session, "--yes")
    assert "lost: login.jsonl line 2" in shown
    assert "1 turn among them" in shown
    original = cli.root / "login.jsonl.corrupt"
    assert f"original: {original}" in shown
    assert original.read_bytes() == damaged
    assert "The token expires." in cli.ok("show", session)


def test_recovery_in_json(cli: Segue, session: str) -> None:
    damage(cli, session)
    found = json.loads(cli.ok("recover", session, "--yes", "--json"))
    assert (found["id"], found["kept_turns"], found["lost"][0]["line"]) == (session, 1, 2)


def test_recovery_asks_first(cli: Segue, session: str) -> None:
    damage(cli, session)
    before = cli.files()
    assert cli.call("recover", session).code == 2
    terminal = cli.at_terminal("recover", session)
    terminal.wait_for("[y/N]")
    terminal.type("\n")
    assert terminal.end().code == 1
    assert cli.files() == before


def test_what_is_sound_needs_no_recovery(cli: Segue, session: str) -> None:
    assert "is not damaged" in cli.refuses(2, "recover", session, "--yes")


def test_where_the_unexpected_came_from_is_shown_on_request(cli: Segue, session: str) -> None:
    trap = cli.home / "sitecustomize.py"
    trap.write_text(
        "import segue.stores.journal.file as file\n"
        "def parse(self): raise KeyError('branch')\n"
        "file.JournalFile.parse = parse\n"
    )
    path = f"{cli.home}:{PACKAGE}"
    quiet = cli.run("verify", PYTHONPATH=path)
    assert (quiet.code, quiet.complaint) == (5, "")
    assert f"{session}: {cli.root}/{session}.jsonl: Segue cannot read it (KeyError: 'branch')" in quiet.text
    verbose = cli.run("verify", PYTHONPATH=path, SEGUE_DEBUG="1")
    assert verbose.code == 5
    assert "Traceback" in verbose.complaint
    assert "KeyError: 'branch'" in verbose.complaint

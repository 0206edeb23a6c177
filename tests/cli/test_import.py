"""`segue import` and `segue watch`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

from segue.cli.import_ import TOOLS
from segue.integrations import INTEGRATIONS
from tests.support.integration_homes import CLAUDE, PLACES, move_in

if TYPE_CHECKING:
    from tests.support.cli import Segue

OLD = (1_700_000_000, 1_700_000_000)
NAME = f"claude-{CLAUDE}"


def settle(cli: Segue, *tools: str) -> None:
    """Files of which nobody would think that they are being written."""
    move_in(cli.home, *tools)
    for tool in tools:
        os.utime(cli.home / PLACES[tool], OLD)


def test_a_session_is_imported_by_the_beginning_of_its_id_and_once(cli: Segue) -> None:
    settle(cli, "claude")
    assert cli.ok("import", "claude", CLAUDE[:8]) == f"{NAME}: 4 turns\n"
    assert cli.ok("import", "claude", CLAUDE[:8]) == f"{NAME}: nothing new\n"
    assert "from-the-shell" in cli.ok("show", NAME)


def test_all_sessions_of_a_tool_are_imported_at_once(cli: Segue) -> None:
    settle(cli, "llm")
    told = [json.loads(line) for line in cli.ok("import", "llm", "--all", "--json").splitlines()]
    assert [(one["tool"], one["turns"], one["is_new"]) for one in told] == [("llm", 4, True), ("llm", 5, True)]
    assert len(cli.library.list()) == 2


def test_a_damaged_file_is_imported_as_far_as_it_goes_and_the_place_is_named(cli: Segue) -> None:
    settle(cli, "claude")
    with (cli.home / PLACES["claude"]).open("ab") as file:
        file.write(b'{"type":"us')
    os.utime(cli.home / PLACES["claude"], OLD)
    result = cli.run("import", "claude", "--all")
    assert (result.code, result.text) == (0, f"{NAME}: 4 turns\n")
    assert result.complaint.endswith("line 29: it is truncated\n")


def test_a_call_that_names_no_session_says_what_to_do(cli: Segue) -> None:
    told = "segue: specify a session or --all; for example: segue import claude --all"
    assert cli.refuses(2, "import", "claude") == told
    assert "claude has no session 'nothing'" in cli.refuses(3, "import", "claude", "nothing")
    assert "is not an AI tool" in cli.refuses(2, "import", "clod", "--all")


def test_the_command_knows_every_tool_whose_sessions_can_be_read() -> None:
    assert tuple(INTEGRATIONS) == TOOLS


def test_a_tool_without_sessions_is_no_error(cli: Segue) -> None:
    result = cli.run("import", "codex", "--all")
    assert (result.code, result.text) == (0, "")
    assert "codex has no sessions in" in result.complaint


def test_a_session_that_cannot_be_imported_is_named_and_shows_in_the_exit_code(cli: Segue) -> None:
    settle(cli, "claude")
    cli.library.create(id=NAME).close()
    result = cli.run("import", "claude", "--all")
    assert (result.code, result.text) == (4, "")
    assert result.complaint == f"segue: claude session {CLAUDE}: session {NAME} exists already\n"


def test_watching_copies_until_ctrl_c(cli: Segue) -> None:
    settle(cli, "claude")
    argv = [sys.executable, "-m", "segue", "watch", "claude", "--every", "0.1"]
    with subprocess.Popen(argv, env=cli.environment(), cwd=cli.home, stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == f"{NAME}: 4 turns\n".encode()
        (cli.home / PLACES["claude"]).unlink()
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == b""
    assert process.returncode == 130
    assert cli.library.load(NAME).turn_count == 4

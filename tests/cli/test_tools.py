"""`segue tools`: what there is on this machine, and what works with it. No tool is started."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from segue.integrations import INTEGRATIONS
from tests.support.integration_homes import move_in

if TYPE_CHECKING:
    from tests.support.cli import Segue


def install(cli: Segue, name: str) -> str:
    """A program that must not be started, in a folder of its own for the PATH."""
    folder = cli.home / "bin"
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\ntouch {cli.home}/started\n", encoding="utf-8")
    (folder / name).chmod(0o700)
    return str(folder)


def test_every_integration_is_listed_those_that_are_here_first(cli: Segue) -> None:
    move_in(cli.home, "claude", "aider", "opencode")
    path = install(cli, "codex")
    (cli.home / ".local/share/opencode/opencode.db").write_bytes(b"not a database" * 100)
    result = cli.run("tools", "--json", PATH=path)
    found = {tool["name"]: tool for tool in json.loads(result.text)}
    assert set(found) == set(INTEGRATIONS)
    assert list(found)[:3] == ["claude", "codex", "aider"]
    assert [name for name in found if found[name]["found"]] == ["claude", "codex", "aider"]
    assert (found["claude"]["sessions"], found["claude"]["program"]) == (1, None)
    assert (found["codex"]["sessions"], found["codex"]["program"]) == (0, f"{cli.home}/bin/codex")
    assert found["opencode"]["sessions"] is None
    assert "the sessions of opencode cannot be listed" in result.complaint
    for name, integration in INTEGRATIONS.items():
        assert ("hand over" in found[name]["works"]) == integration.can_launch
        assert found[name]["proven_with"] == integration.proven_with
    assert not (cli.home / "started").exists()


def test_a_terminal_gets_a_table_and_a_pipe_tabs(cli: Segue) -> None:
    path = install(cli, "codex")
    first = cli.run("tools", PATH=path).text.splitlines()[0].split("\t")
    assert (first[0], first[2:5]) == ("codex", ["yes", "0", "read, watch, hand over, comes back"])
    shown = re.sub(r"\x1b\[[0-9;]*m", "", cli.at_terminal("tools", PATH=path, COLUMNS="80").end().text)
    lines = shown.splitlines()
    assert lines[0].split() == ["TOOL", "HERE", "SESSIONS", "WORKS", "PROVEN", "WITH"]
    assert all(len(line) <= 80 for line in lines)

"""`segue watch` collects the sessions of several machines in one library."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import segue
from tests.support.cli import Segue
from tests.support.integration_homes import HOMES
from tests.support.postgres_proxy import LoopbackProxy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.postgres import PostgresServer

TOOLS, FILE = "claude-a26b1912-3f90-47fc-9fda-ca899ee28c25", "claude-0282f877-4ae8-43e6-bc2e-767735995f91"


@pytest.fixture
def network(postgres_server: PostgresServer) -> Iterator[LoopbackProxy]:
    with LoopbackProxy(postgres_server) as proxy:
        yield proxy


def machine(root: Path, home: str, store: str) -> Segue:
    """A machine with sessions of an AI tool, and this store."""
    shutil.copytree(HOMES / home, root / home)
    cli = Segue(root / home)
    cli.store = store
    return cli


class Watching:
    def __init__(self, cli: Segue) -> None:
        argv = [sys.executable, "-m", "segue", "watch", "claude", "--every", "0.1"]
        self.process = subprocess.Popen(
            argv, env=cli.environment(), cwd=cli.home, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


def continue_claude(cli: Segue, question: str) -> None:
    """Add a message of the user at the end of the session."""
    (path,) = (cli.home / ".claude").rglob("*.jsonl")
    *_, last = (record for line in path.read_bytes().splitlines() if "uuid" in (record := json.loads(line)))
    fields = ("sessionId", "timestamp", "cwd", "isSidechain")
    turn = {name: last[name] for name in fields} | {"type": "user", "uuid": f"new-{len(question)}"}
    message = {"role": "user", "content": question}
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(turn | {"parentUuid": last["uuid"], "message": message}) + "\n")


def test_two_machines_collect_into_one_library_and_continue_after_a_lost_connection(
    tmp_path: Path, network: LoopbackProxy, postgres_schema: str, postgres_url: str
) -> None:
    store = network.url(postgres_schema, timeout="1s")
    one, other = machine(tmp_path, "claude-tools", store), machine(tmp_path, "claude-at-file", store)
    first, second = Watching(one), Watching(other)
    try:
        assert first.line() == f"{TOOLS}: 48 turns\n"
        assert second.line() == f"{FILE}: 2 turns\n"
        network.refuse()
        continue_claude(other, "And now?")
        assert second.line().startswith("segue: cannot connect to postgresql://")
        network.accept()
        assert second.line() == f"{FILE}: 1 turn\n"
        assert second.line().endswith(" answers again\n")
    finally:
        first.end()
        second.end()
    with segue.open(postgres_url) as library:
        assert sorted(head.id for head in library.list()) == [FILE, TOOLS]
        assert library.tail(FILE, 1)[0].content == "And now?"
        assert library.overview(FILE).extra["cwd"] != library.overview(TOOLS).extra["cwd"]

"""Processes that are killed while they append, and eight of them on one session."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import anyio

import segue
from segue.bridges.claude_agent_sdk import SegueSessionStore
from tests.bridges.claude_agent_sdk.conversations import load
from tests.bridges.crashing import run_killed, run_many

if TYPE_CHECKING:
    import pytest

PROGRAM = Path(__file__).parent / "programs" / "appending.py"
WARM = ["claude_agent_sdk", "anyio", "segue.bridges.claude_agent_sdk"]


def uuids(url: str) -> list[str]:
    return [entry["uuid"] for entry in load(SegueSessionStore(url)) if "uuid" in entry]


def noted(url: str) -> list[str]:
    return [entry["of"] for entry in load(SegueSessionStore(url)) if "of" in entry]


def test_a_killed_program_goes_on_after_its_last_acknowledged_append(
    tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    kills = 200 if pytestconfig.getoption("long") else 8
    url = f"journal:{tmp_path}"
    acks = run_killed(PROGRAM, url, "50", "m", seed=11, kills=kills, preload=WARM)
    wanted = [f"m{number}" for number in range(50)]
    assert uuids(url) == wanted
    assert noted(url) == wanted  # without a uuid, but in the same append: neither lost nor doubled
    assert set(acks) <= set(wanted)
    (head,) = segue.open(url).list()
    assert (head.turn_count, head.branch) == (50, "main")


def test_eight_processes_on_one_session_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    _eight(f"journal:{tmp_path}", 15)


def test_eight_processes_on_one_session_lose_nothing_on_postgres(postgres_url: str) -> None:
    _eight(postgres_url, 8)


def _eight(url: str, count: int) -> None:
    prefixes = [f"{letter}-" for letter in "abcdefgh"]
    acks = run_many(PROGRAM, [[url, str(count), prefix] for prefix in prefixes], preload=WARM)
    found = uuids(url)
    assert sorted(found) == sorted(acks)
    assert noted(url) == found
    for prefix in prefixes:
        assert [uuid for uuid in found if uuid.startswith(prefix)] == [f"{prefix}{at}" for at in range(count)]
    library = segue.open(url)
    (head,) = library.list()
    session = library.load(head.id)
    assert sorted([turn.content for turn in session.path(name)] for name in session.branches) == [
        [f"{prefix}{at}" for at in range(count)] for prefix in prefixes
    ]
    (summary,) = anyio.run(SegueSessionStore(url).list_session_summaries, "p")
    assert summary["session_id"] == "s"

"""An agent that is killed at any moment goes on; many processes on one session lose nothing."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from segue.bridges.openai_agents import SegueSession
from tests.bridges.crashing import run_killed, run_many

if TYPE_CHECKING:
    import pytest

PROGRAMS = Path(__file__).parent / "programs"
WARM = ["agents", "agents.testing", "segue.bridges.openai_agents"]


def test_a_killed_run_goes_on_with_every_acknowledged_item_once(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    kills = 200 if pytestconfig.getoption("long") else 5
    url = f"journal:{tmp_path}"
    acks = run_killed(PROGRAMS / "agent_run.py", url, "8", seed=3, kills=kills, preload=WARM)
    items = read(url, "support/4711")
    found = [label(item) for item in items]
    assert set(acks) <= set(found)
    assert max(Counter(found).values()) == 1
    assert [text for text in found if text.startswith("user:")] == [f"user:question {number}" for number in range(8)]
    calls = [item["call_id"] for item in items if item.get("type") == "function_call"]
    results = [item["call_id"] for item in items if item.get("type") == "function_call_output"]
    assert results == calls


def test_eight_processes_on_one_session_lose_nothing(tmp_path: Path) -> None:
    url = f"journal:{tmp_path}"
    runs = [[url, "8", f"p{number}-"] for number in range(8)]
    acks = run_many(PROGRAMS / "many.py", runs, preload=WARM)
    texts = [item["content"] for item in read(url, "shared")]
    assert texts[::2] == texts[1::2], "a pair was torn apart"
    assert sorted(texts[::2]) == sorted(acks)
    assert len(acks) == 64


def test_eight_processes_on_one_session_in_postgres_lose_nothing(postgres_url: str) -> None:
    runs = [[postgres_url, "4", f"p{number}-"] for number in range(8)]
    acks = run_many(PROGRAMS / "many.py", runs, preload=WARM)
    assert sorted(item["content"] for item in read(postgres_url, "shared")[::2]) == sorted(acks)
    assert len(acks) == 32


def read(url: str, name: str) -> list[Any]:
    return asyncio.run(SegueSession(name, url).get_items())


def label(item: dict[str, Any]) -> str:
    what = item.get("call_id") or item["content"]
    text = what if isinstance(what, str) else what[0]["text"]
    return f"{item.get('type') or item['role']}:{text}"

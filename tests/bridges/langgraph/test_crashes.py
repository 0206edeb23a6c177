"""What a kill at any moment and many processes at once leave of a thread."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from segue.bridges.langgraph import SegueSaver
from tests.bridges.crashing import run_killed, run_many

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

PROGRAMS = Path(__file__).parent / "programs"
PRELOAD = ["langgraph.graph", "segue.bridges.langgraph", "segue.stores.journal.store"]
ROUNDS = 6
MESSAGES = [
    text
    for at in range(0, 4 * ROUNDS, 4)
    for text in (f"question {at}", f"plan {at + 1}", f"yes {at + 2}", f"done {at + 3}")
]


def check(url: str, *, seed: int, kills: int) -> None:
    acks = run_killed(PROGRAMS / "agent.py", url, str(ROUNDS), seed=seed, kills=kills, preload=PRELOAD)
    seen = [ack.split(",") if ack else [] for ack in acks]
    assert all(messages == MESSAGES[: len(messages)] for messages in seen)
    assert all(len(after) >= len(before) for before, after in pairwise(seen))  # nothing acknowledged was lost
    assert seen[-1] == MESSAGES
    with SegueSaver(url) as saver:
        session = saver._sessions.store.load(saver._sessions.id_of("crash"))
        assert [turn.content for turn in session.turns] == MESSAGES
        assert list(session.branches) == ["main"]


def test_a_graph_that_is_killed_resumes_after_its_last_step(tmp_path: Path) -> None:
    check(f"journal:{tmp_path}/agents", seed=1, kills=8)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
def test_a_graph_that_is_killed_often_resumes_after_its_last_step(tmp_path: Path, seed: int) -> None:
    check(f"journal:{tmp_path}/agents", seed=seed, kills=40)


def test_a_graph_on_postgres_that_is_killed_resumes_after_its_last_step(postgres_url: str) -> None:
    check(postgres_url, seed=2, kills=3)


@pytest.mark.parametrize("store", ["journal", "postgres"])
def test_eight_processes_on_one_thread_lose_nothing(store: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    url = f"journal:{tmp_path}/agents" if store == "journal" else request.getfixturevalue("postgres_url")
    acks = run_many(PROGRAMS / "many.py", [[url, f"process-{number}", "6"] for number in range(8)], preload=PRELOAD)
    config: RunnableConfig = {"configurable": {"thread_id": "shared"}}
    with SegueSaver(url) as saver:
        found = list(saver.list(config))
        assert {f"put {one.checkpoint['id']}" for one in found} == {ack for ack in acks if ack.startswith("put ")}
        writes = {f"write {task}" for one in found for task, _, _ in one.pending_writes or ()}
        assert writes == {ack for ack in acks if ack.startswith("write ")}
        assert len(found) == 48
        messages = {message.content for one in found for message in one.checkpoint["channel_values"]["messages"]}
        session = saver._sessions.store.load(saver._sessions.id_of("shared"))
        assert {turn.content for turns in session.own_turns.values() for turn in turns} == messages
        assert len(messages) == 48

"""A killed agent continues after its last acknowledged messages, and eight processes on one session lose none."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from segue.bridges.agent_framework import SegueHistoryProvider
from tests.bridges.crashing import run_killed, run_many

if TYPE_CHECKING:
    import pytest
    from agent_framework import Message

PROGRAM = Path(__file__).parent / "programs" / "asking.py"
WARM = ["segue.bridges.agent_framework", "examples.agent_framework.agent"]
ASKED = 15


def test_a_killed_agent_continues_after_its_last_acknowledged_messages(
    tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    kills = 60 if pytestconfig.getoption("long") else 8
    acks = run_killed(PROGRAM, f"journal:{tmp_path}", str(ASKED), seed=5, kills=kills, preload=WARM)
    messages = _messages(f"journal:{tmp_path}")
    assert [_shape(message) for message in messages] == [
        shape
        for number in range(ASKED)
        for shape in (
            f"user How is it in {number}?",
            f"assistant calls call-{number}",
            f"tool In {number} it is sunny.",
            f"assistant In {number} it is sunny.",
        )
    ]
    assert set(acks) <= {f"{message.role} {message.text}" for message in messages}


def test_eight_processes_on_one_session_lose_nothing(tmp_path: Path) -> None:
    _lose_nothing(f"journal:{tmp_path}")


def test_eight_processes_on_one_session_lose_nothing_on_postgres(postgres_url: str) -> None:
    _lose_nothing(postgres_url)


def _lose_nothing(store: str) -> None:
    acks = run_many(PROGRAM, [[store, "4", f"p{number}-"] for number in range(8)], preload=WARM)
    messages = _messages(store)
    asked = {f"user How is it in p{process}-{number}?" for process in range(8) for number in range(4)}
    assert asked <= set(acks)
    assert sorted(acks) == sorted(f"{message.role} {message.text}" for message in messages)


def _messages(store: str) -> list[Message]:
    with SegueHistoryProvider(store) as history:
        return asyncio.run(history.get_messages("trip"))


def _shape(message: Message) -> str:
    (content,) = message.contents
    if content.type == "function_call":
        return f"{message.role} calls {content.call_id}"
    return f"{message.role} {content.result if content.type == 'function_result' else content.text}"

"""A killed agent continues after its last acknowledged message, and eight processes on one session lose none."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from segue.bridges.strands import SegueRepository
from tests.bridges.crashing import run_killed, run_many

if TYPE_CHECKING:
    import pytest
    from strands.types.session import SessionMessage

PROGRAM = Path(__file__).parent / "programs" / "asking.py"
WARM = ["segue.bridges.strands", "examples.strands.agent"]
ASKED = 12


def test_a_killed_agent_continues_after_its_last_acknowledged_message(
    tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    kills = 60 if pytestconfig.getoption("long") else 8
    acks = run_killed(PROGRAM, f"journal:{tmp_path}", str(ASKED), seed=3, kills=kills, preload=WARM)
    messages = _messages(f"journal:{tmp_path}")
    assert [message.message_id for message in messages] == list(range(4 * ASKED))
    assert [_shape(message) for message in messages] == [
        shape
        for number in range(ASKED)
        for shape in (
            f"user How is it in {number}?",
            f"assistant calls {number}",
            f"user In {number} it is sunny.",
            f"assistant In {number} it is sunny.",
        )
    ]
    there = {f"{message.message_id} {message.message['content'][0].get('text', '')}" for message in messages}
    assert set(acks) <= there


def test_eight_processes_on_one_session_lose_nothing(tmp_path: Path) -> None:
    _lose_nothing(f"journal:{tmp_path}")


def test_eight_processes_on_one_session_lose_nothing_on_postgres(postgres_url: str) -> None:
    _lose_nothing(postgres_url)


def _lose_nothing(store: str) -> None:
    runs = [[store, "4", f"p{number}-"] for number in range(8)]
    acks = run_many(PROGRAM, runs, preload=WARM)
    messages = _messages(store)
    asked = {f"How is it in p{process}-{number}?" for process in range(8) for number in range(4)}
    assert asked <= {message.message["content"][0].get("text") for message in messages}
    assert [message.message_id for message in messages] == list(range(len(messages)))
    there = [f"{message.message_id} {message.message['content'][0].get('text', '')}" for message in messages]
    assert sorted(acks) == sorted(there)


def _messages(store: str) -> list[SessionMessage]:
    with SegueRepository(store) as repository:
        return repository.list_messages("trip", "forecaster")


def _shape(message: SessionMessage) -> str:
    role, (content, *_) = message.message["role"], message.message["content"]
    if "toolUse" in content:
        return f"{role} calls {content['toolUse']['input']['city']}"
    if "toolResult" in content:
        return f"{role} {content['toolResult']['content'][0]['text']}"
    return f"{role} {content['text'].strip()}"

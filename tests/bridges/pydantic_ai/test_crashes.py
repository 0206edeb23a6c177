"""What was saved is there, once, whatever happens to the process; and of many processes none loses a message."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart

from segue.bridges.pydantic_ai import SegueConversationStore
from tests.bridges.crashing import run_killed, run_many

if TYPE_CHECKING:
    import pytest
    from pydantic_ai import Conversation

PROGRAMS = Path(__file__).parent / "programs"
WARM = ["pydantic_ai", "pydantic_ai.models.function", "segue.bridges.pydantic_ai", "segue.stores.journal.store"]


def load(url: str, conversation_id: str) -> Conversation:
    conversation = asyncio.run(SegueConversationStore(url).load(conversation_id))
    assert conversation is not None
    return conversation


def prompts(conversation: Conversation) -> list[object]:
    parts = [part for message in conversation.messages if isinstance(message, ModelRequest) for part in message.parts]
    return [part.content for part in parts if isinstance(part, UserPromptPart)]


def test_a_killed_agent_resumes_from_what_it_saved_last(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    count, kills = (60, 200) if pytestconfig.getoption("long") else (16, 6)
    url = f"journal:{tmp_path}"
    acks = run_killed(PROGRAMS / "talking.py", url, str(count), seed=3, kills=kills, preload=WARM)

    talk = load(url, "talk")
    assert prompts(talk) == [f"question {number}" for number in range(1, count + 1)]
    assert len(talk.messages) == 4 * count  # question, call, result, answer: none twice
    parts = [part for message in talk.messages if isinstance(message, ModelResponse) for part in message.parts]
    answers = [part.content for part in parts if isinstance(part, TextPart)]
    assert answers == [f"answer {number}" for number in range(1, count + 1)]
    assert {ack.rpartition(" ")[0] for ack in acks} <= set(answers)
    assert talk.revision == acks[-1].rpartition(" ")[2]
    assert talk.usage.requests == 2 * count


def test_eight_processes_on_one_conversation_lose_nothing(tmp_path: Path) -> None:
    url = f"journal:{tmp_path}"
    acks = run_many(PROGRAMS / "competing.py", [[url, f"p{number}", "6"] for number in range(8)], preload=WARM)
    assert len(acks) == 48
    assert sorted(map(str, prompts(load(url, "shared")))) == sorted(acks)


def test_eight_processes_on_one_conversation_in_postgres_lose_nothing(postgres_url: str) -> None:
    acks = run_many(PROGRAMS / "competing.py", [[postgres_url, f"p{number}", "2"] for number in range(8)], preload=WARM)
    assert len(acks) == 16
    assert sorted(map(str, prompts(load(postgres_url, "shared")))) == sorted(acks)

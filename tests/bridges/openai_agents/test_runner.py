"""Agents of the SDK with a session of Segue: runs, streams, handoffs, approvals, usage, compaction, encryption."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest.mock import AsyncMock, MagicMock

import pytest
from agents import (
    Agent,
    OpenAIResponsesCompactionSession,
    Runner,
    RunResult,
    RunState,
    Usage,
    function_tool,
    handoff,
    set_tracing_disabled,
)
from agents.extensions.memory import EncryptedSession
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call

import segue
from segue.bridges.openai_agents import SegueSession

if TYPE_CHECKING:
    from pathlib import Path

    from segue.model import Turn


@pytest.fixture(autouse=True)
def _no_tracing() -> None:
    set_tracing_disabled(True)


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"journal:{tmp_path}/agents"


@function_tool
def weather(city: str) -> str:
    return f"rain in {city}"


@function_tool(needs_approval=True)
def delete_file(path: str) -> str:
    return f"deleted {path}"


def says(text: str) -> ModelStep:
    usage = Usage(requests=1, input_tokens=100, output_tokens=7, total_tokens=107)
    return ModelStep(output=[assistant_message(text)], usage=usage)


def calls(name: str, **arguments: str) -> ModelStep:
    return ModelStep(output=[function_call(name, arguments, call_id=f"call-{name}")])


def agent(*steps: ModelStep, **options: Any) -> Agent[None]:  # noqa: ANN401
    return Agent(name="helper", model=ScriptedModel(steps=list(steps)), **options)


def turns(session: SegueSession) -> tuple[Turn, ...]:
    return segue.open(session._sessions.store.url).load(session.segue_id).turns


def run_sync(helper: Agent[None], text: str, session: SegueSession) -> RunResult:
    """As in a program without a loop: the SDK leaves the one that it makes open."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        return Runner.run_sync(helper, text, session=session)
    finally:
        loop.close()
        asyncio.set_event_loop(None)


def kinds(items: list[Any]) -> list[str]:
    return [item.get("type") or item["role"] for item in items]


def test_a_run_remembers_the_runs_before(url: str) -> None:
    helper = agent(says("one"), says("two"), says("three"))
    model = helper.model
    assert isinstance(model, ScriptedModel)
    session = SegueSession("t", url)
    run_sync(helper, "first", session)

    async def main() -> None:
        await Runner.run(helper, "second", session=SegueSession("t", url))
        streamed = Runner.run_streamed(helper, "third", session=session)
        async for _ in streamed.stream_events():
            pass
        assert streamed.final_output == "three"

    asyncio.run(main())
    assert model.last_call is not None
    assert [turn.content for turn in turns(session)] == ["first", "one", "second", "two", "third", "three"]
    assert len(model.last_call.input) == 5


def test_answers_have_the_tokens_that_they_used(url: str) -> None:
    session = SegueSession("t", url)
    run_sync(agent(calls("weather", city="Oslo"), says("It rains."), tools=[weather]), "Oslo?", session)
    found = turns(session)
    assert [(turn.role, turn.tokens, turn.tokens_by) for turn in found if turn.tokens] == [("assistant", 7, "provider")]
    assert found[-1].extra["usage"] == {"input_tokens": 100, "output_tokens": 7}


def test_a_handoff_is_a_call_with_its_result(url: str) -> None:
    billing = agent(says("Paid."))
    billing.name = "billing"
    triage = agent(calls("transfer_to_billing"), handoffs=[handoff(billing)])
    session = SegueSession("t", url)
    result = run_sync(triage, "my invoice?", session)
    assert result.last_agent is billing
    parts = [part["type"] for turn in turns(session) for part in turn.parts]
    assert parts == ["tool_call", "tool_result"]
    assert turns(session)[-1].content == "Paid."


def test_a_run_that_waits_for_approval_is_resumed_elsewhere(url: str) -> None:
    async def main() -> None:
        steps = calls("delete_file", path="a.txt"), says("Done.")
        helper = agent(*steps, tools=[delete_file])
        first = await Runner.run(helper, "delete a.txt", session=SegueSession("t", url))
        assert len(first.interruptions) == 1
        state = await RunState.from_string(helper, first.to_state().to_string())
        state.approve(state.get_interruptions()[0])
        session = SegueSession("t", url)
        result = await Runner.run(helper, state, session=session)
        assert result.final_output == "Done."
        items = await session.get_items()
        assert kinds(items) == ["user", "function_call", "function_call_output", "message"]

    asyncio.run(main())


def test_two_runs_at_once_on_one_session_lose_nothing(url: str) -> None:
    async def main() -> None:
        session = SegueSession("t", url)
        runs = [Runner.run(agent(says(f"answer {n}")), f"question {n}", session=session) for n in range(4)]
        await asyncio.gather(*runs)
        texts = {turn.content for turn in turns(session)}
        assert texts == {f"{what} {n}" for what in ("question", "answer") for n in range(4)}

    asyncio.run(main())


def test_usage_is_stored_for_each_turn(url: str) -> None:
    async def main() -> None:
        session = SegueSession("t", url)
        helper = agent(says("one"), says("two"))
        for question in ("first", "second"):
            await session.store_run_usage(await Runner.run(helper, question, session=session))
        again = SegueSession("t", url)
        usage = await again.get_turn_usage()
        assert isinstance(usage, list)
        assert [(one["user_turn_number"], one["total_tokens"]) for one in usage] == [(1, 107), (2, 107)]
        total = await again.get_session_usage()
        assert total == {
            "requests": 2,
            "input_tokens": 200,
            "output_tokens": 14,
            "total_tokens": 214,
            "total_turns": 2,
        }
        await session.pop_item()
        await session.pop_item()
        assert len(await again.get_turn_usage()) == 1

    asyncio.run(main())


def compacting(session: Any) -> tuple[OpenAIResponsesCompactionSession, MagicMock]:  # noqa: ANN401
    client = MagicMock()
    summary = {"type": "compaction", "id": "cmp-1", "encrypted_content": "secret summary"}
    client.responses.compact = AsyncMock(return_value=SimpleNamespace(output=[summary], usage=None))
    compacted = OpenAIResponsesCompactionSession(
        "t", session, client=client, compaction_mode="input", should_trigger_compaction=lambda _: True
    )
    return compacted, client


def test_compaction_replaces_the_history_at_once_and_the_old_one_stays(url: str) -> None:
    async def main() -> None:
        session = SegueSession("t", url)
        compacted, client = compacting(session)
        await Runner.run(agent(says("one")), "first", session=compacted)
        client.responses.compact.assert_awaited_once()
        assert kinds(await session.get_items()) == ["compaction"]
        library = segue.open(url)
        assert [turn.content for turn in library.load(session.segue_id).path("main")] == ["first", "one"]
        await compacted.run_compaction({"force": True})
        assert kinds(await session.get_items()) == ["compaction"]

    asyncio.run(main())


def test_items_that_come_during_a_compaction_are_not_lost(url: str) -> None:
    async def main() -> None:
        session = SegueSession("t", url)
        compacted, client = compacting(session)
        answer = client.responses.compact.return_value

        async def meanwhile(**_: object) -> object:
            await SegueSession("t", url).add_items([{"role": "user", "content": "from another process"}])
            return answer

        client.responses.compact = AsyncMock(side_effect=meanwhile)
        await Runner.run(agent(says("one")), "first", session=compacted)
        assert [turn.content for turn in turns(session)] == ["first", "one", "from another process"]

    asyncio.run(main())


@pytest.mark.parametrize("is_compacted", [False, True])
def test_an_encrypted_session_has_no_plain_text_in_the_store(url: str, tmp_path: Path, *, is_compacted: bool) -> None:
    async def main() -> None:
        plain = SegueSession("t", url)
        inner = compacting(plain)[0] if is_compacted else plain
        session = EncryptedSession("t", inner, encryption_key="a key of many letters", ttl=600)
        await Runner.run(agent(says("the answer")), "the question", session=session)
        items = await session.get_items()
        assert kinds(items) == (["compaction"] if is_compacted else ["user", "message"])
        stored = b"".join(path.read_bytes() for path in (tmp_path / "agents").rglob("*") if path.is_file())
        assert b"the question" not in stored
        assert b"the answer" not in stored
        assert await session.pop_item() == items[-1]

    asyncio.run(main())


def test_a_wrong_key_destroys_nothing(url: str) -> None:
    """EncryptedSession takes away what it cannot read; the version of the branch before still has it."""

    async def main() -> None:
        plain = SegueSession("t", url)
        await EncryptedSession("t", plain, encryption_key="right").add_items([{"role": "user", "content": "hello"}])
        wrong = EncryptedSession("t", plain, encryption_key="wrong")
        assert await wrong.pop_item() is None
        with segue.open(url).open(plain.segue_id) as live:
            live.switch("main")
        again = EncryptedSession("t", SegueSession("t", url), encryption_key="right")
        assert await again.get_items() == [{"role": "user", "content": "hello"}]

    asyncio.run(main())


def test_what_a_run_records_is_json(url: str) -> None:
    session = SegueSession("t", url)
    run_sync(agent(calls("weather", city="Oslo"), says("It rains."), tools=[weather]), "Oslo?", session)
    items = asyncio.run(session.get_items())
    assert json.loads(json.dumps(items)) == items
    assert kinds(items) == ["user", "function_call", "function_call_output", "message"]

"""Real agents with scripted models, whose conversations are in our store."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import UUID

import pytest
import trio
from pydantic_ai import Agent, Conversation, conversation_store
from pydantic_ai._uuid import uuid7
from pydantic_ai.conversation_store import ConversationConflict
from pydantic_ai.messages import (
    BinaryImage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.tools import DeferredToolRequests
from pydantic_ai.usage import RequestUsage, UsageLimits

from segue.bridges.pydantic_ai import SegueConversationStore
from segue.integrations.format.pairs import pair_calls
from tests.bridges.pydantic_ai.stores import entries_shown, session_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.models.function import AgentInfo

PNG = b"\x89PNG\xff\xfe" + bytes(100)


@pytest.fixture(params=["journal", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres_url"))
    return f"journal:{tmp_path}/agents"


@pytest.fixture
def journal(tmp_path: Path) -> SegueConversationStore:
    return SegueConversationStore(f"journal:{tmp_path}/agents")


def weather_agent() -> Agent[None, str]:
    agent = Agent(TestModel(), system_prompt="Be brief.")

    @agent.tool_plain
    def weather(city: str) -> str:
        return f"sunny in {city}"

    return agent


def said(*texts: str) -> list[ModelMessage]:
    return [ModelRequest(parts=[UserPromptPart(text)]) for text in texts]


async def saved(store: SegueConversationStore, id: str, *texts: str, scope: str | None = None) -> Conversation:
    conversation = Conversation(conversation_id=id, messages=said(*texts))
    await store.save(conversation, scope=scope)
    return conversation


def test_an_agent_with_tools_continues_in_another_process(url: str) -> None:
    async def run() -> None:
        agent = weather_agent()
        result = await agent.run("What is the weather?", conversation=Conversation(conversation_id="w"))
        assert len(await SegueConversationStore(url).save(result)) == 4

        later = SegueConversationStore(url)
        conversation = await later.load("w")
        assert conversation is not None
        assert conversation.messages == result.all_messages()
        assert conversation.usage == result.usage
        again = await agent.run("And now?", conversation=conversation)
        assert len(await later.save(again)) == 2
        await later.save(again)  # nothing new
        whole = await SegueConversationStore(url).load("w")
        assert whole is not None
        assert whole.messages == again.all_messages()

    asyncio.run(run())


def test_its_messages_are_turns(url: str) -> None:
    store = SegueConversationStore(url)
    result = asyncio.run(weather_agent().run("What is the weather?", conversation=Conversation(conversation_id="w")))
    asyncio.run(store.save(result))

    session = session_of(store, "w")
    assert [turn.role for turn in session.turns] == ["system", "user", "assistant", "tool", "assistant"]
    assert [turn.content for turn in session.turns[:2]] == ["Be brief.", "What is the weather?"]
    assert session.turns[-1].content == result.output
    (pair,) = pair_calls(session.turns).values()
    assert pair.call["name"] == "weather"
    assert pair.result is not None
    assert str(pair.result["content"]).startswith("sunny in")
    answers = [turn for turn in session.turns if turn.role == "assistant"]
    assert [turn.model for turn in answers] == ["test", "test"]
    responses = [message for message in result.all_messages() if isinstance(message, ModelResponse)]
    assert [turn.tokens for turn in answers] == [message.usage.output_tokens for message in responses]
    assert [turn.timestamp for turn in answers] == [message.timestamp for message in responses]
    assert session.extra["tool"] == "pydantic-ai"
    assert session.title == "What is the weather?"


def test_a_message_of_many_kinds_is_a_turn_for_each_speaker(journal: SegueConversationStore) -> None:
    messages: list[ModelMessage] = [
        ModelRequest(
            parts=[
                SystemPromptPart("rules"),
                UserPromptPart(["look", BinaryImage(PNG, media_type="image/png"), "at this"]),
            ]
        ),
        ModelResponse(
            parts=[
                ThinkingPart("hm"),
                TextPart("let me see"),
                ToolCallPart("a", '{"x": 1}', "1"),
                ToolCallPart("b", "{x", "2"),
            ],
            model_name="m",
            usage=RequestUsage(input_tokens=5, output_tokens=3, cache_read_tokens=2),
        ),
        ModelRequest(
            parts=[
                ToolReturnPart("a", {"found": [1]}, "1"),
                ToolReturnPart("b", "wrong arguments", "2", outcome="retried"),
            ]
        ),
        ModelResponse(parts=[], model_name="m"),
    ]
    asyncio.run(journal.save(Conversation(conversation_id="c", messages=messages)))
    session = session_of(journal, "c")
    assert [(turn.role, turn.content) for turn in session.turns] == [
        ("system", "rules"),
        ("user", "look\n\nat this"),
        ("assistant", "let me see"),
        ("tool", '{"found": [1]}\n\nwrong arguments'),
        ("assistant", ""),
    ]
    assert [part["type"] for part in session.turns[2].parts] == ["reasoning", "tool_call", "tool_call"]
    assert [part.get("arguments") for part in session.turns[2].parts[1:]] == [{"x": 1}, "{x"]
    assert [part.get("is_error", False) for part in session.turns[3].parts] == [False, True]
    assert session.turns[2].extra["usage"] == {"input_tokens": 5, "cached_tokens": 2, "output_tokens": 3}
    image = session.turns[1].parts[0]
    assert journal._sessions.store.get_blob(session.id, str(image["hash"])) == PNG


def test_a_run_that_waits_for_approval_goes_on_in_another_process(url: str) -> None:
    def model(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        if len(messages) == 1:
            return ModelResponse(parts=[ToolCallPart("erase", {"path": "notes"}, "call-1")])
        return ModelResponse(parts=[TextPart("done")])

    erased: list[str] = []
    agent = Agent(FunctionModel(model), output_type=[str, DeferredToolRequests])

    @agent.tool_plain(requires_approval=True)
    def erase(path: str) -> str:
        erased.append(path)
        return "erased"

    async def run() -> None:
        result = await agent.run("erase my notes", conversation=Conversation(conversation_id="e"))
        await SegueConversationStore(url).save(result, scope="anna")
        assert erased == []

        later = SegueConversationStore(url)
        assert await later.load("e", scope="bert") is None
        waiting = await later.load("e", scope="anna")
        assert waiting is not None
        assert waiting.deferred_tool_requests is not None
        answers = waiting.deferred_tool_requests.build_results(approve_all=True)
        done = await agent.run(conversation=waiting, deferred_tool_results=answers)
        await later.save(done)
        assert (done.output, erased) == ("done", ["notes"])
        stored = await later.load("e")
        assert stored is not None
        assert stored.deferred_tool_requests is None

    asyncio.run(run())


def test_a_streamed_answer_is_saved_whole(url: str) -> None:
    async def stream(_: list[ModelMessage], __: AgentInfo) -> AsyncIterator[str]:
        for word in ("one ", "two ", "three"):
            yield word

    async def run() -> None:
        store = SegueConversationStore(url)
        agent = Agent(FunctionModel(stream_function=stream))
        async with agent.run_stream("count", conversation=Conversation(conversation_id="s")) as result:
            chunks = [chunk async for chunk in result.stream_text(delta=True, debounce_by=None)]
            conversation = Conversation(conversation_id="s", messages=result.all_messages())
        await store.save(conversation)
        assert chunks == ["one ", "two ", "three"]
        assert [turn.content for turn in session_of(store, "s").turns] == ["count", "one two three"]

    asyncio.run(run())


def test_the_budget_of_a_conversation_does_not_start_over(journal: SegueConversationStore) -> None:
    async def run() -> None:
        agent = weather_agent()
        await journal.save(await agent.run("hi", conversation=Conversation(conversation_id="b")))
        conversation = await journal.load("b")
        with pytest.raises(Exception, match="request_limit"):
            await agent.run("more", conversation=conversation, usage_limits=UsageLimits(request_limit=2))

    asyncio.run(run())


def test_it_works_under_trio(journal: SegueConversationStore) -> None:
    async def run() -> None:
        conversation = await saved(journal, "t", "hello")
        loaded = await journal.load("t")
        assert loaded is not None
        assert loaded.messages == conversation.messages
        async with trio.open_nursery() as nursery:
            for number in range(5):
                nursery.start_soon(saved, journal, f"t{number}", "side by side")
        assert len(await journal.list_conversations()) == 6

    trio.run(run)


def test_of_many_tasks_that_save_the_same_revision_one_wins(url: str) -> None:
    async def run() -> list[object]:
        store = SegueConversationStore(url)
        await saved(store, "c", "first")
        copies = [await store.load("c") for _ in range(5)]
        for number, copy in enumerate(copies):
            assert copy is not None
            copy.messages += said(f"from {number}")
        results = await asyncio.gather(*[store.save(copy) for copy in copies if copy], return_exceptions=True)
        stored = await store.load("c")
        assert stored is not None
        assert len(stored.messages) == 2
        return list(results)

    results = asyncio.run(run())
    assert sum(isinstance(result, ConversationConflict) for result in results) == 4


def test_a_fork_has_all_turns_and_outlives_the_original(url: str) -> None:
    async def run() -> None:
        store = SegueConversationStore(url)
        image = ModelRequest(parts=[UserPromptPart([BinaryImage(PNG * 1000, media_type="image/png"), "a picture"])])
        original = Conversation(conversation_id="o", messages=[*said("one", "two"), image, *said("x" * 100_000)])
        entries = await store.save(original)
        fork = await store.fork("o", new_conversation_id="f", at=4)
        fork.messages += said("other")
        await store.save(fork)
        session = session_of(store, "f")
        assert [turn.content[:9] for turn in session.turns] == ["one", "two", "a picture", "x" * 9, "other"]
        assert entries_shown(session)[:4] == [entry.id for entry in entries]

        await store.delete("o")
        for later in (store, SegueConversationStore(url)):
            loaded = await later.load("f")
            assert loaded is not None
            assert loaded.messages == fork.messages
            assert [(await later.read_entry(entry.id)).message for entry in entries] == original.messages
            assert await later.load("o") is None

    asyncio.run(run())


def test_an_entry_is_found_by_its_id_alone(url: str) -> None:
    async def run() -> None:
        store = SegueConversationStore(url)
        for number in range(3):
            await saved(store, f"other {number}", "hello")
        conversation = Conversation(conversation_id="c", messages=said("one", "two", "three"))
        entries = await store.save(conversation)
        cold = SegueConversationStore(url)
        assert [await cold.read_entry(entry.id) for entry in entries] == entries
        assert await SegueConversationStore(url).read_history(entries[1].id) == entries[:2]
        assert await SegueConversationStore(url).read_history(entries[2].id, limit=2) == entries[1:]
        with pytest.raises(KeyError, match="nowhere"):
            await cold.read_entry("nowhere")

    asyncio.run(run())


def test_a_branch_of_the_conversation_is_a_branch_of_the_session(journal: SegueConversationStore) -> None:
    async def run() -> None:
        await saved(journal, "c", "one", "two", "three")
        first = await journal.load("c")
        assert first is not None
        branched = await journal.branch("c", at=1, expected_revision=first.revision)
        branched.messages += said("other")
        await journal.save(branched)
        session = session_of(journal, "c")
        assert [turn.content for turn in session.turns] == ["one", "other"]
        assert [turn.content for turn in session.path("main")] == ["one", "two", "three"]

        record = await journal.read_record("c")
        assert record is not None
        back = await journal.branch("c", from_entry=record.branches[0], expected_revision=record.revision)
        back.messages += said("four")
        await journal.save(back)
        session = session_of(journal, "c")
        assert session.branch == "main"
        assert [turn.content for turn in session.turns] == ["one", "two", "three", "four"]

    asyncio.run(run())


def test_an_entry_that_is_written_again_replaces_the_old_one(journal: SegueConversationStore) -> None:
    async def run() -> None:
        conversation = await saved(journal, "c", "one", "two")
        record = await journal.read_record("c")
        entries = await journal.load_entries("c")
        assert record is not None
        assert entries is not None
        again = replace(entries[0], message=said("another")[0])
        await journal.write_record(
            replace(record, revision="r2"), new_entries=[again], expected_revision=conversation.revision
        )
        assert await journal.load_entries("c") == [again, entries[1]]
        assert await SegueConversationStore(journal._sessions.library).read_entry(again.id) == again
        assert [turn.content for turn in session_of(journal, "c").turns] == ["another", "two"]

    asyncio.run(run())


def test_turns_that_somebody_added_are_kept_beside_the_conversation(journal: SegueConversationStore) -> None:
    async def run() -> None:
        conversation = await saved(journal, "c", "one", "two")
        with journal._sessions.writing("c") as session:
            session.add("user", "a note of a person")
        conversation.messages += said("three")
        await journal.save(conversation)
        loaded = await journal.load("c")
        assert loaded is not None
        assert loaded.messages == conversation.messages
        whole = session_of(journal, "c")
        assert [turn.content for turn in whole.turns] == ["one", "two", "three"]
        assert [turn.content for turn in whole.path("main")] == ["one", "two", "a note of a person"]

    asyncio.run(run())


def test_a_save_costs_the_same_in_a_long_conversation(
    journal: SegueConversationStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a save nor the end of a history reads the conversation."""

    def never(*_: object, **__: object) -> None:
        pytest.fail("the whole conversation was read")

    async def run() -> None:
        await saved(journal, "c", *map(str, range(200)))
        cold = SegueConversationStore(journal._sessions.library)
        monkeypatch.setattr(cold._sessions.store, "read", never)
        monkeypatch.setattr(cold._sessions.store, "load", never)
        # An id of the same millisecond as the last save is looked up, so these are of a later hour.
        monkeypatch.setattr(conversation_store, "uuid7", lambda: UUID(int=uuid7().int + (3_600_000 << 80)))
        for number in range(3):
            window = await cold.load("c", limit=2)
            assert window is not None
            assert len(window.messages) == 2
            window.messages += said(f"new {number}")
            await cold.save(window)

    asyncio.run(run())

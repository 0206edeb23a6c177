"""What the store refuses, and with which error; and what it takes although it is unusual."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pydantic_ai import Conversation
from pydantic_ai.conversation_store import ConversationConflict, ConversationEntry, ConversationRecord
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import BinaryImage, ModelRequest, ToolReturnPart, UserPromptPart
from pydantic_ai.tools import DeferredToolRequests

import segue
from segue.bridges.pydantic_ai import SegueConversationStore
from segue.errors import DamagedError, ReadOnlyError, SegueError, SessionLockedError
from segue.stores.journal import JournalStore
from segue.testing.failing import ReadOnlyKernel

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from pydantic_ai.messages import ModelMessage

ODD_IDS = ("x" * 10_000, "", "../../etc/passwd", "a\x00b", "\ud800", "☃\n")


@pytest.fixture
def store(tmp_path: Path) -> SegueConversationStore:
    return SegueConversationStore(f"journal:{tmp_path}", wait_seconds=0.1)


def prompt(text: str) -> ModelMessage:
    return ModelRequest(parts=[UserPromptPart(text)])


def file_of(store: SegueConversationStore, conversation_id: str) -> Path:
    return Path(store._sessions.store.path_of(store._sessions.id_of(conversation_id)))


def save(store: SegueConversationStore, id: str, *messages: ModelMessage) -> Conversation:
    conversation = Conversation(conversation_id=id, messages=list(messages))
    asyncio.run(store.save(conversation))
    return conversation


def messages_of(store: SegueConversationStore, id: str) -> list[ModelMessage]:
    conversation = asyncio.run(store.load(id))
    assert conversation is not None
    return conversation.messages


@pytest.mark.parametrize("place", ["journal", "postgres"])
def test_any_id_is_an_id(place: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    url = f"journal:{tmp_path}" if place == "journal" else str(request.getfixturevalue("postgres_url"))

    async def run() -> None:
        store = SegueConversationStore(url)
        for id in ODD_IDS:
            entry = ConversationEntry(id=f"e{id}", parent_id=None, message=prompt(f"I am {id[:9]!a}"))
            record = ConversationRecord(conversation_id=id, head_id=entry.id, scope=id, revision=id)
            await store.write_record(record, new_entries=[entry], expected_revision=None)
            cold = SegueConversationStore(url)
            assert await cold.read_entry(entry.id) == entry
            assert await cold.read_record(id) == record
            assert await cold.read_records(scope=id) == [record]

    asyncio.run(run())


def test_a_value_that_is_no_json_is_a_mistake_of_the_user_and_nothing_is_stored(store: SegueConversationStore) -> None:
    endless: list[object] = []
    endless.append(endless)
    for value in (object(), endless, {"a": lambda: None}):
        with pytest.raises(UserError, match="a message cannot be stored as JSON"):
            save(store, "c", ModelRequest(parts=[ToolReturnPart("t", value, "1")]))
    deferred = DeferredToolRequests(metadata={"1": {"handle": object()}})
    with pytest.raises(UserError, match="conversation 'c' cannot be stored as JSON"):
        asyncio.run(store.save(Conversation(conversation_id="c", deferred_tool_requests=deferred)))
    assert asyncio.run(store.read_record("c")) is None
    assert list(store._sessions.all()) == []


def test_values_that_no_store_has_as_they_are_come_back_all_the_same(store: SegueConversationStore) -> None:
    deep: list[object] = []
    for _ in range(220):
        deep = [deep]
    messages = [ModelRequest(parts=[ToolReturnPart("t", value, "1")]) for value in (2**5000, deep, "half \ud800")]
    save(store, "c", *messages)
    assert messages_of(store, "c") == messages


def test_a_head_that_is_nowhere_is_a_conflict_and_begins_no_session(store: SegueConversationStore) -> None:
    record = ConversationRecord(conversation_id="c", head_id="nowhere")
    for expected in (None, "r"):
        with pytest.raises(ConversationConflict):
            asyncio.run(store.write_record(record, expected_revision=expected))
    assert list(store._sessions.all()) == []


def test_a_conversation_in_use_elsewhere_is_an_error_in_time_and_nothing_is_changed(
    store: SegueConversationStore,
) -> None:
    conversation = save(store, "c", prompt("one"))
    session_id = store._sessions.id_of("c")
    with store._sessions.library.open(session_id):
        conversation.messages.append(prompt("two"))
        with pytest.raises(SessionLockedError):
            asyncio.run(store.save(conversation))
        with pytest.raises(SessionLockedError):
            asyncio.run(store.delete("c"))
        assert len(messages_of(store, "c")) == 1
    asyncio.run(store.save(conversation))
    assert messages_of(store, "c") == conversation.messages


def test_a_read_only_store_can_be_read(tmp_path: Path, store: SegueConversationStore) -> None:
    conversation = save(store, "c", prompt("one"))
    reader = SegueConversationStore(segue.Library(JournalStore(str(tmp_path), kernel=ReadOnlyKernel())))
    assert messages_of(reader, "c") == conversation.messages
    assert len(asyncio.run(reader.list_conversations())) == 1
    conversation.messages.append(prompt("two"))
    writes: list[Coroutine[object, object, object]] = [
        reader.save(conversation),
        reader.save(Conversation(conversation_id="new", messages=[prompt("x")])),
        reader.fork("c", new_conversation_id="f"),
        reader.delete("c"),
    ]
    for write in writes:
        with pytest.raises(ReadOnlyError):
            asyncio.run(_awaited(write))
    assert len(messages_of(store, "c")) == 1


async def _awaited(call: Coroutine[object, object, object]) -> object:
    return await call


def test_a_damaged_conversation_is_an_error_and_the_others_can_be_used(store: SegueConversationStore) -> None:
    conversation = save(store, "c", *map(prompt, "abc"))
    save(store, "other", prompt("one"))
    file = file_of(store, "c")
    lines = file.read_bytes().split(b"\n")
    for number in (3, -2):
        lines[number] = lines[number][:20] + b"#" + lines[number][21:]
    file.write_bytes(b"\n".join(lines))
    conversation.messages.append(prompt("d"))
    calls: list[Coroutine[object, object, object]] = [
        store.load("c"),
        store.save(conversation),
        store.fork("c"),
        store.delete("c"),
        store.list_conversations(),
    ]
    for call in calls:
        with pytest.raises(DamagedError) as caught:
            asyncio.run(_awaited(call))
        assert caught.value.hint
    assert file.exists()
    assert len(messages_of(store, "other")) == 1


def _save_large(store: SegueConversationStore, size_bytes: int) -> None:
    image = BinaryImage(b"\xff" * size_bytes, media_type="image/png")
    messages: list[ModelMessage] = [
        ModelRequest(parts=[UserPromptPart([image, "what is it?"])]),
        ModelRequest(parts=[ToolReturnPart("t", "x" * size_bytes, "1")]),
    ]

    async def run() -> None:
        await store.save(Conversation(conversation_id="c", messages=messages))
        await store.fork("c", new_conversation_id="f")
        for id in ("c", "f"):
            loaded = await store.load(id)
            assert loaded is not None
            assert loaded.messages == messages

    asyncio.run(run())  # of what it returns, it would make a text
    session = store._sessions.store.load(store._sessions.id_of("c"))
    assert [turn.content[:9] for turn in session.turns] == ["what is i", "x" * 9]


def test_large_messages_are_stored_apart(store: SegueConversationStore) -> None:
    _save_large(store, 2_000_000)
    assert file_of(store, "c").stat().st_size < 2_010_000  # the text that is shown, and no image


@pytest.mark.long
def test_messages_of_100_mb_are_stored(store: SegueConversationStore) -> None:
    _save_large(store, 100_000_000)


def test_without_the_framework_the_error_names_what_to_install() -> None:
    code = """
import sys
sys.modules["pydantic_ai"] = None
from segue.errors import MissingExtraError
try:
    import segue.bridges.pydantic_ai
except MissingExtraError as error:
    print(error, "|", error.hint)
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "pydantic-ai is not installed | pip install 'segue[pydantic-ai]'\n"


def test_an_unknown_store_is_an_error_of_segue() -> None:
    with pytest.raises(SegueError):
        SegueConversationStore("nowhere:/x")

"""Sessions of the Agent Framework in a store: what becomes a turn, turns of other programs, errors."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from agent_framework import Content, Message

from examples.agent_framework.agent import new_agent
from segue.bridges.agent_framework import SegueHistoryProvider
from segue.errors import DamagedError, SessionLockedError, StorageError
from tests.support.mounts import make_read_only, small_disk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from segue.model import JsonObject, Turn

PICTURE = bytes(range(256))


@pytest.fixture
def history(tmp_path: Path) -> Iterator[SegueHistoryProvider]:
    with SegueHistoryProvider(f"journal:{tmp_path}/agents", wait_seconds=0.2) as history:
        yield history


def save(history: SegueHistoryProvider, *messages: Message, session: str | None = "s") -> None:
    asyncio.run(history.save_messages(session, messages))


def get(history: SegueHistoryProvider, session: str | None = "s") -> list[Message]:
    return asyncio.run(history.get_messages(session))


def texts(history: SegueHistoryProvider, session: str | None = "s") -> list[str]:
    return [message.text for message in get(history, session)]


def turns(history: SegueHistoryProvider) -> tuple[Turn, ...]:
    return history._sessions.store.load(history._sessions.id_of("s")).turns


def test_contents_become_text_and_parts(history: SegueHistoryProvider) -> None:
    stored = [
        Message("user", ["see", Content.from_data(PICTURE, "image/png")], author_name="ann", message_id="1"),
        Message(
            "assistant",
            [
                Content.from_text_reasoning(text="hm"),
                Content.from_text("I look"),
                Content.from_function_call("c", "look", arguments='{"at": "it"}'),
            ],
        ),
        Message("tool", [Content.from_function_result("c", result="no", exception="it failed")]),
        Message("developer", ["be brief"]),
    ]
    save(history, *stored)
    user, assistant, tool, developer = turns(history)
    assert (user.role, user.content) == ("user", "see")
    (image,) = user.parts
    assert image == {"type": "image", "media_type": "image/png", "hash": image["hash"]}
    assert history._sessions.store.get_blob(history._sessions.id_of("s"), str(image["hash"])) == PICTURE
    assert (assistant.role, assistant.content) == ("assistant", "I look")
    assert assistant.parts == (
        {"type": "reasoning", "text": "hm"},
        {"type": "tool_call", "id": "c", "name": "look", "arguments": {"at": "it"}},
    )
    assert (tool.role, tool.content) == ("tool", "no")
    assert tool.parts == ({"type": "tool_result", "id": "c", "content": "no", "is_error": True},)
    assert developer.role == "system"
    assert [turn.native for turn in (user, assistant, tool, developer)] == [message.to_dict() for message in stored]
    assert [message.to_dict() for message in get(history)] == [message.to_dict() for message in stored]


def test_an_answer_of_an_agent_has_its_tokens_and_the_session_its_question(history: SegueHistoryProvider) -> None:
    agent = new_agent(history)

    async def ask() -> None:
        await agent.run("How is it in Oslo?", session=agent.create_session(session_id="s"))

    asyncio.run(ask())
    assert [(turn.role, turn.tokens, turn.model) for turn in turns(history)] == [
        ("user", None, ""),
        ("assistant", 8, "scripted-1"),
        ("tool", None, ""),
        ("assistant", 8, "scripted-1"),
    ]
    overview = history._sessions.overview("s")
    assert overview is not None
    assert (overview.title, overview.get_setting("tool")) == ("How is it in Oslo?", "agent-framework")


def test_values_that_no_store_takes_as_they_are_come_back_equal(history: SegueHistoryProvider) -> None:
    values = [float("inf"), 2**5000, "\ud800\x00", "x" * 100_000]
    stored = [Message("user", [str(place)], additional_properties={"x": value}) for place, value in enumerate(values)]
    save(history, *stored)
    assert [message.additional_properties["x"] for message in get(history)] == values


def test_providers_with_other_sources_have_other_sessions(history: SegueHistoryProvider) -> None:
    audit = SegueHistoryProvider(history._sessions.library, source_id="audit", load_messages=False)
    save(history, Message("user", ["one"]))
    save(audit, Message("user", ["of the audit"]))
    assert (texts(history), texts(audit)) == (["one"], ["of the audit"])


def test_a_fork_of_the_user_is_where_the_agent_continues(history: SegueHistoryProvider) -> None:
    save(history, *(Message("user", [text]) for text in ("one", "two", "three")))
    with history._sessions.library.open(history._sessions.id_of("s")) as session:
        session.fork(at=1, name="other-idea")
    save(history, Message("user", ["zwei"]))
    assert texts(history) == ["one", "zwei"]


def test_turns_of_other_programs_are_messages_too(history: SegueHistoryProvider) -> None:
    save(history, Message("user", ["one"]))
    with history._sessions.library.open(history._sessions.id_of("s")) as session:
        call: JsonObject = {"type": "tool_call", "id": "1", "name": "ls", "arguments": {"at": "."}}
        session.add("assistant", "I look", parts=[call], native={"type": "message", "role": "assistant", "content": []})
        session.add("tool", "a b", parts=[{"type": "tool_result", "id": "1", "content": "a b"}])
    _, assistant, tool = get(history)
    assert (assistant.role, assistant.text) == ("assistant", "I look")
    assert assistant.contents[1].parse_arguments() == {"at": "."}
    assert (tool.role, tool.contents[0].call_id, tool.contents[0].result) == ("tool", "1", "a b")


@pytest.mark.parametrize("name", ["x" * 10_000, "a/b", "..", "\x00", "ü\ud800"])
def test_every_text_is_an_id(name: str, history: SegueHistoryProvider) -> None:
    save(history, Message("user", ["one"]), session=name)
    save(history, Message("user", ["other"]))
    assert texts(history, name) == ["one"]


def test_a_large_message_comes_back_equal(history: SegueHistoryProvider, pytestconfig: pytest.Config) -> None:
    size = (100 if pytestconfig.getoption("long") else 3) << 20
    large = Message("user", ["x" * size, Content.from_data(b"y" * size, "image/png")])
    save(history, large)
    assert [message.to_dict() for message in get(history)] == [large.to_dict()]


def test_a_session_that_another_process_has_open_is_an_error_in_time(history: SegueHistoryProvider) -> None:
    save(history, Message("user", ["one"]))
    with history._sessions.library.open(history._sessions.id_of("s")), pytest.raises(SessionLockedError):
        save(history, Message("user", ["two"]))
    assert texts(history) == ["one"]


def test_a_damaged_session_is_an_error_and_stays_as_it_is(history: SegueHistoryProvider, tmp_path: Path) -> None:
    save(history, Message("user", ["one"]), Message("user", ["two"]))
    (file,) = (tmp_path / "agents").glob("*.jsonl")
    damaged = file.read_bytes().replace(b"two", b"tvo")
    file.write_bytes(damaged)
    with SegueHistoryProvider(f"journal:{tmp_path}/agents") as other:
        with pytest.raises(DamagedError):
            get(other)
        with pytest.raises(DamagedError):
            save(other, Message("user", ["three"]))
    assert file.read_bytes() == damaged


def test_a_message_that_the_framework_cannot_read_is_damage(history: SegueHistoryProvider) -> None:
    save(history, Message("user", ["one"]))
    with history._sessions.library.open(history._sessions.id_of("s")) as session:
        session.add("user", "two", native={"type": "message", "contents": [{"type": 7}]})
    with pytest.raises(DamagedError, match="not a message of the Agent Framework"):
        get(history)


@pytest.mark.needs("mounting")
def test_a_read_only_store_can_be_read(tmp_path: Path) -> None:
    place = tmp_path / "disk"
    with small_disk(place, 1 << 20), SegueHistoryProvider(f"journal:{place}") as history:
        save(history, Message("user", ["one"]))
        make_read_only(place)
        assert texts(history) == ["one"]
        with pytest.raises(StorageError):
            save(history, Message("user", ["two"]))


def test_without_the_framework_the_error_names_the_extra() -> None:
    program = "import sys; sys.modules['agent_framework'] = None; import segue.bridges.agent_framework"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "MissingExtraError: agent-framework-core is not installed" in done.stderr

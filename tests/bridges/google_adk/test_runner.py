"""A real runner with an agent on the service, and what Segue shows of its sessions."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from google.adk.errors import StaleSessionError
from google.adk.events._rewind_events import _apply_rewinds
from google.adk.sessions.base_session_service import GetSessionConfig
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st

import segue
from segue.bridges.google_adk import SegueSessionService
from tests.bridges.google_adk.scripted import APP, new_runner, question
from tests.bridges.google_adk.support import APP as OTHER_APP
from tests.bridges.google_adk.support import an_event, created, texts
from tests.docs.pages import blocks, commands, missing_lines

if TYPE_CHECKING:
    from google.adk.events.event import Event
    from google.adk.sessions.base_session_service import BaseSessionService
    from google.adk.sessions.session import Session

    from segue.model import Turn

ROOT = Path(__file__).resolve().parents[3]


async def ask(service: BaseSessionService, *asked: str) -> list[Event]:
    runner = new_runner(service)
    return [
        event
        for text in asked
        async for event in runner.run_async(user_id="ann", session_id="trip", new_message=question(text))
    ]


async def session_of(service: BaseSessionService) -> Session:
    session = await service.get_session(app_name=APP, user_id="ann", session_id="trip")
    assert session is not None
    return session


def turns_of(url: str) -> tuple[Turn, ...]:
    (head,) = [head for head in segue.open(url).list() if head.title == "trip"]
    return segue.open(url).load(head.id).turns


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"journal:{tmp_path}/agents"


def test_an_agent_runs_as_on_the_service_of_the_framework(url: str) -> None:
    def plain(session: Session) -> object:
        return [
            (event.author, event.node_info.path, event.actions.state_delta) for event in session.events
        ], session.state

    ours, theirs = SegueSessionService(url), InMemorySessionService()
    for service in (ours, theirs):
        asyncio.run(ask(service, "q0", "q1"))
        asyncio.run(ask(service, "q2"))
    assert plain(asyncio.run(session_of(ours))) == plain(asyncio.run(session_of(theirs)))


def test_events_are_turns(url: str) -> None:
    asyncio.run(ask(SegueSessionService(url), "q0"))
    asked, call, result, answer = turns_of(url)
    assert [turn.role for turn in (asked, call, result, answer)] == ["user", "assistant", "tool", "assistant"]
    assert [turn.content for turn in (asked, call, result, answer)] == ["q0", "", "q0", "answer q0"]
    assert call.parts[0]["type"] == "tool_call"
    assert (call.parts[0]["name"], call.parts[0]["arguments"]) == ("count", {"question": "q0"})
    assert result.parts[0]["type"] == "tool_result"
    assert result.parts[0]["id"] == call.parts[0]["id"]
    assert (answer.model, answer.tokens, answer.tokens_by) == ("counting-1", 10, "provider")
    assert answer.extra["usage"] == {
        "input_tokens": 20,
        "cached_tokens": 5,
        "output_tokens": 10,
        "reasoning_tokens": 2,
    }
    assert [turn.extra["author"] for turn in (asked, answer)] == ["user", "counter"]
    assert answer.native is not None
    assert answer.native["actions"]["state_delta"] == {"last": "answer q0"}  # type: ignore[index]


def test_thoughts_errors_files_and_speech_are_turns_too(tmp_path: Path) -> None:
    url = f"journal:{tmp_path}"
    service = SegueSessionService(url)
    failed = types.FunctionResponse(id="c", name="look", response={"error": "no such city"})
    contents = [
        types.Content(
            role="model", parts=[types.Part(text="hm", thought=True), types.Part(text="So."), types.Part(text="Yes.")]
        ),
        types.Content(role="user", parts=[types.Part(function_response=failed)]),
        types.Content(role="user", parts=[types.Part(file_data=types.FileData(file_uri="gs://b/a.pdf"))]),
    ]

    async def run() -> None:
        session = await created(service)
        for content in contents:
            await service.append_event(session, an_event(content=content, author="agent"))
        await service.append_event(
            session, an_event(input_transcription=types.Transcription(text="Hello", finished=True))
        )
        await service.append_event(
            session, an_event(output_transcription=types.Transcription(text="Hi"), author="agent")
        )

    asyncio.run(run())
    found = [(turn.role, turn.content, [part["type"] for part in turn.parts]) for turn in turns_of(url)]
    assert found == [
        ("assistant", "So.\n\nYes.", ["reasoning"]),
        ("tool", "no such city", ["tool_result"]),
        ("user", "", ["file"]),
        ("user", "Hello", []),
        ("assistant", "Hi", []),
    ]
    assert turns_of(url)[1].parts[0]["is_error"] is True


def test_a_rewind_is_a_branch_of_the_turns_before_it(url: str) -> None:
    service = SegueSessionService(url)
    events = asyncio.run(ask(service, "q0", "q1", "q2"))
    second = next(event.invocation_id for event in events if event.actions.state_delta.get("last") == "answer q1")
    asyncio.run(new_runner(service).rewind_async(user_id="ann", session_id="trip", rewind_before_invocation_id=second))
    assert [turn.content for turn in turns_of(url)] == ["q0", "", "q0", "answer q0"]
    asyncio.run(ask(service, "q3"))
    assert [turn.content for turn in turns_of(url) if turn.content] == [
        "q0",
        "q0",
        "answer q0",
        "q3",
        "q3",
        "answer q3",
    ]
    session = asyncio.run(session_of(service))
    assert [text for text in texts(session) if text and text.startswith("q")] == ["q0", "q1", "q2", "q3"]
    assert session.state["count"] == 2
    (head,) = [head for head in segue.open(url).list() if head.title == "trip"]
    assert "answer q2" in [turn.content for turn in segue.open(url).load(head.id).path("main")]


@given(st.lists(st.integers(0, 6), min_size=1, max_size=8))
def test_what_a_rewind_leaves_is_what_the_framework_sends_to_the_model(steps: list[int]) -> None:
    """Also after rewinds of rewinds: 0 is a new invocation, N a rewind to before the Nth one."""
    service = SegueSessionService("memory:")

    async def run() -> tuple[list[str | None], tuple[Turn, ...]]:
        session = await created(service)
        count = 0
        for step in steps:
            if step == 0 or step > count:
                count += 1
                for text in ("q", "a"):
                    await service.append_event(session, an_event(f"{text}{count}", invocation_id=f"i{count}"))
            else:
                event = an_event(invocation_id=f"r{session.last_update_time}")
                event.actions.rewind_before_invocation_id = f"i{step}"
                await service.append_event(session, event)
        live = session.model_copy(update={"events": _apply_rewinds(session.events)})
        store = service._sessions.store
        return texts(live), store.load(service._sessions.id_of("trip", scope=(OTHER_APP, "ann"))).turns

    wanted, turns = asyncio.run(run())
    assert [turn.content for turn in turns] == wanted


def test_an_agent_continues_where_a_user_forked_the_session(url: str) -> None:
    service = SegueSessionService(url)
    asyncio.run(ask(service, "q0", "q1"))
    stale = asyncio.run(session_of(service))
    with segue.open(url).open("trip") as live:
        live.fork(at=4, name="other")
    with pytest.raises(StaleSessionError):
        asyncio.run(service.append_event(stale, an_event("late")))
    assert texts(asyncio.run(session_of(service))) == ["q0", None, None, "answer q0"]
    asyncio.run(ask(service, "q2"))
    assert [turn.content for turn in turns_of(url) if turn.content][2:] == ["answer q0", "q2", "q2", "answer q2"]
    only = GetSessionConfig(num_recent_events=6)
    found = asyncio.run(service.get_session(app_name=APP, user_id="ann", session_id="trip", config=only))
    assert found is not None
    assert texts(found) == ["q2", None, None, "answer q2"]
    with segue.open(url).open("trip") as live:
        live.switch("main")
    assert texts(asyncio.run(session_of(service)))[-1] == "answer q1"


def test_what_is_said_in_segue_is_said_to_the_agent(url: str) -> None:
    service = SegueSessionService(url)
    asyncio.run(ask(service, "q0"))
    stale = asyncio.run(session_of(service))
    with segue.open(url).open("trip") as live:
        live.add("user", "Are you sure?")
        live.add("assistant", "Yes.", model="claude")
    with pytest.raises(StaleSessionError):
        asyncio.run(service.append_event(stale, an_event("late")))
    asyncio.run(ask(service, "q1"))
    session = asyncio.run(session_of(service))
    assert [text for text in texts(session) if text] == ["q0", "answer q0", "Are you sure?", "Yes.", "q1", "answer q1"]
    assert [event.author for event in session.events if event.invocation_id.startswith("segue-")] == ["user", "claude"]


def test_a_runner_on_a_stale_session_gets_the_error_of_the_framework(url: str) -> None:
    async def run() -> None:
        service = SegueSessionService(url)
        await ask(service, "q0")
        stale = await session_of(service)
        await ask(service, "q1")
        with pytest.raises(StaleSessionError):
            await service.append_event(stale, an_event("late"))

    asyncio.run(run())


def test_segue_lists_shows_and_searches_the_sessions(url: str, tmp_path: Path) -> None:
    asyncio.run(ask(SegueSessionService(url), "q0"))

    def printed(*words: str) -> str:
        program = [sys.executable, "-m", "segue", "--store", url, *words]
        environment = {**os.environ, "HOME": str(tmp_path)}
        return subprocess.run(program, check=True, capture_output=True, text=True, env=environment).stdout

    listed = printed("list")
    assert re.search(r"^trip-\w+\tgoogle-adk\ttrip\t4\t", listed, re.MULTILINE)
    assert "state of the user ann" in listed
    assert "answer q0" in printed("show", "trip")
    assert "trip" in printed("search", "answer")


def test_the_page_shows_what_the_example_stores(tmp_path: Path) -> None:
    """The tests of all pages run its commands without the framework, on a copy of what the example stored."""
    page = ROOT / "docs" / "how-to" / "google-adk.md"
    (call,) = [block.text.strip() for block in blocks(page) if block.language == "sh"]
    example, *words = shlex.split(call.removeprefix("python "))
    subprocess.run([sys.executable, str(ROOT / example), *words], check=True, cwd=tmp_path, capture_output=True)
    for command in commands(page):
        program = [sys.executable, "-m", *shlex.split(command.text)]
        environment = {**os.environ, "HOME": str(tmp_path)}
        done = subprocess.run(program, check=True, capture_output=True, text=True, cwd=tmp_path, env=environment)
        assert missing_lines(command.shown, done.stdout) == [], command.text


def test_the_example_runs_and_continues_its_session(url: str) -> None:
    def run(asked: str) -> str:
        program = [sys.executable, str(ROOT / "examples" / "google_adk" / "agent.py"), url, asked]
        return subprocess.run(program, check=True, capture_output=True, text=True).stdout

    assert run("What is the weather in Oslo?") == "In Oslo it is sunny.\ncities so far: Oslo\n"
    assert run("And in Bergen?") == "In Bergen it is sunny.\ncities so far: Oslo, Bergen\n"
    assert len(turns_of(url)) == 8

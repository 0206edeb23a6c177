"""What the service refuses, and with which error."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.sessions.session import Session
from google.genai import types

import segue
from segue.bridges.google_adk import SegueSessionService
from segue.errors import DamagedError, ReadOnlyError, SegueError, SessionLockedError, UsageError
from segue.stores.journal import JournalStore
from segue.testing.failing import ReadOnlyKernel
from tests.bridges.google_adk.support import APP, ID, USER, an_event, created, got, texts

if TYPE_CHECKING:
    from collections.abc import Coroutine


@pytest.fixture
def service(tmp_path: Path) -> SegueSessionService:
    return SegueSessionService(f"journal:{tmp_path}", wait_seconds=0.1)


def session_file(service: SegueSessionService) -> Path:
    sessions = service._sessions
    return Path(sessions.store.path_of(sessions.id_of(ID, scope=(APP, USER))))


def test_any_id_is_an_id(service: SegueSessionService) -> None:
    async def run() -> None:
        for id in ("x" * 10_000, "../../etc/passwd", "a\x00b", "\ud800", "☃\n"):
            session = await service.create_session(app_name=id, user_id=id, session_id=id, state={"user:a": id})
            await service.append_event(session, an_event("one"))
            found = await service.get_session(app_name=id, user_id=id, session_id=id)
            assert found is not None
            assert found.state == {"user:a": id}
            assert texts(found) == ["one"]

    asyncio.run(run())


def test_a_session_is_created_once(service: SegueSessionService) -> None:
    asyncio.run(created(service, **{"n": 1, "app:a": 1}))
    with pytest.raises(AlreadyExistsError, match=r"Session with id trip already exists\."):
        asyncio.run(created(service, **{"n": 2, "app:a": 2}))
    assert asyncio.run(got(service)).state == {"n": 1, "app:a": 1}


def test_an_append_to_a_session_that_does_not_exist(service: SegueSessionService) -> None:
    with pytest.raises(SessionNotFoundError, match=r"Session trip not found\."):
        asyncio.run(
            service.append_event(Session(app_name=APP, user_id=USER, id=ID), an_event("one", delta={"app:a": 1}))
        )
    assert list(service._sessions.all()) == []


def test_state_that_is_no_json_is_stored_as_a_description_of_it(
    service: SegueSessionService, caplog: pytest.LogCaptureFixture
) -> None:
    """As all services of the framework do, with a warning."""
    asyncio.run(created(service, rule=len, number=float("inf"), pair=(1, 2)))
    assert "'rule' cannot be stored as it is" in caplog.text
    state = asyncio.run(got(service)).state
    assert state == {"rule": "<built-in function len>", "number": float("inf"), "pair": [1, 2]}


def test_state_that_is_nested_without_end_is_refused(service: SegueSessionService) -> None:
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(UsageError, match="the state 'a' cannot be stored") as caught:
        asyncio.run(created(service, a=endless))
    assert caught.value.hint
    assert list(service._sessions.all()) == []
    session = asyncio.run(created(service))
    for event in (an_event(delta={"a": endless}), an_event("one", custom_metadata={"a": endless})):
        with pytest.raises(UsageError, match="cannot be stored as JSON"):
            asyncio.run(service.append_event(session, event))
    assert asyncio.run(got(service)) == session


def test_a_session_in_use_elsewhere_is_an_error_in_time_and_nothing_is_changed(service: SegueSessionService) -> None:
    session = asyncio.run(created(service))
    with (
        service._sessions.library.open(service._sessions.id_of(ID, scope=(APP, USER))),
        pytest.raises(SessionLockedError),
    ):
        asyncio.run(service.append_event(session, an_event("one", delta={"app:a": 1, "temp:t": 1})))
    assert (session.events, session.state) == ([], {})
    asyncio.run(service.append_event(session, an_event("two")))
    assert texts(asyncio.run(got(service))) == ["two"]


def test_shared_state_in_use_elsewhere_is_an_error_in_time_and_nothing_is_changed(service: SegueSessionService) -> None:
    session = asyncio.run(created(service, **{"app:a": 1, "user:u": 1}))
    with service._sessions.library.open(service._sessions.id_of(USER, scope=(APP,))), pytest.raises(SessionLockedError):
        asyncio.run(service.append_event(session, an_event("one", delta={"app:a": 2, "user:u": 2})))
    assert asyncio.run(got(service)).state == {"app:a": 1, "user:u": 1}
    asyncio.run(service.append_event(session, an_event("two", delta={"app:b": 2})))
    assert asyncio.run(got(service)).state == {"app:a": 1, "user:u": 1, "app:b": 2}


def test_a_read_only_store_can_be_read(tmp_path: Path, service: SegueSessionService) -> None:
    session = asyncio.run(created(service))
    asyncio.run(service.append_event(session, an_event("one", delta={"app:a": 1})))
    library = segue.Library(JournalStore(str(tmp_path), kernel=ReadOnlyKernel()))
    reader = SegueSessionService(library)
    assert asyncio.run(got(reader)) == session
    assert len(asyncio.run(reader.list_sessions(app_name=APP)).sessions) == 1
    writes: list[Coroutine[object, object, object]] = [
        reader.append_event(session, an_event("two", delta={"app:a": 2})),
        reader.create_session(app_name=APP, user_id=USER, state={"user:u": 1}),
        reader.delete_session(app_name=APP, user_id=USER, session_id=ID),
    ]
    for write in writes:
        with pytest.raises(ReadOnlyError):
            asyncio.run(_awaited(write))
    assert asyncio.run(got(service)) == session


async def _awaited(call: Coroutine[object, object, object]) -> object:
    return await call


def test_a_damaged_session_is_an_error_and_the_others_can_be_used(service: SegueSessionService) -> None:
    async def run() -> None:
        session = await created(service)
        for number in range(3):
            await service.append_event(session, an_event(str(number)))
        other = await service.create_session(app_name=APP, user_id=USER, session_id="other")
        file = session_file(service)
        lines = file.read_bytes().split(b"\n")
        lines[-2] = lines[-2][:20] + b"#" + lines[-2][21:]
        lines[3] = lines[3][:20] + b"#" + lines[3][21:]
        file.write_bytes(b"\n".join(lines))
        with pytest.raises(DamagedError, match="is damaged at"):
            await got(service)
        with pytest.raises(DamagedError):
            await service.append_event(session, an_event("x", delta={"app:a": 1}))
        await service.append_event(other, an_event("one", delta={"app:b": 1}))
        found = await service.get_session(app_name=APP, user_id=USER, session_id="other")
        assert found is not None
        assert found.state == {"app:b": 1}

    asyncio.run(run())


def test_a_session_from_elsewhere_with_other_content_is_damaged(service: SegueSessionService) -> None:
    """Whoever wrote it: it is data of the framework, or an error that says where it is not."""
    asyncio.run(created(service))
    with service._sessions.writing(ID, scope=(APP, USER)) as live:
        head = live.overview.records["head"]
        event = segue.model.Record(kind="event", data={"value": {"content": 5}}, timestamp=head.timestamp, id="a")
        live.record(
            event, segue.model.Record(kind="head", name="head", data=head.data, timestamp=head.timestamp, id="b")
        )
    with pytest.raises(DamagedError, match="not an event of google-adk"):
        asyncio.run(got(service))


def _append_large(service: SegueSessionService, size_bytes: int) -> None:
    async def run() -> None:
        session = await created(service)
        blob = types.Part(inline_data=types.Blob(data=b"\xff" * size_bytes, mime_type="video/mp4"))
        event = an_event(content=types.Content(role="user", parts=[blob]), delta={"large": "x" * size_bytes})
        await service.append_event(session, event)
        assert await got(service) == session

    asyncio.run(run())


def test_a_large_event_is_stored(service: SegueSessionService) -> None:
    _append_large(service, 2_000_000)
    assert session_file(service).stat().st_size < 20_000


@pytest.mark.long
def test_an_event_of_100_mb_is_stored(service: SegueSessionService) -> None:
    _append_large(service, 100_000_000)
    assert session_file(service).stat().st_size < 20_000


def test_without_the_framework_the_error_names_what_to_install() -> None:
    code = """
import sys
sys.modules["google.adk"] = None
from segue.errors import MissingExtraError
try:
    import segue.bridges.google_adk
except MissingExtraError as error:
    print(error, "|", error.hint)
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "google-adk is not installed | pip install 'segue[google-adk]'\n"


def test_an_unknown_store_is_an_error_of_segue() -> None:
    with pytest.raises(SegueError):
        SegueSessionService("nowhere:/x")

"""What the service does where those of the framework fail or differ, and what it never does."""

from __future__ import annotations

import asyncio
import copy
from typing import TYPE_CHECKING

import pytest
from google.adk.errors import StaleSessionError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.sessions.base_session_service import GetSessionConfig
from google.adk.sessions.database_session_service import DatabaseSessionService
from google.adk.sessions.session import Session
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types

import segue
from segue.bridges.google_adk import SegueSessionService
from tests.bridges.google_adk.support import APP, ID, USER, an_event, created, got, texts

if TYPE_CHECKING:
    from pathlib import Path

    from google.adk.sessions.base_session_service import BaseSessionService

    from segue.bridges import NamedSessions
    from segue.model import Turn


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"journal:{tmp_path}/agents"


@pytest.fixture
def service(url: str) -> SegueSessionService:
    return SegueSessionService(url, wait_seconds=0.2)


def test_of_two_objects_with_the_same_times_the_older_one_is_stale(service: SegueSessionService) -> None:
    async def run() -> None:
        first = await created(service)
        second = await got(service)
        await service.append_event(first, an_event("one", timestamp=5.0))
        with pytest.raises(StaleSessionError, match="get the session again"):
            await service.append_event(second, an_event("two", timestamp=5.0))
        assert second.events == []
        again = await got(service)
        await service.append_event(again, an_event("two", timestamp=5.0))
        assert texts(await got(service)) == ["one", "two"]

    asyncio.run(run())


def test_the_services_of_the_framework_do_not_notice_that(tmp_path: Path) -> None:
    """The reason for the test above: when they do, this one can go."""

    async def run(theirs: BaseSessionService) -> None:
        first = await created(theirs)
        await theirs.append_event(first, an_event("zero", timestamp=5.0))
        second = await got(theirs)
        await theirs.append_event(first, an_event("one", timestamp=5.0))
        await theirs.append_event(second, an_event("two", timestamp=5.0))
        assert texts(second) == ["zero", "two"]  # it does not know of "one", and nobody told it
        await theirs.close()  # type: ignore[attr-defined]

    asyncio.run(run(SqliteSessionService(f"{tmp_path}/s.db")))
    asyncio.run(run(DatabaseSessionService(f"sqlite+aiosqlite:///{tmp_path}/d.db")))


def test_events_of_one_time_stay_in_their_order(service: SegueSessionService) -> None:
    async def run() -> None:
        session = await created(service)
        for number in range(20):
            await service.append_event(session, an_event(str(number), timestamp=5.0, id=f"{100 - number}"))
        assert texts(await got(service)) == [str(number) for number in range(20)]
        recent = await _get(service, num_recent_events=3)
        assert texts(recent) == ["17", "18", "19"]

    asyncio.run(run())


def test_a_clock_that_goes_back_changes_neither_order_nor_revision(service: SegueSessionService) -> None:
    async def run() -> None:
        session = await created(service)
        stale = await got(service)
        for number, time in enumerate([30.0, 20.0, 10.0, 25.0]):
            await service.append_event(session, an_event(str(number), timestamp=time))
        with pytest.raises(StaleSessionError):
            await service.append_event(stale, an_event("late", timestamp=99.0))
        found = await got(service)
        assert texts(found) == ["0", "1", "2", "3"]
        assert found.last_update_time == 25.0
        assert texts(await _get(service, after_timestamp=20.0)) == ["0", "1", "3"]
        assert texts(await _get(service, after_timestamp=31.0)) == []
        assert texts(await _get(service, after_timestamp=0.0)) == ["0", "1", "2", "3"]
        assert texts(await _get(service, after_timestamp=20.0, num_recent_events=2)) == ["3"]

    asyncio.run(run())


def test_events_since_a_time_are_found_after_any_number_of_others(service: SegueSessionService) -> None:
    async def run() -> None:
        session = await created(service)
        for number in range(150):
            await service.append_event(session, an_event(str(number), timestamp=float(number)))
        for after in (0.0, 1.0, 75.0, 148.5, 149.0):
            wanted = [str(number) for number in range(150) if number >= after]
            assert texts(await _get(service, after_timestamp=after)) == wanted
        for count in (1, 40, 149, 150, 151):
            assert texts(await _get(service, num_recent_events=count)) == [str(n) for n in range(150)][-count:]

    asyncio.run(run())


def test_a_recent_part_of_a_session_can_be_continued(service: SegueSessionService) -> None:
    async def run() -> None:
        session = await created(service)
        for number in range(4):
            await service.append_event(session, an_event(str(number)))
        part = await _get(service, num_recent_events=0)
        await service.append_event(part, an_event("4"))
        assert texts(await got(service)) == ["0", "1", "2", "3", "4"]

    asyncio.run(run())


def test_an_object_that_lost_its_marker_is_judged_by_its_events(service: SegueSessionService) -> None:
    def without_marker(session: Session) -> Session:
        return Session.model_validate_json(session.model_dump_json())

    async def run() -> None:
        empty = without_marker(await created(service))
        await service.append_event(without_marker(empty), an_event("one", timestamp=2e9))
        with pytest.raises(StaleSessionError):
            await service.append_event(empty, an_event("x"))
        one = without_marker(await got(service))
        await service.append_event(without_marker(one), an_event("two", timestamp=1.0))
        with pytest.raises(StaleSessionError):
            await service.append_event(one, an_event("x"))
        assert texts(await got(service)) == ["one", "two"]

    asyncio.run(run())


def test_an_event_that_was_recorded_before_the_answer_was_lost_is_not_recorded_again(
    service: SegueSessionService,
) -> None:
    async def run() -> None:
        session = await created(service)
        retried = copy.deepcopy(session)
        event = an_event("one", delta={"n": 1})
        await service.append_event(session, copy.deepcopy(event))
        assert await service.append_event(retried, event) == event
        assert texts(await got(service)) == ["one"]
        with pytest.raises(StaleSessionError):  # what it was given back did not make it newer
            await service.append_event(retried, an_event("two"))

    asyncio.run(run())


def test_temporary_state_is_in_the_object_and_nowhere_else(service: SegueSessionService, tmp_path: Path) -> None:
    async def run() -> None:
        session = await created(service, **{"temp:early": "secret"})
        await service.append_event(session, an_event("one", delta={"temp:late": "secret", "n": 1}))
        assert session.state == {"temp:late": "secret", "n": 1}
        assert session.events[0].actions.state_delta == {"n": 1}
        assert await got(service) == session.model_copy(update={"state": {"n": 1}})

    asyncio.run(run())
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and b"secret" in path.read_bytes()]


def test_sessions_are_listed_by_their_last_update_then_by_user_and_id(service: SegueSessionService) -> None:
    async def run() -> None:
        for user, id, time in (("bob", "b", 5.0), ("ann", "z", 7.0), ("ann", "c", 5.0), ("ann", "a", 5.0)):
            session = await service.create_session(app_name=APP, user_id=user, session_id=id)
            await service.append_event(session, an_event("one", timestamp=time))
        listed = (await service.list_sessions(app_name=APP)).sessions
        assert [session.id for session in listed] == ["a", "c", "b", "z"]
        assert [session.events for session in listed] == [[]] * 4

    asyncio.run(run())


def test_an_event_of_the_object_is_not_recorded_again(service: SegueSessionService) -> None:
    async def run() -> None:
        session = await created(service)
        event = an_event("one", delta={"n": 1})
        for _ in range(2):
            await service.append_event(session, event)
        await service.append_event(await got(service), event)
        assert texts(await got(service)) == texts(session) == ["one"]

    asyncio.run(run())


def test_an_append_that_fails_leaves_event_and_object_as_they_were(service: SegueSessionService) -> None:
    async def run() -> None:
        session = await created(service)
        stale = await got(service)
        await service.append_event(session, an_event("one"))
        event = an_event("two", delta={"temp:a": 1, "b": 2, "app:c": 3})
        before = copy.deepcopy((stale, event))
        with pytest.raises(StaleSessionError):
            await service.append_event(stale, event)
        assert (stale, event) == before
        assert (await got(service)).state == {}

    asyncio.run(run())


def test_a_session_that_was_deleted_and_made_again_is_another_one(service: SegueSessionService) -> None:
    async def run() -> None:
        old = await created(service, n=1)
        await service.append_event(old, an_event("one", delta={"app:kept": 1}))
        await service.delete_session(app_name=APP, user_id=USER, session_id=ID)
        with pytest.raises(SessionNotFoundError, match=r"Session trip not found\."):
            await service.append_event(old, an_event("two"))
        new = await created(service)
        assert new.state == {"app:kept": 1}
        with pytest.raises(StaleSessionError):
            await service.append_event(old, an_event("two"))
        assert (await got(service)).events == []
        assert len(list(service._sessions.library.trashed())) == 1

    asyncio.run(run())


def test_tasks_that_share_an_object_append_one_after_the_other(service: SegueSessionService) -> None:
    async def run() -> None:
        session = await created(service)
        await asyncio.gather(*(service.append_event(session, an_event(str(number))) for number in range(30)))
        assert sorted(map(str, texts(session)), key=int) == [str(number) for number in range(30)]
        assert (await got(service)).events == session.events

    asyncio.run(run())


def test_what_is_renamed_or_tagged_in_segue_is_not_stale(service: SegueSessionService) -> None:
    async def run() -> None:
        session = await created(service)
        live = service._sessions.library.open(service._sessions.id_of(ID, scope=(APP, USER)))
        live.rename("Weather in Oslo")
        live.release()
        await service.append_event(session, an_event("one"))
        assert texts(await got(service)) == ["one"]

    asyncio.run(run())


def test_names_never_run_into_one_another(service: SegueSessionService) -> None:
    """The state of apps and users is in sessions, too: no name of a session is one of theirs."""
    names = ["a", "b", "user", "app", "", "a/b", "x" * 10_000]

    async def run() -> None:
        for app in names:
            for user in ("a", "app", ""):
                state = {"own": [app, user], f"user:{app}": user, f"app:{user}": app}
                await service.create_session(app_name=app, user_id=user, session_id="a", state=state)
        for app in names:
            assert len((await service.list_sessions(app_name=app)).sessions) == 3
            for user in ("a", "app", ""):
                found = await service.get_session(app_name=app, user_id=user, session_id="a")
                assert found is not None
                assert found.state == {
                    "own": [app, user],
                    f"user:{app}": user,
                    **{f"app:{one}": app for one in ("a", "app", "")},
                }

    asyncio.run(run())


def test_the_service_takes_a_library_and_leaves_it_open(url: str) -> None:
    async def run() -> None:
        with segue.open(url) as library:
            async with SegueSessionService(library) as service:
                await created(service)
            assert [head.title for head in library.list()] == [ID]

    asyncio.run(run())


def test_two_services_see_the_same(service: SegueSessionService, url: str) -> None:
    async def run() -> None:
        session = await created(service)
        await service.append_event(session, an_event("one", delta={"user:u": 1}))
        other = SegueSessionService(url)
        assert await got(other) == await got(service)
        assert await other.get_user_state(app_name=APP, user_id=USER) == {"u": 1}

    asyncio.run(run())


def test_what_a_process_remembers_of_a_session_is_never_old_and_never_shared(
    service: SegueSessionService, url: str
) -> None:
    async def run() -> None:
        session = await created(service)
        other = SegueSessionService(url)
        for number in range(6):
            await other.append_event(session, an_event(str(number)))
            found = await got(service)
            assert found.events == session.events
            found.events[0].content.parts[0].text = "changed"  # type: ignore[union-attr, index]
            found.events.clear()
        await other.delete_session(app_name=APP, user_id=USER, session_id=ID)
        session = await created(other)
        for number in range(20):
            await other.append_event(session, an_event(f"new {number}"))
        for _ in range(3):
            assert (await got(service)).events == session.events

    asyncio.run(run())


def test_it_works_on_postgres(postgres_url: str) -> None:
    async def run() -> None:
        async with SegueSessionService(postgres_url) as service:
            session = await created(service, **{"app:a": 1})
            stale = await got(service)
            for number in range(30):
                await service.append_event(session, an_event(str(number), timestamp=5.0, delta={"user:n": number}))
            with pytest.raises(StaleSessionError):
                await service.append_event(stale, an_event("x"))
            assert await got(service) == session
            assert texts(await _get(service, num_recent_events=2)) == ["28", "29"]
            await service.delete_session(app_name=APP, user_id=USER, session_id=ID)
            assert await service.get_user_state(app_name=APP, user_id=USER) == {"n": 29}

    asyncio.run(run())


def test_bytes_are_blobs_and_come_back(service: SegueSessionService) -> None:
    picture = types.Part(inline_data=types.Blob(data=b"\x89PNG\xff\xfb" * 50_000, mime_type="image/png"))
    sound = types.Part(inline_data=types.Blob(data=b"RIFF\xff", mime_type="audio/wav", display_name="a.wav"))

    async def run() -> None:
        session = await created(service)
        content = types.Content(role="user", parts=[types.Part(text="Look"), picture, sound])
        await service.append_event(session, an_event(content=content))
        assert (await got(service)).events == session.events
        (turn,) = _turns(service)
        assert [part["type"] for part in turn.parts] == ["image", "file"]
        assert service._sessions.store.get_blob(_id(service), str(turn.parts[0]["hash"])) == picture.inline_data.data  # type: ignore[union-attr]
        assert len(str(turn.native)) < 1000

    asyncio.run(run())


def test_large_events_and_large_state_are_blobs(service: SegueSessionService) -> None:
    async def run() -> None:
        session = await created(service, early="e" * 100_000)
        large = {"own": "o" * 100_000, "app:a": "a" * 100_000, "user:u": ["u" * 100_000]}
        await service.append_event(session, an_event("t" * 100_000, delta=large))
        await service.append_event(session, an_event(delta=large))
        found = await got(service)
        assert found.events == session.events
        assert found.state == session.state
        overview = service._sessions.overview(ID, scope=(APP, USER))
        assert overview is not None
        assert len(str(overview.records["state:own"])) < 1000

    asyncio.run(run())


async def _get(service: SegueSessionService, **config: float) -> Session:
    wanted = GetSessionConfig.model_validate(config)
    session = await service.get_session(app_name=APP, user_id=USER, session_id=ID, config=wanted)
    assert session is not None
    return session


def _id(service: SegueSessionService) -> str:
    return service._sessions.id_of(ID, scope=(APP, USER))


def _turns(service: SegueSessionService) -> tuple[Turn, ...]:
    sessions: NamedSessions = service._sessions
    return sessions.store.load(_id(service)).turns

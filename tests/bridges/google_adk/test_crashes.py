"""Agents that are killed, processes that share a session, and shared state that a crash cuts in two."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from segue.bridges.google_adk import SegueSessionService
from segue.session import LiveSession
from segue.stores.journal.store import JournalStore
from tests.bridges.crashing import run_killed, run_many
from tests.bridges.google_adk import scripted
from tests.bridges.google_adk.support import APP, USER, an_event, created, got, texts

if TYPE_CHECKING:
    from collections.abc import Callable

    from google.adk.events.event import Event

PROGRAMS = Path(__file__).parent / "programs"
WARM = ["tests.bridges.google_adk.scripted", "segue.bridges.google_adk", "google.adk.flows.llm_flows.single_flow"]


def test_a_killed_agent_resumes_after_its_last_acknowledged_step(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    url, rounds = f"journal:{tmp_path}", 40 if pytestconfig.getoption("long") else 12
    kills = 150 if pytestconfig.getoption("long") else 10
    acks = run_killed(PROGRAMS / "asking.py", url, str(rounds), seed=3, kills=kills, preload=WARM)
    service = SegueSessionService(url)

    async def run() -> None:
        session = await service.get_session(app_name=scripted.APP, user_id="ann", session_id="trip")
        assert session is not None
        ids = [event.id for event in session.events]
        assert len(ids) == len(set(ids))
        assert set(acks) <= set(ids)
        assert [_told(event) for event in session.events if event.content] == [
            told for number in range(rounds) for told in (f"q{number}", "call", f"q{number}", f"answer q{number}")
        ]
        assert session.state == {
            "count": rounds,
            "user:count": rounds,
            "app:count": rounds,
            "last": f"answer q{rounds - 1}",
        }

    asyncio.run(run())


def _told(event: Event) -> str:
    part = event.content.parts[0]  # type: ignore[union-attr, index]
    if part.function_response is not None:
        return str((part.function_response.response or {})["result"])
    return "call" if part.function_call is not None else str(part.text)


def test_eight_processes_on_one_session_lose_nothing(tmp_path: Path) -> None:
    url = f"journal:{tmp_path}"
    service = SegueSessionService(url)
    asyncio.run(created(service))
    runs = [[url, f"p{number}", "12"] for number in range(8)]
    acks = run_many(PROGRAMS / "appending.py", runs, preload=WARM)
    session = asyncio.run(got(service))
    assert len(acks) == 8 * 12
    assert sorted(event.id for event in session.events) == sorted(acks)
    for number in range(8):
        assert [text for text in texts(session) if str(text).startswith(f"p{number}-")] == [
            f"p{number}-{at}" for at in range(12)
        ]
    assert session.state == {f"{prefix}p{number}": 11 for number in range(8) for prefix in ("", "app:")}


class Crash(BaseException):
    """The process ends here."""


class Crashing:
    """The process ends before or after one of the writes of an operation: the one with this number."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, at: int, *, after: bool) -> None:
        self.left, self._after = at, after
        for owner, name in ((LiveSession, "record"), (JournalStore, "create")):
            monkeypatch.setattr(owner, name, self._wrapped(getattr(owner, name)))

    def _wrapped(self, write: Callable[..., object]) -> Callable[..., object]:
        def crash_or_write(*args: object, **kwargs: object) -> object:
            self.left -= 1
            if self.left == 0 and not self._after:
                raise Crash
            result = write(*args, **kwargs)
            if self.left == 0:
                if hasattr(result, "close"):
                    result.close()
                raise Crash
            return result

        return crash_or_write


CHANGE = {"own": 1, "user:u": 1, "app:a": 1}
_MOST_WRITES = 12


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("what", ["append", "create"])
def test_shared_state_changes_with_its_event_or_not_at_all(tmp_path: Path, what: str, *, after: bool) -> None:
    """For every write of an append and of a creation that change all three states."""
    outcomes = set()
    for at in range(1, _MOST_WRITES):
        service = SegueSessionService(f"journal:{tmp_path}/{at}")
        reader = SegueSessionService(f"journal:{tmp_path}/{at}")
        session = asyncio.run(created(service)) if what == "append" else None
        with pytest.MonkeyPatch.context() as patch:
            crashing = Crashing(patch, at, after=after)
            try:
                if session is not None:
                    asyncio.run(service.append_event(session, an_event("one", delta=dict(CHANGE))))
                else:
                    asyncio.run(created(service, **CHANGE))
            except Crash:
                pass
        happened = asyncio.run(_state(reader)) == CHANGE
        assert asyncio.run(_state(reader)) == (CHANGE if happened else {})
        assert _user_state(reader) == ({"u": 1} if happened else {})
        outcomes.add(happened)
        other = asyncio.run(service.create_session(app_name=APP, user_id=USER, session_id="other"))
        asyncio.run(service.append_event(other, an_event("two", delta={"user:v": 2, "app:b": 2})))
        expected = {**({"user:u": 1, "app:a": 1} if happened else {}), "user:v": 2, "app:b": 2}
        assert other.state == expected or session is None
        found = asyncio.run(service.get_session(app_name=APP, user_id=USER, session_id="other"))
        assert found is not None
        assert found.state == expected
        asyncio.run(service.delete_session(app_name=APP, user_id=USER, session_id="trip"))
        assert _user_state(reader) == {**({"u": 1} if happened else {}), "v": 2}
        if crashing.left > 0:
            break
    else:
        pytest.fail("there are more writes than expected")
    assert outcomes == {False, True}


def test_a_pending_change_outlives_the_deletion_of_its_session(tmp_path: Path) -> None:
    service = SegueSessionService(f"journal:{tmp_path}")
    session = asyncio.run(created(service))
    with pytest.MonkeyPatch.context() as patch:
        Crashing(patch, 5, after=True)  # the two places and what is pending there, then the event, and nothing more
        with pytest.raises(Crash):
            asyncio.run(service.append_event(session, an_event("one", delta=dict(CHANGE))))
    assert texts(asyncio.run(got(service))) == ["one"]
    assert service._sessions.overview(USER, scope=[APP]).records.keys() != {"state:u"}  # type: ignore[union-attr]
    asyncio.run(service.delete_session(app_name=APP, user_id=USER, session_id="trip"))
    assert _user_state(service) == {"u": 1}


async def _state(service: SegueSessionService) -> object:
    session = await service.get_session(app_name=APP, user_id=USER, session_id="trip")
    return session.state if session is not None else {}


def _user_state(service: SegueSessionService) -> object:
    return asyncio.run(service.get_user_state(app_name=APP, user_id=USER))

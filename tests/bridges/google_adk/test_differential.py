"""The same operations on the framework's own services and on ours: every result and every error is compared.

Where the services of the framework differ from one another, this is the one that ours follows, and why:

- An object of a session that has newer events: StaleSessionError, as of Sqlite and Database. It is what the base class
  documents for services that store; the one in memory merges.
- An id with spaces around it: they are stripped, as by InMemory and Sqlite. Database stores the id with its spaces.
- An empty id: a new one is made, as by InMemory and Sqlite. To Database it is an id.
- An event that is recorded already: nothing happens, as documented for InMemory. The others raise an error of their
  database driver.
- An append that fails: event and session object are unchanged, as with InMemory. The others have applied the temporary
  state to the object and removed it from the event.

Events here are as upstream expects them: each is later than the one before. What happens when clocks do not do that
is in `test_service.py`, since upstream's services fail there.
"""

from __future__ import annotations

import asyncio
import copy
import shutil
import tempfile
from typing import TYPE_CHECKING, Any, cast

import pytest
from google.adk.errors import StaleSessionError
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.platform import time as platform_time
from google.adk.platform import uuid as platform_uuid
from google.adk.sessions.base_session_service import GetSessionConfig
from google.adk.sessions.database_session_service import DatabaseSessionService
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from segue.bridges import NamedSessions, new_id
from segue.bridges.google_adk import SegueSessionService

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from google.adk.sessions.base_session_service import BaseSessionService
    from google.adk.sessions.session import Session

MEMORY, SQLITE, DATABASE, OURS = "memory", "sqlite", "database", "ours"
THEIRS = (MEMORY, SQLITE, DATABASE)

APPS = st.sampled_from(["weather", "weather", "weather", "travel"])
USERS = st.sampled_from(["ann", "ann", "ann", "bob"])
IDS = st.sampled_from(["one", "one", "two", " two ", "", " ", None])
LETTERS = st.text("ab é\n\"'\\{}$:☃", max_size=6)
KEYS = st.builds(
    lambda prefix, key: prefix + key, st.sampled_from(["", "app:", "user:", "temp:", "x:"]), st.sampled_from("abc")
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.sampled_from([0.5, -1.25]) | LETTERS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(LETTERS, inner, max_size=3),
    max_leaves=5,
)
STATES = st.dictionaries(KEYS, VALUES, max_size=4)
PARTS = (
    st.builds(lambda text: types.Part(text=text), LETTERS)
    | st.builds(lambda text: types.Part(text=text, thought=True), LETTERS)
    | st.builds(
        lambda args: types.Part(function_call=types.FunctionCall(id="c", name="look", args=args)),
        st.dictionaries(LETTERS, VALUES, max_size=2),
    )
    | st.builds(
        lambda value: types.Part(function_response=types.FunctionResponse(id="c", name="look", response=value)),
        st.dictionaries(st.sampled_from(["result", "error", "x"]), VALUES, max_size=2),
    )
    | st.builds(
        lambda data: types.Part(inline_data=types.Blob(data=data, mime_type="image/png")), st.binary(max_size=9)
    )
)
CONTENTS = st.none() | st.builds(
    lambda role, parts: types.Content(role=role, parts=parts),
    st.sampled_from(["user", "model", None]),
    st.lists(PARTS, max_size=3),
)
EVENTS = st.fixed_dictionaries(
    {
        "author": st.sampled_from(["user", "forecaster", ""]),
        "invocation_id": st.sampled_from(["i1", "i2"]),
        "content": CONTENTS,
        "partial": st.sampled_from([None, None, None, False, True]),
        "model_version": st.sampled_from([None, "gemini"]),
        "branch": st.sampled_from([None, "a.b"]),
        "custom_metadata": st.none() | st.dictionaries(LETTERS, VALUES, max_size=2),
        "long_running_tool_ids": st.none() | st.just({"c"}),
    }
)

Outcome = tuple[str, Any]


class Handle:
    """The objects of one session that each service gave out at the same time."""

    def __init__(self, objects: dict[str, Session], revision: object) -> None:
        self.objects = objects
        self.revision = revision


class Services(RuleBasedStateMachine):
    make: Callable[[str], SegueSessionService]

    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="segue-adk-")
        self.loop = asyncio.new_event_loop()
        self.now = 1_000_000.0
        self.ids = 0
        self.services: dict[str, BaseSessionService] = {
            MEMORY: InMemorySessionService(),
            SQLITE: SqliteSessionService(f"{self.folder}/sessions.db"),
            DATABASE: DatabaseSessionService(f"sqlite+aiosqlite:///{self.folder}/database.db"),
            OURS: type(self).make(self.folder),
        }
        self.handles: list[Handle] = []
        self.revisions: dict[tuple[str, str, str], int] = {}
        platform_time.set_time_provider(lambda: self.now)

    def teardown(self) -> None:
        platform_time.reset_time_provider()
        platform_uuid.reset_id_provider()
        if hasattr(self, "loop"):
            for name in (SQLITE, DATABASE, OURS):
                self.loop.run_until_complete(self.services[name].close())  # type: ignore[attr-defined]
            self.loop.run_until_complete(self.loop.shutdown_default_executor())
            self.loop.close()
            shutil.rmtree(self.folder)

    # ── What is done ────────────────────────────────────────────────────────────────────────────────────────────────

    @rule(app=APPS, user=USERS, id=IDS, state=st.none() | STATES)
    def create(self, app: str, user: str, id: str | None, state: dict[str, Any] | None) -> None:
        self.tick()
        self.ids += 1
        platform_uuid.set_id_provider(lambda: f"new-{self.ids}")
        found = self.on_each(
            lambda name, service: service.create_session(
                app_name=app, user_id=user, session_id=self.id_for(name, id), state=copy.deepcopy(state)
            )
        )
        platform_uuid.reset_id_provider()
        outcome = self.same(found)
        if outcome[0] == "session":
            key = _key(outcome[1])
            self.revisions[key] = self.revisions.get(key, 0) + 1
            self.hold(found)

    @rule(
        app=APPS,
        user=USERS,
        id=IDS,
        count=st.none() | st.integers(0, 4),
        age=st.none() | st.integers(0, 6),
        hold=st.booleans(),
    )
    def get(self, app: str, user: str, id: str | None, count: int | None, age: int | None, *, hold: bool) -> None:
        after = None if age is None else self.now - age
        config = (
            None if count is None and age is None else GetSessionConfig(num_recent_events=count, after_timestamp=after)
        )
        found = self.on_each(
            lambda name, service: service.get_session(
                app_name=app, user_id=user, session_id=self.id_for(name, id or "none"), config=config
            )
        )
        if self.same(found)[0] == "session" and hold:
            self.hold(found)

    @rule(app=APPS, user=st.none() | USERS)
    def list(self, app: str, user: str | None) -> None:
        self.same(self.on_each(lambda _, service: service.list_sessions(app_name=app, user_id=user)))

    @rule(app=APPS, user=USERS)
    def user_state(self, app: str, user: str) -> None:
        self.same(self.on_each(lambda _, service: service.get_user_state(app_name=app, user_id=user)))

    @rule(app=APPS, user=USERS, id=IDS)
    def delete(self, app: str, user: str, id: str | None) -> None:
        if not id:
            return
        self.same(
            self.on_each(
                lambda name, service: service.delete_session(
                    app_name=app, user_id=user, session_id=self.id_for(name, id)
                )
            )
        )

    @rule(which=st.integers(0, 5), fields=EVENTS, delta=STATES)
    def append(self, which: int, fields: dict[str, Any], delta: dict[str, Any]) -> None:
        if not self.handles:
            return
        self.tick()
        handle = self.handles[-1 - which % len(self.handles)]
        event = Event(**fields, id=f"event-{self.now}", timestamp=self.now, actions=EventActions(state_delta=delta))
        is_stale = self.is_stale(handle) and not event.partial
        found = self.on_each(
            lambda name, service: service.append_event(handle.objects[name], copy.deepcopy(event)),
            skip=(MEMORY,) if is_stale else (),
        )
        outcome = self.same(found)
        if is_stale:
            assert outcome == ("error", StaleSessionError.__name__)
        if outcome[0] == "error":
            self.handles.remove(handle)  # its objects differ from now on, see above
            return
        if not event.partial:
            key = _key(handle.objects[OURS])
            self.revisions[key] = handle.revision = self.revisions[key] + 1
        self.same({name: ("session", one) for name, one in handle.objects.items()})

    @rule(which=st.integers(0, 5), number=st.integers(0, 3))
    def append_again(self, which: int, number: int) -> None:
        if not self.handles:
            return
        handle = self.handles[-1 - which % len(self.handles)]
        events = handle.objects[OURS].events
        if self.is_stale(handle) or number >= len(events):
            return
        event = copy.deepcopy(events[-1 - number])
        self.same(
            self.on_each(
                lambda name, service: service.append_event(handle.objects[name], copy.deepcopy(event)),
                skip=(SQLITE, DATABASE),
            )
        )

    # ── How it is compared ──────────────────────────────────────────────────────────────────────────────────────────

    def tick(self) -> None:
        self.now += 1.0

    def id_for(self, name: str, id: str | None) -> str:
        """The database takes ids as they are."""
        return cast("str", (id or "").strip() or None if name == DATABASE else id)

    def on_each(
        self, call: Callable[[str, BaseSessionService], Coroutine[Any, Any, Any]], skip: tuple[str, ...] = ()
    ) -> dict[str, Outcome]:
        return {
            name: self.loop.run_until_complete(_outcome(call(name, service)))
            for name, service in self.services.items()
            if name not in skip
        }

    def same(self, found: dict[str, Outcome]) -> Outcome:
        plain = {name: _plain(outcome) for name, outcome in found.items()}
        for name, outcome in plain.items():
            assert plain[OURS] == outcome, f"we differ from {name}"
        return found[OURS] if found[OURS][0] != "error" else plain[OURS]

    def hold(self, found: dict[str, Outcome]) -> None:
        objects = {name: one for name, (_, one) in found.items()}
        key = _key(objects[OURS])
        self.handles.append(Handle(objects, self.revisions[key]))

    def is_stale(self, handle: Handle) -> bool:
        """By what we know of it: somebody else appended, or it was deleted and made again."""
        key = _key(handle.objects[OURS])
        stored = self.services[MEMORY].sessions.get(key[0], {}).get(key[1], {}).get(key[2])  # type: ignore[attr-defined]
        return stored is not None and handle.revision != self.revisions[key]


async def _outcome(call: Coroutine[Any, Any, Any]) -> Outcome:
    try:
        result = await call
    except Exception as error:  # noqa: BLE001 - every error is compared
        return "error", error
    return type(result).__name__.lower(), result


def _plain(outcome: Outcome) -> Outcome:
    kind, value = outcome
    match kind:
        case "error":
            return kind, type(value).__name__
        case "session" | "event" | "listsessionsresponse":
            return kind, value.model_dump(mode="json")
    return kind, value


def _key(session: Session) -> tuple[str, str, str]:
    return session.app_name, session.user_id, session.id


def run_machine(make: Callable[[str], SegueSessionService], *, examples: int, steps: int) -> None:
    machine = type("Machine", (Services,), {"make": staticmethod(make)})
    run_state_machine_as_test(machine, settings=settings(max_examples=examples, stateful_step_count=steps))


def test_our_service_does_what_those_of_the_framework_do() -> None:
    run_machine(lambda folder: SegueSessionService(f"journal:{folder}/agents"), examples=15, steps=40)


@pytest.mark.long
def test_our_service_does_what_those_of_the_framework_do_at_length() -> None:
    run_machine(lambda folder: SegueSessionService(f"journal:{folder}/agents"), examples=300, steps=50)


def test_our_service_does_the_same_on_postgres(postgres_url: str) -> None:
    def make(_: str) -> SegueSessionService:
        service = SegueSessionService(postgres_url)
        service._sessions = NamedSessions(f"google-adk-{new_id()}", service._sessions.library)
        return service

    run_machine(make, examples=4, steps=15)

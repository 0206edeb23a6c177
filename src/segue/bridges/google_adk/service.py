"""The session service."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import anyio
from google.adk.errors import StaleSessionError
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.platform import time as platform_time
from google.adk.platform import uuid as platform_uuid
from google.adk.sessions.base_session_service import BaseSessionService, ListSessionsResponse
from google.adk.sessions.session import Session
from google.adk.sessions.state import State
from pydantic import ConfigDict, TypeAdapter

from segue.bridges.google_adk.events import not_json, to_stored
from segue.bridges.google_adk.history import History, Key, head_of
from segue.bridges.google_adk.recent import KnownEvents, RecentSessions
from segue.bridges.google_adk.shared import (
    HEAD,
    app_place,
    changing,
    read_shared,
    settle,
    state_of,
    state_records,
    user_place,
)
from segue.bridges.sessions import WAIT_SECONDS, NamedSessions, in_thread, name_of, new_id, new_record, scope_of
from segue.errors import NotFoundError, SessionExistsError
from segue.integrations.format.values import as_amount
from segue.library import Library

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType
    from typing import Self

    from google.adk.events.event import Event
    from google.adk.sessions.base_session_service import GetSessionConfig

    from segue.bridges.google_adk.shared import Place
    from segue.model import JsonObject, Overview, Record

_logger = logging.getLogger(__name__)

_ANY = TypeAdapter[object](Any, config=ConfigDict(ser_json_inf_nan="constants"))

FRAMEWORK = "google-adk"
_STALE = "the session has newer events than this object of it; get the session again before you append"


class SegueSessionService(BaseSessionService):
    """Sessions, events and state in any store of Segue: by its URL, or a library that is open already.

    None means the user's own store. A call waits at most `wait_seconds` for another process that writes the session.
    """

    def __init__(self, store: str | Library | None = None, *, wait_seconds: float = WAIT_SECONDS) -> None:
        self._sessions = NamedSessions(FRAMEWORK, store, wait_seconds=wait_seconds)
        self._is_ours = not isinstance(store, Library)
        self._recent = RecentSessions()
        self._known = KnownEvents()
        self._locks: WeakValueDictionary[tuple[int, Key], anyio.Lock] = WeakValueDictionary()

    async def create_session(
        self, *, app_name: str, user_id: str, state: dict[str, Any] | None = None, session_id: str | None = None
    ) -> Session:
        """Create a session. AlreadyExistsError if there is one of that id."""
        id = (session_id or "").strip() or platform_uuid.new_uuid()
        now = platform_time.get_time()
        return await in_thread(self._create, Key(app_name, user_id, id), state or {}, now)

    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        """The session with its events, or with those that `config` selects; None if there is none."""
        return await in_thread(self._get, Key(app_name, user_id, (session_id or "").strip()), config)

    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        """The sessions of an app, or of one of its users, without their events; the last updated one last."""
        return await in_thread(self._list, app_name, user_id)

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Move the session to the trash, if there is one."""
        await in_thread(self._delete, Key(app_name, user_id, (session_id or "").strip()))

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        return await in_thread(read_shared, self._sessions, user_place(app_name, user_id))

    async def append_event(self, session: Session, event: Event) -> Event:
        """Record the event and what it changes in the state, all or nothing, and add it to the session object.

        SessionNotFoundError if the session is gone, StaleSessionError if it has events that the object does not know.
        An event that is recorded already is not recorded again.
        """
        if event.partial:
            return event
        key = Key(session.app_name, session.user_id, session.id)
        lock = self._locks.setdefault((threading.get_ident(), key), anyio.Lock())
        async with lock:  # tasks that share the object append one after the other
            if self._known.has(session, event):
                return event
            marker = await in_thread(self._append, key, session, event)
            if marker is not None:
                session.last_update_time = event.timestamp
                session._storage_update_marker = marker  # noqa: SLF001 - of any service that stores sessions
                await super().append_event(session, event)
            return event

    async def close(self) -> None:
        """Close the store, unless it was open before."""
        if self._is_ours:
            await in_thread(self._sessions.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _create(self, key: Key, state: Mapping[str, object], now: float) -> Session:
        if self._sessions.overview(key.id, scope=key.scope) is not None:
            raise _exists(key)
        own, shared = _split(key, state)
        token = new_id()
        head = _head(None, updated=now, token=token, shared=shared)
        try:
            with changing(self._sessions, self._sessions.id_of(key.id, scope=key.scope), token, shared):
                overview = self._sessions.create(key.id, *state_records(own, None), head, scope=key.scope)
        except SessionExistsError:
            raise _exists(key) from None
        return self._session(overview, key, [], self._shared(key))

    def _get(self, key: Key, config: GetSessionConfig | None) -> Session | None:
        overview = self._sessions.overview(key.id, scope=key.scope)
        if overview is None or head_of(overview) is None:
            return None
        history = History(self._sessions, overview, self._recent)
        try:
            events = _selected(history, config)
        except NotFoundError:
            return None  # deleted meanwhile
        return self._session(overview, key, events, self._shared(key))

    def _list(self, app_name: str, user_id: str | None) -> ListSessionsResponse:
        app = read_shared(self._sessions, app_place(app_name))
        users: dict[str, JsonObject] = {}
        found: list[Session] = []
        for overview in self._sessions.all():
            match scope_of(overview):
                case (name, user) if name == app_name and user_id in (None, user) and head_of(overview) is not None:
                    if user not in users:
                        users[user] = read_shared(self._sessions, user_place(app_name, user))
                    shared = _prefixed(app, users[user])
                    found.append(self._session(overview, Key(app_name, user, name_of(overview)), [], shared))
        found.sort(key=lambda session: (session.last_update_time, session.user_id, session.id))
        return ListSessionsResponse(sessions=found)

    def _delete(self, key: Key) -> None:
        overview = self._sessions.overview(key.id, scope=key.scope)
        head = head_of(overview) if overview is not None else None
        for place in (app_place(key.app_name), user_place(key.app_name, key.user_id)):
            if head is not None and place.kind in head.data:
                settle(self._sessions, place)  # what it decides goes with it
        self._sessions.remove(key.id, scope=key.scope)

    def _append(self, key: Key, session: Session, event: Event) -> str | None:
        """Record the event; the marker of the session from now on, or None if the event is recorded already."""
        own, shared = _split(key, event.actions.state_delta)
        try:
            with self._sessions.writing(key.id, scope=key.scope, create=False) as live:
                head = head_of(live.overview)
                if head is None:
                    raise NotFoundError(live.id)
                history = History(self._sessions, live.overview, self._recent)
                if (missed := _missed(session, live.overview, head, history)) is not None:
                    if any(known.id == event.id and known == event for known in missed):
                        return None
                    raise StaleSessionError(_STALE)
                rewound = event.actions.rewind_before_invocation_id
                branch = history.branch_before(rewound) if rewound else None
                stored = to_stored(event, branch=branch.name if branch else live.branch, put_blob=live.put_blob)
                token = new_id()
                head = _head(head, updated=event.timestamp, token=token, shared=shared)
                changes = state_records(own, live.put_blob)
                with changing(self._sessions, live.id, token, shared):
                    live.record(*([branch] if branch else []), stored, *changes, head, ids_are_new=True)
                return _marker(live.overview)
        except NotFoundError:
            raise SessionNotFoundError(f"Session {key.id} not found.") from None

    def _shared(self, key: Key) -> JsonObject:
        user = read_shared(self._sessions, user_place(key.app_name, key.user_id))
        return _prefixed(read_shared(self._sessions, app_place(key.app_name)), user)

    def _session(self, overview: Overview, key: Key, events: list[Event], shared: JsonObject) -> Session:
        head = overview.records[HEAD]
        session = Session(
            app_name=key.app_name,
            user_id=key.user_id,
            id=key.id,
            state={**state_of(self._sessions, overview), **shared},
            events=events,
            last_update_time=as_amount(head.data.get("updated")) or 0.0,
        )
        session._storage_update_marker = _marker(overview)  # noqa: SLF001 - of any service that stores sessions
        return session


def _exists(key: Key) -> AlreadyExistsError:
    return AlreadyExistsError(f"Session with id {key.id} already exists.")


def _split(key: Key, delta: Mapping[str, object]) -> tuple[JsonObject, dict[Place, JsonObject]]:
    """What a change of state means for the session, and for what it shares with others; temporary state is dropped."""
    places = {
        State.APP_PREFIX: app_place(key.app_name),
        State.USER_PREFIX: user_place(key.app_name, key.user_id),
    }
    own: JsonObject = {}
    shared: dict[Place, JsonObject] = {}
    for name, value in delta.items():
        prefix = next((prefix for prefix in places if name.startswith(prefix)), "")
        if prefix:
            shared.setdefault(places[prefix], {})[name.removeprefix(prefix)] = _as_json(name, value)
        elif not name.startswith(State.TEMP_PREFIX):
            own[name] = _as_json(name, value)
    return own, {place: shared[place] for place in places.values() if place in shared}  # always locked in this order


def _as_json(name: str, value: object) -> object:
    """The value as JSON. What cannot be JSON is stored as a description of it, as all services of the framework do."""
    try:
        return _ANY.dump_python(value, mode="json")
    except (ValueError, RecursionError) as error:
        reason = error
    try:
        described = _ANY.dump_python(value, mode="json", fallback=repr)
    except (ValueError, RecursionError) as error:
        raise not_json(f"the state {name!r:.60}", error) from None
    _logger.warning("The state %r cannot be stored as it is, only as a text that describes it: %s", name, reason)
    return described


def _prefixed(app: JsonObject, user: JsonObject) -> JsonObject:
    return {f"{State.APP_PREFIX}{key}": value for key, value in app.items()} | {
        f"{State.USER_PREFIX}{key}": value for key, value in user.items()
    }


def _head(before: Record | None, *, updated: float, token: str, shared: Mapping[Place, object]) -> Record:
    """What each append ends with: the time of the update, the latest time of all events, who decides shared state."""
    data: JsonObject = {} if before is None else dict(before.data)
    data["updated"] = updated
    if before is not None:
        latest = as_amount(data.get("latest"))
        data["latest"] = updated if latest is None else max(latest, updated)
    return new_record("head", data | {place.kind: token for place in shared}, name=HEAD)


def _marker(overview: Overview) -> str:
    """The revision of a session, which the framework has a place for in its session objects.

    Turns and branches that were made by others count, but not a new title.
    """
    head = overview.records[HEAD]
    return f"{head.seq} {head.id} {overview.turn_count} {overview.branch}"


def _missed(session: Session, overview: Overview, head: Record, history: History) -> list[Event] | None:
    """The events that the object does not know; None if it is up to date."""
    marker = session._storage_update_marker  # noqa: SLF001 - of any service that stores sessions
    if marker == _marker(overview):
        return None
    if marker is not None:
        seq = marker.partition(" ")[0]
        return history.after(int(seq)) if seq.isdecimal() and int(seq) < head.seq else []
    # An object that this service did not make: as the framework's own database does, but by the events if it has some.
    if session.events:
        last = history.recent(1)
        return None if last and last[0].id == session.events[-1].id else []
    return (
        None if "latest" not in head.data or session.last_update_time >= (as_amount(head.data["updated"]) or 0) else []
    )


def _selected(history: History, config: GetSessionConfig | None) -> list[Event]:
    if config is None or (config.num_recent_events is None and config.after_timestamp is None):
        return history.all()
    if config.num_recent_events is None:
        return history.since(config.after_timestamp or 0.0)
    events = history.recent(config.num_recent_events) if config.num_recent_events else []
    return [event for event in events if config.after_timestamp is None or event.timestamp >= config.after_timestamp]

"""The state of an app and of a user, which all their sessions share. Each has a session of its own.

An event that changes shared state is in one session and the state in others, and a crash can come in between. So the
change is recorded three times: as pending where the state is, then with the event in its own session, which decides
that it happened, and then as done where the state is. A pending change counts from the moment that its event is
recorded; if a crash leaves one, the next writer of the state completes it, or drops it if there is no such event.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from segue.bridges.google_adk.events import blobs_of
from segue.bridges.packing import pack, unpack
from segue.bridges.sessions import new_record
from segue.errors import DamagedError, InvalidIdError, NotFoundError, SegueError, SessionLockedError
from segue.integrations.format.values import child

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from segue.bridges.sessions import NamedSessions
    from segue.model import JsonObject, Overview, Record
    from segue.session import LiveSession

HEAD = "head"
"""The name of the record that each append to a session of the framework ends with."""
_STATE = "state:"
_PENDING = "pending:"


class Place(NamedTuple):
    """Where a part of the state is shared: by an app, or by a user of an app."""

    kind: str
    name: str
    scope: tuple[str, ...]


def app_place(app_name: str) -> Place:
    return Place("app", app_name, ())


def user_place(app_name: str, user_id: str) -> Place:
    return Place("user", user_id, (app_name,))


def state_records(state: Mapping[str, object], put_blob: Callable[[bytes], str] | None) -> list[Record]:
    """A record for each key, so that a change costs what it changes; without `put_blob`, all of it is in the record."""
    return [_state_record(key, packed) for key, packed in _pack(state, put_blob).items()]


def state_of(sessions: NamedSessions, overview: Overview) -> JsonObject:
    """The state that these records add up to."""
    names = [name for name in overview.records if name.startswith(_STATE)]
    return {name.removeprefix(_STATE): _value(sessions, overview, overview.records[name].data) for name in names}


def read_shared(sessions: NamedSessions, place: Place) -> JsonObject:
    """The state of the place. It needs no lock: a change is in it as soon as its event is recorded."""
    overview = sessions.overview(place.name, scope=place.scope)
    if overview is None:
        return {}
    state = state_of(sessions, overview)
    for pending in _pending(overview):
        if _has_happened(sessions, place, pending):
            changes = _newer_changes(pending, overview)
            state |= {key: _value(sessions, overview, packed) for key, packed in changes.items()}
    return state


@contextmanager
def changing(
    sessions: NamedSessions, session_id: str, token: str, changes: Mapping[Place, Mapping[str, object]]
) -> Iterator[None]:
    """Change shared state together with what the `with` block records in a session: all of it or none.

    The block records a head that has the token under the kind of each place.
    """
    with ExitStack() as stack:
        opened: list[tuple[LiveSession, Record]] = []
        for place, delta in changes.items():
            title = f"state of the {place.kind} {place.name}"
            live = stack.enter_context(sessions.writing(place.name, scope=place.scope, title=title))
            _settle(sessions, place, live, own=session_id)
            data: JsonObject = {"session": session_id, "token": token, "changes": _pack(delta, live.put_blob)}
            live.record(new_record("pending", data, name=_PENDING + token), ids_are_new=True)
            opened.append((live, live.overview.records[_PENDING + token]))
        yield
        for live, pending in opened:
            with suppress(SegueError):  # it has happened, and the next writer completes it
                live.record(*_completion(pending, live.overview), ids_are_new=True)


def settle(sessions: NamedSessions, place: Place) -> None:
    """Complete what is pending at the place, so that the events that decide it are no longer needed."""
    overview = sessions.overview(place.name, scope=place.scope)
    if overview is not None and _pending(overview):
        with sessions.writing(place.name, scope=place.scope) as live:
            _settle(sessions, place, live)


def _settle(sessions: NamedSessions, place: Place, live: LiveSession, *, own: str = "") -> None:
    """Complete or drop what is pending: as the writer of the place is here, nothing of it is under way."""
    for pending in _pending(live.overview):
        if _has_happened(sessions, place, pending):
            live.record(*_completion(pending, live.overview), ids_are_new=True)
        elif pending.data.get("session") == own or _can_never_happen(sessions, place, pending):
            live.record(_removal(pending), ids_are_new=True)


def _has_happened(sessions: NamedSessions, place: Place, pending: Record) -> bool:
    try:
        return _decides(sessions.store.overview(str(pending.data.get("session"))), place, pending)
    except (NotFoundError, InvalidIdError, DamagedError):  # a damaged one does not decide anything
        return False


def _can_never_happen(sessions: NamedSessions, place: Place, pending: Record) -> bool:
    """Whether no writer can still record the event: to open the session stops one that has lost its lock."""
    try:
        writer = sessions.store.open(str(pending.data.get("session")), timeout_seconds=0)
    except (NotFoundError, InvalidIdError):
        return True
    except (SessionLockedError, DamagedError):
        return False
    with writer:
        return not _decides(writer.overview, place, pending)


def _decides(overview: Overview, place: Place, pending: Record) -> bool:
    head = overview.records.get(HEAD)
    return head is not None and head.data.get(place.kind) == pending.data.get("token")


def _pending(overview: Overview) -> list[Record]:
    found = [record for name, record in overview.records.items() if name.startswith(_PENDING)]
    return sorted(found, key=lambda record: record.seq)


def _newer_changes(pending: Record, overview: Overview) -> dict[str, JsonObject]:
    """What it changes, without what was changed again since."""
    changes = child(pending.data, "changes")
    known = overview.records
    return {
        key: packed
        for key, packed in changes.items()
        if isinstance(packed, dict) and (_STATE + key not in known or known[_STATE + key].seq < pending.seq)
    }


def _completion(pending: Record, overview: Overview) -> list[Record]:
    changes = _newer_changes(pending, overview)
    return [*(_state_record(key, packed) for key, packed in changes.items()), _removal(pending)]


def _removal(pending: Record) -> Record:
    return new_record(pending.kind, {}, name=pending.name)


def _state_record(key: str, packed: JsonObject) -> Record:
    return new_record("state", packed, name=_STATE + key, blobs=blobs_of(packed))


def _pack(state: Mapping[str, object], put_blob: Callable[[bytes], str] | None) -> dict[str, JsonObject]:
    return {key: pack({key: value}, put_blob, what=f"the state {key!r:.60}") for key, value in state.items()}


def _value(sessions: NamedSessions, overview: Overview, packed: JsonObject) -> object:
    found = unpack(packed, partial(sessions.store.get_blob, overview.id))
    return next(iter(found.values()), None) if found else None

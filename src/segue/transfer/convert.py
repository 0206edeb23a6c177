"""A session in another store: every event and every blob, read back before anybody relies on it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from segue.errors import NotFoundError, SegueError, SessionExistsError, StorageError
from segue.model import Attachment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from segue.model import Event, Session
    from segue.store import Store

_BLOB = re.compile(r"sha256:[0-9a-f]{64}")


class Converted(Struct, frozen=True, kw_only=True):
    """A session that is in the other store now, and has been read back there."""

    session_id: str
    events: int
    added: int
    """How many of the events were not there before."""
    blobs: int
    losses: tuple[str, ...] = ()
    """What could not be carried; empty where nothing was lost."""


class Unconverted(Struct, frozen=True, kw_only=True):
    """A session that is not in the other store, or not whole, and why."""

    session_id: str
    error: SegueError


def convert(source: Store, session_id: str, target: Store) -> Session:
    """As `copy`; the session as it is in the target."""
    copy(source, session_id, target)
    return target.load(session_id)


def copy(source: Store, session_id: str, target: Store) -> Converted:
    """Replay a session into another store under the same id, as far as it is not there yet; the source stays.

    Doing it again after a crash half-way completes it, and else adds what is new. SessionExistsError if the target has
    another session of this id, DamagedError if the source cannot be read whole, StorageError if it came back otherwise.
    """
    events = list(source.read(session_id))
    blobs, missing = _blobs(source, session_id, events)
    there = _there(target, session_id)[: len(events)]  # it may have gone on there
    if there != events[: len(there)]:
        raise SessionExistsError(session_id)
    if there != events or any(_find_blob(target, session_id, name) != data for name, data in blobs.items()):
        with target.open(session_id) if there else target.create(session_id, events[:1]) as writer:
            for data in blobs.values():  # before the events that refer to them
                writer.put_blob(data)
            writer.append(*events)
        target.mark_changed(session_id, source.head(session_id).updated_at)
    _verify(target, session_id, events, blobs)
    return Converted(
        session_id=session_id,
        events=len(events),
        added=len(events) - len(there),
        blobs=len(blobs),
        losses=tuple(f"{name} is named, but it was not in {source.url}" for name in missing),
    )


def copy_all(source: Store, target: Store, ids: Sequence[str]) -> Iterator[Converted | Unconverted]:
    """One after the other; what cannot be converted costs only itself."""
    for session_id in ids:
        try:
            yield copy(source, session_id, target)
        except SegueError as error:
            yield Unconverted(session_id=session_id, error=error)


def _there(target: Store, session_id: str) -> list[Event]:
    try:
        return list(target.read(session_id))
    except NotFoundError:
        return []


def _verify(target: Store, session_id: str, events: list[Event], blobs: dict[str, bytes]) -> None:
    if list(target.read(session_id))[: len(events)] != events:
        raise StorageError(
            f"session {session_id} came back from {target.url} as another",
            hint="the source is untouched; delete what is in the target",
        )
    for name, data in blobs.items():
        if target.get_blob(session_id, name) != data:
            raise StorageError(f"blob {name} of session {session_id} came back from {target.url} as another")


def _blobs(source: Store, session_id: str, events: list[Event]) -> tuple[dict[str, bytes], list[str]]:
    """Those that there are, and the attachments of which only the name is there."""
    found = {name: _find_blob(source, session_id, name) for name in sorted(_names(events))}
    attached = {event.hash for event in events if isinstance(event, Attachment)}
    missing = [name for name, data in found.items() if data is None and name in attached]
    return {name: data for name, data in found.items() if data is not None}, missing


def _find_blob(store: Store, session_id: str, name: str) -> bytes | None:
    """None where there is a hash and no blob: an event may well speak of bytes that nobody kept."""
    try:
        return store.get_blob(session_id, name)
    except NotFoundError:
        return None


def _names(events: Iterable[Event]) -> set[str]:
    """Everything in the events that could be the name of a blob."""
    return {text for event in events for text in _texts(msgspec.to_builtins(event)) if _BLOB.fullmatch(text)}


def _texts(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list() | tuple():
            for item in value:
                yield from _texts(item)
        case dict():
            for item in value.values():
                yield from _texts(item)

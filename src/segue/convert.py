"""A session in another store: every event and every blob, read back before anybody relies on it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from segue.errors import NotFoundError, SessionExistsError, StorageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from segue.model import Event, Session
    from segue.store import Store

_BLOB = re.compile(r"sha256:[0-9a-f]{64}")


def convert(source: Store, session_id: str, target: Store) -> Session:
    """Replay a session into another store under the same id, and give it back as it is there; the source stays.

    Doing it again after a crash half-way completes it. SessionExistsError if the target has another session of this
    id, DamagedError if the source cannot be read whole.
    """
    events = list(source.read(session_id))
    blobs = {name: data for name in _names(events) if (data := _find_blob(source, session_id, name)) is not None}
    try:
        writer = target.create(session_id, events[:1])
    except SessionExistsError:
        there = list(target.read(session_id))
        if there != events[: len(there)]:
            raise
        writer = target.open(session_id)
    with writer:
        for data in blobs.values():  # before the events that refer to them
            writer.put_blob(data)
        writer.append(*events)
    _verify(target, session_id, events, blobs)
    return target.load(session_id)


def _verify(target: Store, session_id: str, events: list[Event], blobs: dict[str, bytes]) -> None:
    if list(target.read(session_id)) != events:
        raise StorageError(
            f"session {session_id} came back from {target.url} as another",
            hint="the source is untouched; delete what is in the target",
        )
    for name, data in blobs.items():
        if target.get_blob(session_id, name) != data:
            raise StorageError(f"blob {name} of session {session_id} came back from {target.url} as another")


def _find_blob(source: Store, session_id: str, name: str) -> bytes | None:
    """None where there is a hash and no blob: an event may well speak of bytes that nobody kept."""
    try:
        return source.get_blob(session_id, name)
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

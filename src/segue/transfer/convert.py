"""Copying a session into another store: every event and every blob, verified by reading it back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from segue.errors import NotFoundError, SegueError, SessionExistsError, StorageError
from segue.model import Attachment, PresetChosen, Record, Turn
from segue.model.blobs import blob_names, is_blob_name, needed_blobs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime
    from typing import Protocol

    from segue.model import Event, Head, Session
    from segue.store import Store

    class Source(Protocol):
        """What is copied: a store, or the content of a file. See store.Store."""

        @property
        def url(self) -> str: ...

        def read(self, session_id: str, *, after: int = 0) -> Iterator[Event]: ...

        def head(self, session_id: str) -> Head: ...

        def get_blob(self, session_id: str, name: str) -> bytes: ...


class Converted(Struct, frozen=True, kw_only=True):
    """A session that is in the other store now, verified there."""

    session_id: str
    events: int
    added: int
    """How many of the events are new."""
    blobs: int
    losses: tuple[str, ...] = ()
    """What could not be copied; empty if nothing was lost."""


class Unconverted(Struct, frozen=True, kw_only=True):
    """A session that could not be copied, or not completely."""

    session_id: str
    error: SegueError


def convert(source: Store, session_id: str, target: Store) -> Session:
    """Like `copy`; returns the session in the target."""
    copy(source, session_id, target)
    return target.load(session_id)


def copy(source: Source, session_id: str, target: Store) -> Converted:
    """Copy a session into another store under the same id, as far as it is not there yet; the source does not change.

    Repeating it completes an interrupted copy, or adds what is new. SessionExistsError if the target has another
    session with this id, DamagedError if the source is damaged, StorageError if the copy differs when it is read back.
    """
    events = list(source.read(session_id))
    blobs, missing = _blobs(source, session_id, events)
    copied = _read_existing(target, session_id)[: len(events)]  # the copy may have been continued
    if copied != events[: len(copied)]:
        raise SessionExistsError(session_id)
    if copied != events or any(find_blob(target, session_id, name) != data for name, data in blobs.items()):
        write_events(target, session_id, events, blobs, is_new=not copied)
        target.mark_changed(session_id, source.head(session_id).updated_at)
    _verify(target, session_id, events, blobs)
    return Converted(
        session_id=session_id,
        events=len(events),
        added=len(events) - len(copied),
        blobs=len(blobs),
        losses=losses_of(source, missing),
    )


def write_events(
    target: Store, session_id: str, events: Sequence[Event], blobs: Mapping[str, bytes], *, is_new: bool
) -> datetime:
    """Write what is missing of a session; the time of its last activity. A session without blobs is created whole."""
    if is_new and not blobs:
        with target.create(session_id, events) as writer:
            return writer.overview.updated_at
    with target.create(session_id, events[:1]) if is_new else target.open(session_id) as writer:
        for data in blobs.values():  # before the events that refer to them
            writer.put_blob(data)
        writer.append(*events)
        return writer.overview.updated_at


def losses_of(source: Source, missing: Iterable[str]) -> tuple[str, ...]:
    """What is reported of attached files and records whose blobs do not exist."""
    return tuple(f"blob {name} is missing in {source.url}" for name in sorted(missing))


def _read_existing(target: Store, session_id: str) -> list[Event]:
    try:
        return list(target.read(session_id))
    except NotFoundError:
        return []


def _verify(target: Store, session_id: str, events: list[Event], blobs: dict[str, bytes]) -> None:
    if list(target.read(session_id))[: len(events)] != events:
        raise differs_after_copy(session_id, target)
    for name, data in blobs.items():
        if target.get_blob(session_id, name) != data:
            raise StorageError(f"blob {name} of session {session_id} differs after it was copied to {target.url}")


def differs_after_copy(session_id: str, target: Store) -> StorageError:
    return StorageError(
        f"session {session_id} differs after it was copied to {target.url}",
        hint="the source is unchanged; delete the session in the target",
    )


def find_blobs(source: Source, session_id: str, events: Iterable[Event]) -> dict[str, bytes]:
    """The blobs of a session that these events refer to, as far as they exist."""
    found = {name: find_blob(source, session_id, name) for name in sorted(blob_names(*events))}
    return {name: data for name, data in found.items() if data is not None}


def iter_blobs(source: Store, session_id: str) -> Iterator[tuple[str, bytes]]:
    """The attached files, images, prompts and large values of a session, each with its name; one at a time."""
    names: set[str] = set()
    for event in source.read(session_id):
        match event:
            case Attachment() | PresetChosen():
                names.add(event.hash)
            case Record():
                names.update(blob_names(event))
            case Turn() if event.parts:
                names.update(blob_names(event.parts))
    for name in sorted(names):
        if (data := find_blob(source, session_id, name) if is_blob_name(name) else None) is not None:
            yield name, data


def _blobs(source: Source, session_id: str, events: list[Event]) -> tuple[dict[str, bytes], list[str]]:
    """The blobs that exist, and the names of those that are missing."""
    found = find_blobs(source, session_id, events)
    needed = {name for event in events for name in needed_blobs(event)}
    return found, sorted(needed - found.keys())


def find_blob(store: Source, session_id: str, name: str) -> bytes | None:
    """The blob, or None: an event may contain a hash of bytes that were never stored."""
    try:
        return store.get_blob(session_id, name)
    except NotFoundError:
        return None

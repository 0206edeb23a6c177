"""Copying many sessions: in portions of bytes where a store can take many at a time, else one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.bulk import Digest, WholeSession
from segue.errors import Damage, DamagedError, SegueError, SessionExistsError, SessionNotFoundError, StorageError
from segue.formats.digest import EventsDigest
from segue.model.blobs import blob_names, needed_blobs
from segue.transfer.convert import Converted, Unconverted, copy, differs_after_copy, losses_of
from segue.transfer.one_by_one import OneByOne

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from segue.bulk import Bulk, StoredBlob
    from segue.model import Event
    from segue.store import Store

_COMPARED_SESSIONS = 500
_PORTION_BYTES = 8 << 20
"""How much of the source is in memory; a session that is larger than that is a portion of its own."""


def copy_all(source: Store, target: Store, ids: Sequence[str]) -> Iterator[Converted | Unconverted]:
    """Copy sessions as `copy` does; a failure affects only itself. StorageError if a server does not answer any more.

    It can be stopped at any time. Called again, what is there and equal is compared by its digest alone.
    """
    if source.bulk is None and target.bulk is None:
        for session_id in ids:
            yield _copy_one(source, session_id, target)
        return
    copying = _Copying(source, target)
    for start in range(0, len(ids), _COMPARED_SESSIONS):
        yield from copying.copy(ids[start : start + _COMPARED_SESSIONS])


def _copy_one(source: Store, session_id: str, target: Store) -> Converted | Unconverted:
    try:
        return copy(source, session_id, target)
    except SegueError as error:
        return Unconverted(session_id=session_id, error=error)


class _Copying:
    def __init__(self, source: Store, target: Store) -> None:
        self._source = source
        self._target = target
        self._from: Bulk = source.bulk or OneByOne(source)
        self._to: Bulk = target.bulk or OneByOne(target)

    def copy(self, ids: Sequence[str]) -> Iterator[Converted | Unconverted]:
        wanted = self._from.digests(dict.fromkeys(ids))
        good = {id: digest for id, digest in wanted.items() if isinstance(digest, Digest)}
        blobs = self._from.blobs(good)
        there = self._to.digests({id: digest.count for id, digest in good.items()})
        same = {id for id in good if good[id].equals(there.get(id))}
        blobs_there = self._to.blobs(same & blobs.keys())
        sizes = {id: _size_of(good[id], blobs.get(id, {})) for id in good.keys() - there.keys()}
        for some in _portions(ids, sizes):
            missing = [id for id in some if id in sizes]
            copied = self._create(missing, blobs) if missing else {}
            for id in some:
                match wanted.get(id):
                    case None:
                        yield Unconverted(session_id=id, error=SessionNotFoundError(id, self._source.url))
                    case SegueError() as error:
                        yield Unconverted(session_id=id, error=error)
                    case Digest() as digest if id in same and _has(blobs_there.get(id, {}), blobs.get(id, {})):
                        yield self._converted(id, digest.count, 0, blobs.get(id, {}), digest.attached)
                    case _:
                        yield copied.get(id) or _copy_one(self._source, id, self._target)

    def _create(
        self, ids: Sequence[str], blobs: Mapping[str, Mapping[str, StoredBlob]]
    ) -> dict[str, Converted | Unconverted]:
        """Copy sessions that the target does not have; those for which nothing is returned are left to `copy`."""
        results: dict[str, Converted | Unconverted] = {}
        read: dict[str, list[Event]] = {}
        for id, events in self._from.read(ids):
            if isinstance(events, SegueError):
                results[id] = Unconverted(session_id=id, error=events)
            else:
                read[id] = events
        names = {id: _names_in(events, blobs.get(id, {})) for id, events in read.items() if blobs.get(id)}
        for id, chosen in list(names.items()):
            if damaged := [name for name in chosen if not blobs[id][name].is_whole]:
                reason = "it does not match its name: some of its bytes changed"
                error = DamagedError(id, [Damage(f"blob {name}", reason) for name in damaged])
                results[id] = Unconverted(session_id=id, error=error)
                del names[id], read[id]
        data: dict[str, dict[str, bytes]] = {}
        for id, name, content in self._from.get_blobs(names):
            data.setdefault(id, {})[name] = content
        sessions = [WholeSession(id=id, events=events, blobs=data.get(id, {})) for id, events in read.items()]
        try:
            failed = self._to.create(sessions)
        except StorageError:
            # One session may be the reason, and then it alone must fail. If the store does not answer, all end here.
            self._to.digests(dict.fromkeys(read))
            return results
        return results | self._verify([session for session in sessions if session.id not in failed], failed)

    def _verify(
        self, sessions: Sequence[WholeSession], failed: Mapping[str, SegueError]
    ) -> dict[str, Converted | Unconverted]:
        """Compare what the target has now with what was sent. A session that another process created is left out."""
        results: dict[str, Converted | Unconverted] = {
            id: Unconverted(session_id=id, error=error)
            for id, error in failed.items()
            if not isinstance(error, SessionExistsError)
        }
        there = self._to.digests({session.id: len(session.events) for session in sessions})
        blobs = self._to.blobs([session.id for session in sessions if session.blobs])
        for session in sessions:
            digest = _digest_of(session.events)
            if digest.equals(there.get(session.id)) and _has(blobs.get(session.id, {}), session.blobs):
                count = digest.count
                results[session.id] = self._converted(session.id, count, count, session.blobs, digest.attached)
            else:
                error = differs_after_copy(session.id, self._target)
                results[session.id] = Unconverted(session_id=session.id, error=error)
        return results

    def _converted(self, id: str, events: int, added: int, blobs: Iterable[str], attached: frozenset[str]) -> Converted:
        names = set(blobs)
        losses = losses_of(self._source, attached - names)
        return Converted(session_id=id, events=events, added=added, blobs=len(names), losses=losses)


def _has(there: Mapping[str, StoredBlob], names: Iterable[str]) -> bool:
    return all(name in there and there[name].is_whole for name in names)


def _names_in(events: Iterable[Event], stored: Iterable[str]) -> list[str]:
    """The blobs that the events refer to, of those that are stored."""
    return sorted(blob_names(*events) & {*stored})


def _digest_of(events: Iterable[Event]) -> Digest:
    digest = EventsDigest()
    attached: set[str] = set()
    for event in events:
        digest.add(event)
        attached.update(needed_blobs(event))
    return Digest(count=digest.count, sha256=digest.sha256, size_bytes=digest.size_bytes, attached=frozenset(attached))


def _size_of(digest: Digest, blobs: Mapping[str, StoredBlob]) -> int:
    return digest.size_bytes + sum(blob.size_bytes for blob in blobs.values())


def _portions(ids: Iterable[str], sizes: Mapping[str, int]) -> Iterator[list[str]]:
    """The ids in groups in which those that have a size are not too large together."""
    some: list[str] = []
    left = _PORTION_BYTES
    for id in ids:
        left -= sizes.get(id, 0)
        if left < 0 and some:
            yield some
            some, left = [], _PORTION_BYTES - sizes.get(id, 0)
        some.append(id)
    if some:
        yield some

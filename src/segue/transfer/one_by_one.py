"""A store whose sessions are read and written one after the other, used like one that takes many at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.bulk import Digest, StoredBlob
from segue.errors import DamagedError, NotFoundError, SegueError
from segue.formats.digest import EventsDigest
from segue.model.blobs import blob_names, needed_blobs
from segue.transfer.convert import find_blob, write_events

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from segue.bulk import WholeSession
    from segue.model import Event
    from segue.store import Store


class OneByOne:
    """See segue.bulk.Bulk. Blobs are those that events refer to."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._names: dict[str, set[str]] = {}
        """By session, the blobs that its events may refer to, as of its last digest; none are left out."""

    def digests(self, upto: Mapping[str, int | None]) -> dict[str, Digest | SegueError]:
        found: dict[str, Digest | SegueError] = {}
        for id, limit in upto.items():
            try:
                found[id] = self._digest(id, limit)
            except NotFoundError:
                continue
            except SegueError as error:
                found[id] = error
        return found

    def read(self, ids: Collection[str]) -> Iterator[tuple[str, list[Event] | SegueError]]:
        for id in ids:
            try:
                yield id, list(self._store.read(id))
            except NotFoundError:
                continue
            except SegueError as error:
                yield id, error

    def blobs(self, ids: Collection[str]) -> dict[str, dict[str, StoredBlob]]:
        found: dict[str, dict[str, StoredBlob]] = {}
        for id in ids:
            for name in sorted(self._names.get(id, ())):
                try:
                    data = find_blob(self._store, id, name)
                except DamagedError:
                    found.setdefault(id, {})[name] = StoredBlob(0, is_whole=False)
                    continue
                if data is not None:
                    found.setdefault(id, {})[name] = StoredBlob(len(data), is_whole=True)
        return found

    def get_blobs(self, names: Mapping[str, Collection[str]]) -> Iterator[tuple[str, str, bytes]]:
        for id, chosen in names.items():
            for name in chosen:
                if (data := find_blob(self._store, id, name)) is not None:
                    yield id, name, data

    def create(self, sessions: Sequence[WholeSession]) -> dict[str, SegueError]:
        failed: dict[str, SegueError] = {}
        for session in sessions:
            try:
                updated_at = write_events(self._store, session.id, session.events, session.blobs, is_new=True)
                self._store.mark_changed(session.id, updated_at)
            except SegueError as error:
                failed[session.id] = error
        return failed

    def _digest(self, id: str, upto: int | None) -> Digest:
        names: set[str] = set()
        attached: set[str] = set()
        digest = EventsDigest()
        for event in self._store.read(id):
            if upto is not None and digest.count >= upto:
                break
            if b"sha256:" in digest.add(event):
                names |= blob_names(event)
            attached.update(needed_blobs(event))
        self._names[id] = names
        return Digest(
            count=digest.count, sha256=digest.sha256, size_bytes=digest.size_bytes, attached=frozenset(attached)
        )

"""A folder of sessions: what all stores on files do alike, whatever is in the files.

A session is a file of the folder unless a store says otherwise: then it has a `_place` of its own, `ids` and a listing
that find such places, and a `_remove`.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeVar

from msgspec.structs import replace

from segue.durable.blobs import blobs_of, get_blob
from segue.durable.folder import Folder
from segue.durable.lock import WriterLock, find_owner
from segue.errors import ConflictError, NotFoundError, SessionExistsError, SessionLockedError
from segue.ids import check_id, is_id, new_session_id
from segue.store import Owner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from segue.durable.kernel import Kernel
    from segue.durable.listing import Listing
    from segue.model import Head, Overview

Told = TypeVar("Told", bound="Overview")
LOCKS = ".locks"


class Place(NamedTuple):
    """The file that is there exactly as long as its session is."""

    folder: Folder
    name: str

    @property
    def path(self) -> str:
        return self.folder.path_of(self.name)


class Shelf:
    """The part of store.Store that needs only the names of the files; locks and blobs are in hidden folders."""

    scheme: ClassVar[str]
    listing_type: ClassVar[type[Listing]]

    new_id = staticmethod(new_session_id)

    def __init__(self, root: str, *, kernel: Kernel, clock: Callable[[], datetime]) -> None:
        self.folder = Folder(os.path.realpath(root), kernel)
        self._locks = self.folder.sub(LOCKS)
        self._clock = clock
        self._listing = self.listing_type(
            self.folder,
            is_alive=lambda session_id: self.owner(session_id) is not None,
            path_of=self.path_of,
        )

    @property
    def url(self) -> str:
        return f"{self.scheme}:{self.folder.path}"

    def path_of(self, session_id: str) -> str:
        """Where a person finds it."""
        return self._place(session_id).path

    def revision(self, session_id: str) -> str:
        found = self._stat(session_id)
        return f"{found.st_ino}-{found.st_size}-{found.st_mtime_ns}"

    def ids(self) -> Iterator[str]:
        suffix = self.listing_type.suffix
        for entry in self.folder.scan():
            if entry.name.endswith(suffix) and is_id(entry.name[: -len(suffix)]):
                yield entry.name[: -len(suffix)]

    def heads(self) -> Iterator[Head]:
        return self._listing.heads()

    def head(self, session_id: str) -> Head:
        self.revision(session_id)
        return self._listing.head(session_id)

    def owner(self, session_id: str) -> Owner | None:
        return find_owner(self._locks, _lock_name(session_id))

    def get_blob(self, session_id: str, name: str) -> bytes:
        self.revision(session_id)
        return get_blob(self._blobs(session_id), session_id, name)

    def delete(self, session_id: str, *, revision: str | None = None) -> None:
        lock = self._acquire(session_id, 0.0)
        try:
            if revision is not None and self.revision(session_id) != revision:
                raise ConflictError(
                    f"session {session_id} has changed meanwhile", hint="look again before you delete it"
                )
            try:
                self._remove(session_id)
            except FileNotFoundError:
                raise self._missing(session_id) from None
        finally:
            lock.release()

    def close(self) -> None:
        self._listing.forget()

    def _file_name(self, session_id: str) -> str:
        return check_id(session_id) + self.listing_type.suffix

    def _place(self, session_id: str) -> Place:
        return Place(self.folder, self._file_name(session_id))

    def _remove(self, session_id: str) -> None:
        """Its place first: from then on there is no session."""
        place = self._place(session_id)
        place.folder.remove(place.name)
        self._blobs(session_id).remove_tree()

    def _stat(self, session_id: str) -> os.stat_result:
        place = self._place(session_id)
        try:
            with place.folder.explaining(place.name, "look at"):
                return os.lstat(place.path)
        except FileNotFoundError:
            raise self._missing(session_id) from None

    def _blobs(self, session_id: str) -> Folder:
        return blobs_of(self.folder, session_id)

    def _claim(self, session_id: str) -> WriterLock:
        """The lock of a session that is to be made: whoever holds it is making it, or has made it."""
        self.folder.make()
        found = self._try_acquire(session_id, 0.0)
        if isinstance(found, Owner):
            raise SessionExistsError(session_id)
        return found

    def _acquire(self, session_id: str, timeout_seconds: float) -> WriterLock:
        self.revision(session_id)  # there is no lock for a session that is not there
        found = self._try_acquire(session_id, timeout_seconds)
        if isinstance(found, Owner):
            raise SessionLockedError(session_id, pid=found.pid, host=found.host, since=found.since)
        return found

    def _try_acquire(self, session_id: str, timeout_seconds: float) -> WriterLock | Owner:
        name = _lock_name(session_id)
        return WriterLock.acquire(self._locks, name, timeout_seconds=timeout_seconds, since=self._clock())

    def _concluded(self, known: Told) -> Told:
        """An active session without a living writer was interrupted."""
        is_dead = known.status == "active" and self.owner(known.id) is None
        return replace(known, status="interrupted") if is_dead else known

    def _missing(self, session_id: str) -> NotFoundError:
        return NotFoundError(f"there is no session {session_id} in {self.url}")


@contextmanager
def released_on_error(release: Callable[[], None]) -> Iterator[None]:
    try:
        yield
    except BaseException:
        with suppress(OSError):
            release()
        raise


def keep_original(folder: Folder, name: str) -> str:
    """A second name for a damaged file: `.corrupt`, or `.corrupt.2` and so on where that is taken."""
    number = 1
    while True:
        kept = f"{name}.corrupt" if number == 1 else f"{name}.corrupt.{number}"
        try:
            folder.link(name, kept)
        except FileExistsError:
            if folder.is_same(name, kept):
                return kept  # a crash came between this and the salvage
            number += 1
        else:
            return kept


def _lock_name(session_id: str) -> str:
    return f"{check_id(session_id)}.lock"

"""The trash of a store: a folder in the store, with a small store of the same kind for each deleted session.

An entry is `<id>~<when>` and has every file at the path that it has in the store, so a store can read an entry. While
files are being moved, the entry is called `.moving-<id>`. The file that makes the session is moved first on the way in
and last on the way out: the session is where that file is, and the next holder of the session's lock moves the rest
after it. Nothing is ever overwritten, and an entry that is being moved is never erased.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from segue.errors import NotInTrashError, SegueError, SessionExistsError, StorageError
from segue.ids import is_id
from segue.model import Head
from segue.store import Trashed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from segue.durable.file_location import FileLocation
    from segue.durable.file_store import FileStore
    from segue.durable.folder import Folder

_MOVING, _ERASING = ".moving-", ".erasing-"
_STAMP = "%Y%m%dT%H%M%S.%fZ"
_KEY = re.compile(r"([^~]+)~(\d{8}T\d{6}\.\d{6}Z)")
_SAME_BYTES = 1 << 20


class FileTrash:
    """See store.Trash. It takes the locks of its store."""

    def __init__(self, store: FileStore, folder: Folder, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._folder = folder
        self._clock = clock

    def put(self, session_id: str, *, revision: str | None = None) -> str:
        with self._store.locked(session_id, revision=revision):
            self.settle(session_id)
            self._prepare()
            self._folder.sub(_MOVING + session_id).make()
            return self._bring_in(session_id)

    def entries(self) -> Iterator[Trashed]:
        for entry in list(self._folder.scan()):
            session_id, when = self._parse(entry.name)
            if session_id and entry.is_dir(follow_symlinks=False):
                folder = self._folder.sub(entry.name)
                is_moving = entry.name.startswith(_MOVING)
                if is_moving and (
                    self._store.has_session(session_id) or not self._store.has_session(session_id, folder)
                ):
                    continue  # the session is still in the store
                if when is None:
                    with suppress(OSError):
                        when = datetime.fromtimestamp(entry.stat(follow_symlinks=False).st_mtime, UTC)
                moment = when or self._clock()
                yield Trashed(
                    key=entry.name,
                    head=self._head(session_id, folder, moment),
                    deleted_at=moment,
                    size_bytes=size_of(entry.path),
                )

    def restore(self, key: str) -> str:
        session_id = self._get(key)
        with self._store.locked(session_id, may_be_gone=True):
            if self._store.has_session(session_id):
                raise SessionExistsError(session_id)
            self.settle(session_id)
            name = _MOVING + session_id
            self._folder.rename(self._settled(key), name)
            moving = self._folder.sub(name)
            for location in reversed(list(self._store.session_files(session_id, moving))):
                _move(location, moving, self._store.folder)
            _remove_empty(moving)
            if moving.exists():  # another program put something there
                self._folder.rename(name, self._new_key(session_id))
            self._folder.sync()
        return session_id

    def erase(self, key: str) -> None:
        session_id = self._get(key)
        with self._store.locked(session_id, may_be_gone=True):
            self.settle(session_id)
            found = self._settled(key)
            self._folder.rename(found, _ERASING + found)
            self._sweep_one(_ERASING + found)

    def settle(self, session_id: str) -> None:
        """Finish what a crash cut short. The caller holds the lock of the session."""
        moving = self._folder.sub(_MOVING + session_id)
        if not moving.exists():
            return
        if self._store.has_session(session_id, moving) and not self._store.has_session(session_id):
            self._bring_in(session_id)
            return
        _remove_empty(moving)  # nothing was moved yet, or everything was restored
        if moving.exists():  # another program created a session of this id meanwhile
            self._folder.rename(_MOVING + session_id, self._new_key(session_id))

    def sweep(self) -> None:
        """Finish erasing what a crash left."""
        for entry in list(self._folder.scan()):
            if entry.name.startswith(_ERASING):
                with suppress(FileNotFoundError):  # another process is erasing it
                    self._sweep_one(entry.name)

    def _sweep_one(self, name: str) -> None:
        self._folder.sub(name).remove_tree()
        self._folder.sync()

    def _bring_in(self, session_id: str) -> str:
        """Move the files of the store; then the entry is complete."""
        moving = self._folder.sub(_MOVING + session_id)
        for location in list(self._store.session_files(session_id)):
            _move(location, self._store.folder, moving)
        key = self._new_key(session_id)
        self._folder.rename(_MOVING + session_id, key)
        self._store.remove_empty_folders(session_id)
        return key

    def _prepare(self) -> None:
        self._folder.make()
        self._store.exclude_from_git(self._folder)

    def _new_key(self, session_id: str) -> str:
        moment = self._clock().astimezone(UTC)
        while self._folder.sub(key := f"{session_id}~{moment.strftime(_STAMP)}").exists():
            moment += timedelta(microseconds=1)
        return key

    def _parse(self, name: str) -> tuple[str, datetime | None]:
        if name.startswith(_MOVING):
            session_id = name.removeprefix(_MOVING)
            return (session_id if is_id(session_id) else ""), None
        found = _KEY.fullmatch(name)
        if found is None or not is_id(found[1]):
            return "", None
        with suppress(ValueError):
            return found[1], datetime.strptime(found[2], _STAMP).replace(tzinfo=UTC)
        return "", None

    def _get(self, key: str) -> str:
        """The session id of an entry. NotFoundError if there is no such entry."""
        session_id, _ = self._parse(key)
        if not session_id or not self._folder.sub(key).exists():
            raise NotInTrashError(key, self._store.url)
        return session_id

    def _settled(self, key: str) -> str:
        """The name of an entry now that it is settled: one that was being moved has a new name."""
        session_id, when = self._parse(key)
        if when is not None:
            return key
        keys = sorted(entry.name for entry in self._folder.scan() if self._parse(entry.name)[0] == session_id)
        if not keys:
            raise NotInTrashError(key, self._store.url)
        return keys[-1]

    def _head(self, session_id: str, folder: Folder, moment: datetime) -> Head:
        try:
            return self._store.at(folder).head(session_id)
        except SegueError as error:
            return Head(id=session_id, created_at=moment, updated_at=moment, damage=str(error))


def _move(location: FileLocation, source: Folder, target: Folder) -> None:
    """Move a file to the same path below another root. The new name is durable before the old one is gone."""
    folder = target
    for step in location.folder.path.removeprefix(source.path).split("/"):
        if step:
            folder = folder.sub(step)
    folder.make()
    _move_one(location.folder, location.name, folder)
    folder.sync()
    location.folder.sync()


def _move_one(source: Folder, name: str, target: Folder) -> None:
    """Merge both where a crash left parts in each. A file with other content is in the way and raises StorageError."""
    old, new = source.path_of(name), target.path_of(name)
    if not os.path.lexists(new):
        with source.storage_errors(name, "move"):
            source.kernel.rename(old, new)
        return
    if os.path.isdir(old) and os.path.isdir(new) and not os.path.islink(old):
        inner, inner_target = source.sub(name), target.sub(name)
        for entry in list(inner.scan()):
            _move_one(inner, entry.name, inner_target)
        inner_target.sync()
        with source.storage_errors(name, "move"):
            source.kernel.rmdir(old)
        return
    if not _is_same(old, new):
        raise StorageError(f"cannot move {old}: {new} is in the way", hint="move that file away first", path=new)
    with source.storage_errors(name, "move"):
        source.kernel.unlink(old)


def _is_same(one: str, other: str) -> bool:
    if os.path.islink(one) or os.path.islink(other):
        return os.path.islink(one) and os.path.islink(other) and os.readlink(one) == os.readlink(other)
    try:
        with open(one, "rb") as first, open(other, "rb") as second:
            while (piece := first.read(_SAME_BYTES)) == second.read(_SAME_BYTES):
                if not piece:
                    return True
    except OSError:
        pass
    return False


def _remove_empty(folder: Folder) -> None:
    """Remove a folder if it contains nothing but empty folders."""
    for entry in list(folder.scan()):
        if entry.is_dir(follow_symlinks=False):
            _remove_empty(folder.sub(entry.name))
    folder.remove_if_empty()


def size_of(path: str) -> int:
    """The size of a file, or of all files in a folder; 0 if there is neither."""
    files = [os.path.join(above, name) for above, _, names in os.walk(path) for name in names]
    total = 0
    for file in files if os.path.isdir(path) else [path]:
        with suppress(OSError):
            total += os.lstat(file).st_size
    return total

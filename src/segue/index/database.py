"""The file of the catalog: opened, made anew when it is broken or of another make, and done without where none can be.

A catalog may be lost at any time, so nothing here waits for the disk.
"""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from segue.errors import SegueError
from segue.index.statements import schema

if TYPE_CHECKING:
    from collections.abc import Callable

    from segue.durable.folder import Folder

VERSION = 5
"""Of the schema."""
NAME = "catalog.sqlite3"
PATIENCE_SECONDS = 2.0
BROKEN = (sqlite3.DatabaseError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, MemoryError)
"""What comes of asking an index whose bytes have changed: errors of SQLite, and values that nobody wrote."""
_BESIDE = ("", "-wal", "-shm")
_MEMORY = ":memory:"
_NO_PLACE = frozenset({"SQLITE_READONLY", "SQLITE_FULL", "SQLITE_CANTOPEN", "SQLITE_IOERR", "SQLITE_PERM"})
"""How SQLite says that the machine would not."""


class _OtherMakeError(sqlite3.DatabaseError):
    """It is of another version: no damage, and nobody has to be told."""


class Database:
    """A connection that is always there. `patience_seconds` is how long it waits for another writer.

    `tell` hears why an index that was broken is made anew.
    """

    def __init__(
        self,
        folder: Folder | None,
        *,
        patience_seconds: float = PATIENCE_SECONDS,
        notify: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._folder = folder
        self._patience_seconds = patience_seconds
        self._notify = notify
        self.connection = self._open()

    @property
    def is_shared(self) -> bool:
        """Whether it is a file, which others see as well."""
        return self._folder is not None

    def make_anew(self, reason: str = "") -> None:
        """An empty one; the reason is told, where there is one."""
        if reason:
            self._notify(reason)
        self.connection.close()
        self._remove()
        self.connection = self._open()

    def move_to_memory(self) -> None:
        self.connection.close()
        self._folder = None
        self.connection = self._connect()

    def close(self) -> None:
        self.connection.close()

    def _open(self) -> sqlite3.Connection:
        try:
            return self._connect()
        except BROKEN as error:
            # Busy: somebody else is making it at this moment.
            if is_busy(error) or has_no_place(error) or not self._remove():
                self._folder = None
            elif not isinstance(error, _OtherMakeError):
                self._notify(str(error))
        try:
            return self._connect()
        except BROKEN:
            self._folder = None
            return self._connect()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._file(), timeout=self._patience_seconds, isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA cell_size_check = ON")
            connection.execute("PRAGMA secure_delete = ON")  # what is deleted for good is not left in free pages
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version not in {0, VERSION}:
                raise _OtherMakeError(f"it is a catalog of version {version}")
            if version == 0:
                connection.executescript(f"BEGIN IMMEDIATE;\n{schema()}\nPRAGMA user_version = {VERSION};\nCOMMIT;")
        except BaseException:
            connection.close()
            raise
        return connection

    def _file(self) -> str:
        """Readable by nobody else, since it holds what the sessions say."""
        if self._folder is None:
            return _MEMORY
        path = self._folder.path_of(NAME)
        try:
            if not Path(path).exists():
                self._folder.make()
                with suppress(FileExistsError):
                    self._folder.create(NAME, b"")
        except (SegueError, OSError):
            self._folder = None
            return _MEMORY
        return path

    def _remove(self) -> bool:
        if self._folder is None:
            return True
        try:
            for suffix in _BESIDE:
                with suppress(FileNotFoundError):
                    self._folder.remove(NAME + suffix)
        except (SegueError, OSError):
            self._folder = None
            return False
        return True


def has_index(folder: Folder) -> bool:
    """Whether the folder has an index file."""
    return Path(folder.path_of(NAME)).exists()


def is_busy(error: Exception) -> bool:
    return _name(error).startswith("SQLITE_BUSY")


def has_no_place(error: Exception) -> bool:
    return _name(error).startswith(tuple(_NO_PLACE))


def _name(error: Exception) -> str:
    """Errors that SQLite did not raise itself have none."""
    return getattr(error, "sqlite_errorname", "")

"""The file of the catalog: opened, made anew when it is broken or of another make, and done without where none can be.

A catalog may be lost at any time, so nothing here waits for the disk.
"""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from segue.catalog.statements import schema
from segue.errors import SegueError

if TYPE_CHECKING:
    from segue.durable.folder import Folder

VERSION = 5
"""Of the schema."""
NAME = "catalog.sqlite3"
PATIENCE_SECONDS = 2.0
_BESIDE = ("", "-wal", "-shm")
_MEMORY = ":memory:"
_NO_PLACE = frozenset({"SQLITE_READONLY", "SQLITE_FULL", "SQLITE_CANTOPEN", "SQLITE_IOERR", "SQLITE_PERM"})
"""How SQLite says that the machine would not."""


class Database:
    """A connection that is always there. `patience_seconds` is how long it waits for another writer."""

    def __init__(self, folder: Folder | None, *, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self._folder = folder
        self._patience_seconds = patience_seconds
        self.connection = self._open()

    @property
    def is_shared(self) -> bool:
        """Whether it is a file, which others see as well."""
        return self._folder is not None

    def make_anew(self) -> None:
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
        except sqlite3.DatabaseError as error:
            # Busy: somebody else is making it at this moment.
            if is_busy(error) or has_no_place(error) or not self._remove():
                self._folder = None
        try:
            return self._connect()
        except sqlite3.DatabaseError:
            self._folder = None
            return self._connect()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._file(), timeout=self._patience_seconds, isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = OFF")
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version not in {0, VERSION}:
                raise sqlite3.DatabaseError(f"it is a catalog of version {version}")
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


def is_busy(error: sqlite3.Error) -> bool:
    return _name(error).startswith("SQLITE_BUSY")


def has_no_place(error: sqlite3.Error) -> bool:
    return _name(error).startswith(tuple(_NO_PLACE))


def _name(error: sqlite3.Error) -> str:
    """Errors that SQLite did not raise itself have none."""
    return getattr(error, "sqlite_errorname", "")

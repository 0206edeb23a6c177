"""The file of the index: it is replaced when it is damaged or has another version, and kept in memory if need be.

The index may be lost at any time, so nothing here is synced.
"""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from segue.errors import SegueError
from segue.index.statements import schema
from segue.user_folders import INDEX_NAME

if TYPE_CHECKING:
    from collections.abc import Callable

    from segue.durable.folder import Folder

NAME = INDEX_NAME
VERSION = 8
"""The version of the schema."""
TIMEOUT_SECONDS = 2.0
BROKEN = (sqlite3.DatabaseError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, MemoryError)
"""What reading a damaged index raises: errors of SQLite, and those of values that were never written."""
_SUFFIXES = ("", "-wal", "-shm")
_MEMORY = ":memory:"
_UNWRITABLE = frozenset({"SQLITE_READONLY", "SQLITE_FULL", "SQLITE_CANTOPEN", "SQLITE_IOERR", "SQLITE_PERM"})
"""The errors of SQLite when the disk cannot be written."""


class _OtherVersionError(sqlite3.DatabaseError):
    """The file has another version of the schema: it is not damaged, and replaced without notice."""


class Database:
    """A connection that is always usable. It waits up to `timeout_seconds` for another writer.

    `notify` gets the reason when a damaged file is replaced.
    """

    def __init__(
        self,
        folder: Folder | None,
        *,
        timeout_seconds: float = TIMEOUT_SECONDS,
        notify: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._folder = folder
        self._timeout_seconds = timeout_seconds
        self._notify = notify
        self.connection = self._open()

    @property
    def is_shared(self) -> bool:
        """Whether it is a file, which other processes see as well."""
        return self._folder is not None

    def rebuild(self, reason: str = "") -> None:
        """Begin a new, empty file; `notify` gets the reason, if there is one."""
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
            # Busy: another process is creating it at this moment.
            if is_busy(error) or is_unwritable(error) or not self._remove():
                self._folder = None
            elif not isinstance(error, _OtherVersionError):
                self._notify(str(error))
        try:
            return self._connect()
        except BROKEN:
            self._folder = None
            return self._connect()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._file(), timeout=self._timeout_seconds, isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA cell_size_check = ON")
            connection.execute("PRAGMA secure_delete = ON")  # no deleted text is left in free pages
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version not in {0, VERSION}:
                raise _OtherVersionError(f"it has version {version}")
            if version == 0:
                connection.executescript(f"BEGIN IMMEDIATE;\n{schema()}\nPRAGMA user_version = {VERSION};\nCOMMIT;")
        except BaseException:
            connection.close()
            raise
        return connection

    def _file(self) -> str:
        """The path of the file, which only the user can read, as it contains the text of sessions."""
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
            for suffix in _SUFFIXES:
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


def is_unwritable(error: Exception) -> bool:
    return _name(error).startswith(tuple(_UNWRITABLE))


def _name(error: Exception) -> str:
    """The name of an error of SQLite; empty for other errors."""
    return getattr(error, "sqlite_errorname", "")

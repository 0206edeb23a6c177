"""A tool's own database, read as it is: no file is changed or made, also not those that SQLite keeps beside it.

A stranger may have made it. So nothing in it is run: only plain tables are read, without generated columns, and
whatever asks for more work or more text than such a file can hold is stopped.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from segue.errors import StorageError
from segue.integrations.history import gone

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.integrations.format.transcript import TranscriptBuilder
    from segue.model import JsonObject

_PATIENCE_SECONDS = 2.0
_BROKEN = (sqlite3.Error, UnicodeDecodeError, IndexError, MemoryError)
"""What SQLite raises where the bytes of a database are not what they were."""
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: 64 << 20,
    sqlite3.SQLITE_LIMIT_COLUMN: 500,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 50,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 5,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 1,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
_FREE_BYTES, _TIMES = 128 << 20, 4
"""How much text is read: of a small database so much, of a large one so many times its size."""
_STEP, _MOST_STEPS = 10_000, 10_000
"""Instructions of SQLite between two looks, and looks: a few seconds of work."""
_FUNCTIONS = frozenset({"char", "coalesce", "count", "group_concat", "max", "nullif"})
"""Those that we call."""
_PLAIN_TABLES = """
    SELECT name FROM sqlite_master AS m WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'
    AND NOT EXISTS (SELECT 1 FROM pragma_table_xinfo(m.name) WHERE hidden <> 0)
"""


@contextmanager
def opened(path: str, about: TranscriptBuilder | None = None) -> Iterator[sqlite3.Connection]:
    """One moment of the database. What cannot be read is a damage, or an error where there is nobody to tell."""
    if not Path(path).is_file():
        raise gone(path)
    bounds = _Bounds(path)
    try:
        with closing(sqlite3.connect(_address(path, about), uri=True, timeout=_PATIENCE_SECONDS)) as connection:
            bounds.set(connection)
            connection.row_factory = sqlite3.Row
            connection.execute("BEGIN")
            yield connection
    except _BROKEN as error:
        reason = bounds.reason or str(error)
        if about is None:
            raise StorageError(
                f"cannot read {path}: {reason}", hint="try again when the tool has ended", path=path
            ) from None
        about.damage(f"SQLite cannot read on: {reason}")


class _Bounds:
    """What reading a database may do and cost."""

    def __init__(self, path: str) -> None:
        self.reason = ""
        """What it tried beyond that."""
        self._text_bytes = _FREE_BYTES + _TIMES * sum(_size(path + suffix) for suffix in ("", "-wal"))
        self._steps = _MOST_STEPS
        self._tables: frozenset[str] = frozenset()

    def set(self, connection: sqlite3.Connection) -> None:
        for category, limit in _LIMITS.items():
            connection.setlimit(category, limit)
        for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "query_only = ON", "mmap_size = 0"):
            connection.execute(f"PRAGMA {pragma}")
        connection.set_progress_handler(self._goes_too_far, _STEP)
        connection.text_factory = self._text
        self._tables = frozenset(name for (name,) in connection.execute(_PLAIN_TABLES))
        connection.set_authorizer(self._authorize)

    def _goes_too_far(self) -> bool:
        self._steps -= 1
        if self._steps < 0:
            self.reason = "it takes more work than a history of this kind"
        return self._steps < 0

    def _text(self, data: bytes) -> str:
        self._text_bytes -= len(data)
        if self._text_bytes < 0:
            self.reason = "it gives more text than a file of its size can hold"
            raise sqlite3.DataError(self.reason)
        return data.decode("utf-8", "replace")

    def _authorize(self, action: int, first: str | None, second: str | None, *_: str | None) -> int:
        match action:
            case sqlite3.SQLITE_SELECT | sqlite3.SQLITE_TRANSACTION:
                return sqlite3.SQLITE_OK
            case sqlite3.SQLITE_FUNCTION if second in _FUNCTIONS:
                return sqlite3.SQLITE_OK
            case sqlite3.SQLITE_READ if first == "sqlite_master" or first in self._tables:
                return sqlite3.SQLITE_OK
            case sqlite3.SQLITE_READ:
                self.reason = f"{first} is no plain table: it is a view, or has columns that are computed"
        return sqlite3.SQLITE_DENY


def changed_at(path: str) -> float:
    times = [Path(path + suffix).stat().st_mtime for suffix in ("", "-wal") if Path(path + suffix).is_file()]
    return max(times, default=0.0)


def has_table(connection: sqlite3.Connection, name: str) -> bool:
    found = connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (name,))
    return found.fetchone() is not None


def plain(row: sqlite3.Row) -> JsonObject:
    """As JSON; bytes have no place in it."""
    return {name: row[name] for name in row.keys() if not isinstance(row[name], bytes)}  # noqa: SIM118 - of a row


def _size(path: str) -> int:
    with suppress(OSError):
        return Path(path).stat().st_size
    return 0


def _address(path: str, about: TranscriptBuilder | None) -> str:
    """Where a log of changes waits, its index is read as it stands; else nothing is needed beside the file."""
    wal, shm = Path(f"{path}-wal"), Path(f"{path}-shm")
    has_changes = wal.is_file() and wal.stat().st_size > 0
    place = quote(os.fsencode(path))
    if has_changes and shm.is_file():
        return f"file:{place}?mode=ro&readonly_shm=1"
    if has_changes and about is not None:
        about.damage(f"the newest changes are in {wal.name}, which cannot be read without {shm.name}")
    return f"file:{place}?mode=ro&immutable=1"

"""The database of an AI tool, read in place: no file is changed or created, not even those of SQLite itself.

It may come from someone else, so nothing in it is run: only plain tables without generated columns are read, and a
query stops when it takes more work or returns more text than such a file can contain.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from segue.errors import StorageError
from segue.integrations.shared.history import gone
from segue.integrations.shared.write_ahead_log import merge_log

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.integrations.format.transcript import TranscriptBuilder
    from segue.model import JsonObject

_PATIENCE_SECONDS = 2.0
_BROKEN = (sqlite3.Error, UnicodeDecodeError, IndexError, MemoryError)
"""What SQLite raises if a database is damaged."""
_SQLITE_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: 64 << 20,
    sqlite3.SQLITE_LIMIT_COLUMN: 500,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 50,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 5,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 1,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
_FREE_BYTES, _TIMES = 128 << 20, 4
"""How much text is read: this much, and this many times the size of the database."""
_MERGED_BYTES, _LOG_BYTES = 256 << 20, 32 << 20
"""The size of a database that is read in memory, which takes as much, and of its log, which takes seconds."""
_STEP, _MOST_STEPS = 10_000, 10_000
"""Instructions of SQLite between two checks, and the number of checks: a few seconds of work."""
_FUNCTIONS = frozenset({"char", "coalesce", "count", "group_concat", "max", "nullif"})
"""The SQL functions that Segue calls."""
_PLAIN_TABLES = """
    SELECT name FROM sqlite_master AS m WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'
    AND NOT EXISTS (SELECT 1 FROM pragma_table_xinfo(m.name) WHERE hidden <> 0)
"""


@contextmanager
def open_database(path: str, builder: TranscriptBuilder | None = None) -> Iterator[sqlite3.Connection]:
    """A snapshot of the database. What cannot be read is a damage of the transcript, or StorageError without one."""
    if not Path(path).is_file():
        raise gone(path)
    limits = _Limits(path)
    try:
        with closing(_connect(path)) as connection:
            limits.set(connection)
            connection.row_factory = sqlite3.Row
            connection.execute("BEGIN")
            yield connection
    except _BROKEN as error:
        reason = limits.reason or str(error)
        if builder is None:
            raise StorageError(
                f"cannot read {path}: {reason}", hint="try again when the tool has ended", path=path
            ) from None
        builder.damage(f"SQLite cannot read any further: {reason}")


class _Limits:
    """What reading a database may do, and how much it may cost."""

    def __init__(self, path: str) -> None:
        self.reason = ""
        """Which limit was exceeded."""
        self._text_bytes = _FREE_BYTES + _TIMES * sum(_size(path + suffix) for suffix in ("", "-wal"))
        self._steps = _MOST_STEPS
        self._tables: frozenset[str] = frozenset()

    def set(self, connection: sqlite3.Connection) -> None:
        for category, limit in _SQLITE_LIMITS.items():
            connection.setlimit(category, limit)
        for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "query_only = ON", "mmap_size = 0"):
            connection.execute(f"PRAGMA {pragma}")
        connection.set_progress_handler(self._is_over_limit, _STEP)
        connection.text_factory = self._text
        self._tables = _plain_tables(connection)
        connection.set_authorizer(self._authorize)

    def _is_over_limit(self) -> bool:
        self._steps -= 1
        if self._steps < 0:
            self.reason = "reading it takes more work than a history of this kind should"
        return self._steps < 0

    def _text(self, data: bytes) -> str:
        self._text_bytes -= len(data)
        if self._text_bytes < 0:
            self.reason = "it returns more text than a file of its size can contain"
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
                self.reason = f"{first} is not a plain table: it is a view, or has computed columns"
        return sqlite3.SQLITE_DENY


def _plain_tables(connection: sqlite3.Connection) -> frozenset[str]:
    try:
        return frozenset(name for (name,) in connection.execute(_PLAIN_TABLES))
    except sqlite3.DatabaseError as error:
        if "unsafe use of json_" not in str(error):
            raise
    # SQLite 3.38 to 3.40 takes its own JSON functions for unsafe, and refuses a database that has an index with them.
    # Nothing is computed from the schema either way: indexes are only read, and views and computed columns are not.
    connection.execute("PRAGMA trusted_schema = ON")
    return frozenset(name for (name,) in connection.execute(_PLAIN_TABLES))


def changed_at(path: str) -> float:
    times = [Path(path + suffix).stat().st_mtime for suffix in ("", "-wal") if Path(path + suffix).is_file()]
    return max(times, default=0.0)


def has_table(connection: sqlite3.Connection, name: str) -> bool:
    found = connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (name,))
    return found.fetchone() is not None


def row_as_json(row: sqlite3.Row) -> JsonObject:
    """The row as JSON, without binary values."""
    return {name: row[name] for name in row.keys() if not isinstance(row[name], bytes)}  # noqa: SIM118 - of a row


def _size(path: str) -> int:
    with suppress(OSError):
        return Path(path).stat().st_size
    return 0


def _connect(path: str) -> sqlite3.Connection:
    """With a write-ahead log, its index is read unchanged; without one, no other file is needed."""
    wal, shm = Path(f"{path}-wal"), Path(f"{path}-shm")
    has_changes = wal.is_file() and wal.stat().st_size > 0
    if has_changes and not shm.is_file():
        return _merged(path, wal)
    mode = "readonly_shm" if has_changes else "immutable"
    address = f"file:{quote(os.fsencode(path))}?mode=ro&{mode}=1"
    return sqlite3.connect(address, uri=True, timeout=_PATIENCE_SECONDS)


def _merged(path: str, wal: Path) -> sqlite3.Connection:
    """The database with its log, in memory: SQLite would have to create the index of the log."""
    if _size(path) > _MERGED_BYTES or _size(str(wal)) > _LOG_BYTES:
        raise sqlite3.DataError(f"the newest changes are in {wal.name}, which is too large to read without its index")
    connection = sqlite3.connect(":memory:")
    try:
        connection.deserialize(merge_log(Path(path).read_bytes(), wal.read_bytes()))
    except BaseException:
        connection.close()
        raise
    return connection

"""A tool's own database, read as it is: no file is changed or made, also not those that SQLite keeps beside it."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from segue.errors import StorageError
from segue.tools.histories.history import gone

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.formats.foreign.transcript import Gathering
    from segue.model import JsonObject

_PATIENCE_SECONDS = 2.0
_BROKEN = (sqlite3.Error, UnicodeDecodeError, IndexError, MemoryError)
"""What SQLite raises where the bytes of a database are not what they were."""


@contextmanager
def opened(path: str, about: Gathering | None = None) -> Iterator[sqlite3.Connection]:
    """One moment of the database. What cannot be read is a damage, or an error where there is nobody to tell."""
    if not Path(path).is_file():
        raise gone(path)
    try:
        with closing(sqlite3.connect(_address(path, about), uri=True, timeout=_PATIENCE_SECONDS)) as connection:
            connection.row_factory = sqlite3.Row
            connection.text_factory = lambda data: data.decode("utf-8", "replace")
            connection.execute("BEGIN")
            yield connection
    except _BROKEN as error:
        if about is None:
            raise StorageError(
                f"cannot read {path}: {error}", hint="try again when the tool has ended", path=path
            ) from None
        about.damage(f"SQLite cannot read on: {error}")


def changed_at(path: str) -> float:
    times = [Path(path + suffix).stat().st_mtime for suffix in ("", "-wal") if Path(path + suffix).is_file()]
    return max(times, default=0.0)


def has_table(connection: sqlite3.Connection, name: str) -> bool:
    found = connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (name,))
    return found.fetchone() is not None


def plain(row: sqlite3.Row) -> JsonObject:
    """As JSON; bytes have no place in it."""
    return {name: row[name] for name in row.keys() if not isinstance(row[name], bytes)}  # noqa: SIM118 - of a row


def _address(path: str, about: Gathering | None) -> str:
    """Where a log of changes waits, its index is read as it stands; else nothing is needed beside the file."""
    wal, shm = Path(f"{path}-wal"), Path(f"{path}-shm")
    has_changes = wal.is_file() and wal.stat().st_size > 0
    place = quote(os.fsencode(path))
    if has_changes and shm.is_file():
        return f"file:{place}?mode=ro&readonly_shm=1"
    if has_changes and about is not None:
        about.damage(f"the newest changes are in {wal.name}, which cannot be read without {shm.name}")
    return f"file:{place}?mode=ro&immutable=1"

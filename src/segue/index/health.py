"""Whether the index is what was written: SQLite checks its pages, and each row has a checksum of what it says."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from datetime import timedelta
from typing import TYPE_CHECKING
from zlib import crc32

from segue.index.database import BROKEN, is_busy
from segue.index.entry import to_number
from segue.index.statements import schema

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

CHECK_EVERY = timedelta(days=7)
_SUMMED = ("sessions", "pieces")


def sum_of(values: Iterable[object]) -> int:
    """The checksum of a row: of all that it says, whatever SQLite would convert it to."""
    return crc32(repr(tuple(values)).encode("utf-8", "backslashreplace"))


def is_due(connection: sqlite3.Connection, now: datetime, booted_at: datetime) -> bool:
    """Whether nobody has looked for long, or since the machine started: it may have stopped in the midst of a write."""
    row = connection.execute("SELECT max(checked_at) FROM care").fetchone()
    checked_at = row[0] if isinstance(row[0], int) else 0
    return not to_number(max(now - CHECK_EVERY, booted_at)) <= checked_at <= to_number(now)


def note_check(connection: sqlite3.Connection, now: datetime) -> None:
    with suppress(sqlite3.OperationalError), connection:  # where it is busy, somebody looks another time
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("DELETE FROM care")
        connection.execute("INSERT INTO care VALUES (?)", (to_number(now),))


def find_damage(connection: sqlite3.Connection) -> str:
    """The first thing that is wrong with it; empty where nothing is. Looks at all of it, in one write transaction."""
    try:
        connection.execute("BEGIN IMMEDIATE")
        try:
            return _first_damage(connection)
        finally:
            connection.rollback()
    except BROKEN as error:
        return "" if is_busy(error) else str(error)  # whoever writes it now may look


def _first_damage(connection: sqlite3.Connection) -> str:
    if _tables(connection) != _expected():
        return "its tables are not those that were made"
    problem = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if problem != "ok":
        return str(problem)
    connection.execute("INSERT INTO words (words, rank) VALUES ('integrity-check', 1)")
    for table in _SUMMED:
        for number, *values, total in connection.execute(f"SELECT * FROM {table}"):  # noqa: S608 - ours
            if sum_of(values) != total:
                return f"row {number} of {table} has changed"
    return ""


def _tables(connection: sqlite3.Connection) -> list[tuple[object, ...]]:
    return connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name").fetchall()


def _expected() -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(schema())
        return _tables(connection)

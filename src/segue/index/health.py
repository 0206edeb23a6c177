"""Checks the index for damage: SQLite checks its pages, and each row has a checksum."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from datetime import timedelta
from typing import TYPE_CHECKING
from zlib import crc32

from segue.index.database import BROKEN, is_busy
from segue.index.entry import to_microseconds
from segue.index.statements import schema

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

CHECK_EVERY = timedelta(days=7)
_CHECKED_TABLES = ("sessions", "pieces", "records")


def checksum(values: Iterable[object]) -> int:
    """The checksum of a row, over its values before SQLite converts them."""
    return crc32(repr(tuple(values)).encode("utf-8", "backslashreplace"))


def is_check_due(connection: sqlite3.Connection, now: datetime, booted_at: datetime) -> bool:
    """Whether the last check is long ago, or before the last boot: the machine may have stopped during a write."""
    row = connection.execute("SELECT max(checked_at) FROM care").fetchone()
    checked_at = row[0] if isinstance(row[0], int) else 0
    return not to_microseconds(max(now - CHECK_EVERY, booted_at)) <= checked_at <= to_microseconds(now)


def record_check(connection: sqlite3.Connection, now: datetime) -> None:
    with suppress(sqlite3.OperationalError), connection:  # where it is busy, another call checks
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("DELETE FROM care")
        connection.execute("INSERT INTO care VALUES (?)", (to_microseconds(now),))


def find_damage(connection: sqlite3.Connection) -> str:
    """The first damage, or an empty text. Reads the whole index in one write transaction."""
    try:
        connection.execute("BEGIN IMMEDIATE")
        try:
            return _first_damage(connection)
        finally:
            connection.rollback()
    except BROKEN as error:
        return "" if is_busy(error) else str(error)  # its writer may check it


def _first_damage(connection: sqlite3.Connection) -> str:
    if _tables(connection) != _expected():
        return "its tables have changed"
    problem = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if problem != "ok":
        return str(problem)
    connection.execute("INSERT INTO words (words, rank) VALUES ('integrity-check', 1)")
    for table in _CHECKED_TABLES:
        for number, *values, total in connection.execute(f"SELECT * FROM {table}"):  # noqa: S608 - ours
            if checksum(values) != total:
                return f"row {number} of {table} has changed"
    return ""


def _tables(connection: sqlite3.Connection) -> list[tuple[object, ...]]:
    return connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name").fetchall()


def _expected() -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(schema())
        return _tables(connection)

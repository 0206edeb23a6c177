"""Changes every value in the files of AI tools, whatever their format is: JSON, lines of JSON, or a database."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

Change = Callable[[str, object], object]
"""Takes the name of a value (the key, or the column) and the value; returns the new one."""


def change_values(home: Path, change: Change) -> None:
    """Change all values that are no lists and no objects, in all files below the home folder."""
    for path in sorted(home.rglob("*")):
        if not path.is_file():
            continue
        data = path.read_bytes()
        if data.startswith(b"SQLite"):
            _change_database(path, change)
        elif path.suffix in {".json", ".jsonl"}:
            path.write_text(_change_text(data.decode(), change), encoding="utf-8")


def _change_text(text: str, change: Change) -> str:
    try:
        return json.dumps(_changed("", json.loads(text), change))
    except ValueError:
        return "".join(f"{json.dumps(_changed('', json.loads(line), change))}\n" for line in text.splitlines())


def _changed(name: str, value: object, change: Change) -> object:
    if isinstance(value, dict):
        return {key: _changed(key, inner, change) for key, inner in value.items()}
    if isinstance(value, list):
        return [_changed(name, inner, change) for inner in value]
    return change(name, value)


def _change_database(path: Path, change: Change) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA foreign_keys = OFF")
        names = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
        for (table,) in database.execute(names).fetchall():
            cursor = database.execute(f'SELECT rowid, * FROM "{table}"')  # noqa: S608 - of the corpus
            columns = [column[0] for column in cursor.description][1:]
            for rowid, *row in cursor.fetchall():
                for column, value in zip(columns, row, strict=True):
                    new = _change_column(column, value, change)
                    if new != value:
                        statement = f'UPDATE OR IGNORE "{table}" SET "{column}" = ? WHERE rowid = ?'  # noqa: S608 - of the corpus
                        with suppress(sqlite3.IntegrityError):
                            database.execute(statement, (new, rowid))
        database.commit()


def _change_column(column: str, value: object, change: Change) -> object:
    if isinstance(value, str) and value[:1] in {"{", "["}:
        return _change_text(value, change)
    if isinstance(value, bytes):
        return value
    new = change(column, value)
    if isinstance(new, str):
        return new.encode("utf-8", "replace").decode()
    return new if isinstance(new, float | None) or (isinstance(new, int) and abs(new) < 2**63) else value

"""The sessions of an AI tool that stores them in a database: a row for each, and rows for its messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.errors import NotFoundError
from segue.formats.records import BadRecordError
from segue.integrations.format.transcript import parse_record
from segue.integrations.format.values import as_text
from segue.integrations.shared.history import ExternalSession
from segue.integrations.shared.sqlite import changed_at, has_table, open_database
from segue.integrations.shared.subagents import find_tops

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    from segue.integrations.format.transcript import TranscriptBuilder


def find_sessions(path: str, table: str, query: str) -> Iterator[ExternalSession]:
    """A session for each row of the query, which has `id`, `title`, `changed` and `count`; none without the table.

    If it has `parent` too, those that were started for others are left out.
    """
    try:
        changed = changed_at(path)
        with open_database(path) as database:
            rows = database.execute(query).fetchall() if has_table(database, table) else []
    except NotFoundError:
        return
    has_parents = bool(rows) and "parent" in rows[0].keys()  # noqa: SIM118 - of a row
    tops = find_tops({as_text(row["id"]): as_text(row["parent"]) for row in rows}) if has_parents else {}
    for row in rows:
        if tops.get(id := as_text(row["id"]), id) != id:
            continue
        title = as_text(row["title"])
        revision = f"{row['changed']}-{row['count']}-{title}"
        yield ExternalSession(id=id, revision=revision, path=path, changed_at=changed, title=title)


def parse_column(row: sqlite3.Row, name: str, builder: TranscriptBuilder) -> object:
    """The JSON in a column; a damage and None if it is none."""
    text = as_text(row[name])
    if not text:
        return None
    try:
        return parse_record(text.encode("utf-8", "surrogatepass"))
    except BadRecordError as error:
        builder.damage(f"{name} of {as_text(row['id']):.80}: {error}")
        return None

"""The conversations of llm: all in one database, with the tables of older or newer releases."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from segue.errors import NotFoundError
from segue.integrations.format.transcript import TranscriptBuilder
from segue.integrations.format.values import as_text, objects
from segue.integrations.llm.attachments import linked_parts, linked_rows
from segue.integrations.llm.legacy_reader import parse_legacy_turns
from segue.integrations.llm.reader import ATTACHED, FRAGMENTS, parse_turns, turn_id
from segue.integrations.shared.history import ExternalSession, OpenedTranscript
from segue.integrations.shared.sqlite import changed_at, has_table, open_database, row_as_json

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Generator, Iterator, Mapping

    from segue.integrations.format.transcript import TranscriptTurn
    from segue.model import JsonObject

_THREADS = """
    SELECT threads.id, threads.name, threads.tip_message_hash AS last, count(*) AS count
    FROM threads JOIN turns ON turns.thread_id = threads.id GROUP BY threads.id
"""
_CONVERSATIONS = """
    SELECT conversations.id, conversations.name, max(responses.id) AS last, count(*) AS count
    FROM conversations JOIN responses ON responses.conversation_id = conversations.id GROUP BY conversations.id
"""
_PARTS = "SELECT id, type, tool_name, payload, text FROM parts WHERE message_hash = ? ORDER BY position"


def root(home: Path, environ: Mapping[str, str]) -> Path:
    if folder := environ.get("LLM_USER_PATH"):
        return Path(folder)
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "io.datasette.llm"
    return Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "io.datasette.llm"


def sessions(home: Path, environ: Mapping[str, str]) -> Iterator[ExternalSession]:
    path = str(root(home, environ) / "logs.db")
    try:
        changed = changed_at(path)
        with open_database(path) as database:
            rows = [row for table, query in _GENERATIONS for row in _query(database, table, query)]
    except NotFoundError:
        return
    known: set[str] = set()
    for row in rows:
        id = as_text(row["id"])
        if id not in known:
            known.add(id)
            title = as_text(row["name"])
            revision = f"{row['count']}-{row['last']}-{title}"
            yield ExternalSession(id=id, revision=revision, path=path, changed_at=changed, title=title)


def read(session: ExternalSession) -> OpenedTranscript:
    builder = TranscriptBuilder("llm", session.path, session.id)
    builder.title = session.title
    return OpenedTranscript(builder, _read(session, builder))


_GENERATIONS = (("threads", _THREADS), ("conversations", _CONVERSATIONS))


def _query(database: sqlite3.Connection, table: str, query: str) -> list[sqlite3.Row]:
    return database.execute(query).fetchall() if has_table(database, table) else []


def _read(session: ExternalSession, builder: TranscriptBuilder) -> Generator[TranscriptTurn]:
    with open_database(session.path, builder) as database:
        thread = None
        if has_table(database, "threads"):
            thread = database.execute("SELECT * FROM threads WHERE id = ?", (session.id,)).fetchone()
        if thread is None:
            yield from parse_legacy_turns(_responses(database, session.id), builder)
            return
        builder.tip = turn_id(builder, thread["tip_message_hash"])
        rows = database.execute("SELECT * FROM turns WHERE thread_id = ? ORDER BY id", (session.id,))
        yield from parse_turns(map(row_as_json, rows), lambda name: _message(database, name), builder)


def _message(database: sqlite3.Connection, hash: str) -> JsonObject | None:
    row = database.execute("SELECT * FROM messages WHERE hash = ?", (hash,)).fetchone()
    if row is None:
        return None
    return {**row_as_json(row), "parts": [_part(database, part) for part in database.execute(_PARTS, (hash,))]}


def _part(database: sqlite3.Connection, row: sqlite3.Row) -> JsonObject:
    part = row_as_json(row)
    del part["id"]
    if row["type"] in ("attachment", "tool_result"):
        return {**part, ATTACHED: linked_parts(database, "part_attachments", row["id"])}
    if row["type"] == "text" and not row["text"]:
        fragments = linked_rows(database, "part_fragments", row["id"])
        return {**part, FRAGMENTS: {as_text(fragment["id"]): row_as_json(fragment) for fragment in fragments}}
    return part


def _responses(database: sqlite3.Connection, id: str) -> Iterator[JsonObject]:
    tables = [name for name in ("tool_calls", "tool_results") if has_table(database, name)]
    for row in database.execute("SELECT * FROM responses WHERE conversation_id = ? ORDER BY id", (id,)):
        response = row_as_json(row)
        for table in tables:
            found = database.execute(f"SELECT * FROM {table} WHERE response_id = ? ORDER BY id", (row["id"],))  # noqa: S608 - one of two names above
            response[table] = [row_as_json(one) for one in found]
        for result in objects(response.get("tool_results")):
            result[ATTACHED] = linked_parts(database, "tool_results_attachments", result.get("id"))
        given = [linked_parts(database, table, row["id"]) for table in ("prompt_fragments", "prompt_attachments")]
        system = [part.get("content") for part in linked_parts(database, "system_fragments", row["id"])]
        yield {**response, ATTACHED: [*given[0], *given[1]], FRAGMENTS: system}

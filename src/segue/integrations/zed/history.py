"""The threads of the agent of Zed: all in one database."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from segue.errors import MissingExtraError
from segue.formats.records import BadRecordError
from segue.integrations.format.limits import unpacked_limit
from segue.integrations.format.transcript import TranscriptBuilder, parse_record
from segue.integrations.format.values import as_text
from segue.integrations.shared.history import OpenedTranscript
from segue.integrations.shared.session_rows import find_sessions
from segue.integrations.shared.sqlite import open_database
from segue.integrations.shared.subagents import descendants
from segue.integrations.zed.reader import parse_turns

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Generator, Iterator, Mapping

    from segue.integrations.format.transcript import TranscriptTurn
    from segue.integrations.shared.history import ExternalSession
    from segue.model import JsonObject

_COLUMNS = {"parent_id": "''", "folder_paths": "''", "created_at": "NULL"}
"""Columns that older releases did not have, and their values then."""


def root(home: Path, environ: Mapping[str, str]) -> Path:
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "Zed" / "threads"
    return Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "zed" / "threads"


def sessions(home: Path, environ: Mapping[str, str]) -> Iterator[ExternalSession]:
    path = str(root(home, environ) / "threads.db")
    parent = ""
    if Path(path).is_file():
        with open_database(path) as database:
            parent = ", parent_id AS parent" if "parent_id" in _columns(database) else ""
    query = f"SELECT id, summary AS title, updated_at AS changed, 0 AS count{parent} FROM threads"  # noqa: S608 - constants
    return find_sessions(path, "threads", query)


def read(session: ExternalSession) -> OpenedTranscript:
    builder = TranscriptBuilder("zed", session.path, session.id)
    builder.title = session.title
    return OpenedTranscript(builder, _read(session, builder))


def _columns(database: sqlite3.Connection) -> set[str]:
    cursor = database.execute("SELECT * FROM threads LIMIT 0")
    return {name for name, *_ in cursor.description}


def _read(session: ExternalSession, builder: TranscriptBuilder) -> Generator[TranscriptTurn]:
    with open_database(session.path, builder) as database:
        known = _columns(database)
        wanted = ", ".join(name if name in known else f"{other} AS {name}" for name, other in _COLUMNS.items())
        query = f"SELECT id, updated_at, data_type, data, {wanted} FROM threads"  # noqa: S608 - of the names above
        row = database.execute(f"{query} WHERE id = ?", (session.id,)).fetchone()
        if row is None:
            return
        builder.cwd = as_text(row["folder_paths"]).partition("\n")[0]
        yield from parse_turns(_thread(row, builder), builder, at=row["created_at"] or row["updated_at"])
        tip = builder.tip
        for id, _ in descendants(session.id, lambda parent: _children(database, parent, known)):
            child = database.execute(f"{query} WHERE id = ?", (id,)).fetchone()
            builder.tip = ""
            at = child["created_at"] or child["updated_at"]
            yield from parse_turns(_thread(child, builder), builder, at=at, side=f"agent-{id[:40]}")
        builder.tip = tip


def _children(database: sqlite3.Connection, id: str, columns: set[str]) -> list[str]:
    if "parent_id" not in columns:
        return []
    return [as_text(row["id"]) for row in database.execute("SELECT id FROM threads WHERE parent_id = ?", (id,))]


def _thread(row: sqlite3.Row, builder: TranscriptBuilder) -> JsonObject:
    data = row["data"]
    try:
        if as_text(row["data_type"]) == "zstd":
            data = _unpack(data)
        found = parse_record(data if isinstance(data, bytes) else as_text(data).encode("utf-8", "surrogatepass"))
    except BadRecordError as error:
        builder.damage(str(error))
        return {}
    return {"id": as_text(row["id"]), **found} if isinstance(found, dict) else {}


def _unpack(data: bytes) -> bytes:
    try:
        import zstandard
    except ImportError:
        raise MissingExtraError("zstandard, which reads what Zed has compressed,", "zed") from None
    limit = unpacked_limit(len(data))
    try:
        with zstandard.ZstdDecompressor(max_window_size=limit).stream_reader(data) as stream:
            unpacked = bytes(stream.read(limit + 1))
    except zstandard.ZstdError as error:
        raise BadRecordError(f"it cannot be decompressed ({error})") from None
    if len(unpacked) > limit:
        raise BadRecordError(f"it decompresses to more than {limit >> 20:,} MB")
    return unpacked

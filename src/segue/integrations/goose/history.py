"""The sessions of goose: all in one database."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from segue.integrations.format.transcript import TranscriptBuilder
from segue.integrations.format.values import as_text
from segue.integrations.goose.reader import GooseMessage, parse_turns
from segue.integrations.shared.history import OpenedTranscript
from segue.integrations.shared.session_rows import find_sessions, parse_column
from segue.integrations.shared.sqlite import open_database

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Generator, Iterator, Mapping

    from segue.integrations.format.transcript import TranscriptTurn
    from segue.integrations.shared.history import ExternalSession

_SESSIONS = """
    SELECT sessions.id || char(31) || coalesce(sessions.created_at, '') AS id,
    coalesce(nullif(sessions.name, ''), sessions.description) AS title,
    sessions.updated_at AS changed, max(messages.id) AS count
    FROM sessions JOIN messages ON messages.session_id = sessions.id
    WHERE sessions.session_type NOT IN ('hidden', 'sub_agent') GROUP BY sessions.id
"""
_MESSAGES = """
    SELECT id, message_id, role, content_json, created_timestamp, tokens, metadata_json FROM messages
    WHERE session_id = ? ORDER BY created_timestamp, id
"""


def root(home: Path, environ: Mapping[str, str]) -> Path:
    if folder := environ.get("GOOSE_PATH_ROOT"):
        return Path(folder) / "data" / "sessions"
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "Block" / "goose" / "sessions"
    return Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "goose" / "sessions"


def sessions(home: Path, environ: Mapping[str, str]) -> Iterator[ExternalSession]:
    """Every machine numbers the sessions of a day from 1 on; with its time of day, an id names one session."""
    for session in find_sessions(str(root(home, environ) / "sessions.db"), "sessions", _SESSIONS):
        id, _, created = session.id.rpartition("\x1f")
        time = "".join(filter(str.isdigit, created))[8:14]
        yield replace(session, id=f"{id}-{time or 0}")


def read(session: ExternalSession) -> OpenedTranscript:
    builder = TranscriptBuilder("goose", session.path, session.id)
    builder.title = session.title
    return OpenedTranscript(builder, _read(session, builder))


def _read(session: ExternalSession, builder: TranscriptBuilder) -> Generator[TranscriptTurn]:
    with open_database(session.path, builder) as database:
        id = session.id.rpartition("-")[0]
        about = database.execute("SELECT * FROM sessions WHERE id = ?", (id,)).fetchone()
        builder.cwd = as_text(about["working_dir"]) if about is not None else ""
        model = parse_column(about, "model_config_json", builder) if about is not None else None
        rows = database.execute(_MESSAGES, (id,))
        name = as_text(model.get("model_name")) if isinstance(model, dict) else ""
        yield from parse_turns((_message(row, builder) for row in rows), builder, model=name)


def _message(row: sqlite3.Row, builder: TranscriptBuilder) -> GooseMessage:
    metadata = parse_column(row, "metadata_json", builder)
    return GooseMessage(
        key=as_text(row["message_id"]) or f"{builder.native_id}:{row['id']}",
        role=as_text(row["role"]),
        content=parse_column(row, "content_json", builder),
        created=row["created_timestamp"],
        tokens=row["tokens"],
        metadata=metadata if isinstance(metadata, dict) else {},
    )

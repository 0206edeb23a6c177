"""The sessions of opencode: all in one database, of which only sessions, messages and their parts are read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from segue.errors import NotFoundError, SegueError
from segue.formats.records import BadRecordError, parse_json
from segue.integrations.format.transcript import TranscriptBuilder
from segue.integrations.format.values import as_text
from segue.integrations.opencode.reader import parse_turns
from segue.integrations.shared.history import ExternalSession, OpenedTranscript
from segue.integrations.shared.sqlite import changed_at, has_table, open_database

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Generator, Iterator, Mapping

    from segue.integrations.format.transcript import TranscriptTurn
    from segue.model import JsonObject


def root(home: Path, environ: Mapping[str, str]) -> Path:
    return Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "opencode"


def sessions(home: Path, environ: Mapping[str, str]) -> Iterator[ExternalSession]:
    """Those of every readable database, and then StorageError if another one cannot be read."""
    known: set[str] = set()
    failure: SegueError | None = None
    for path in sorted(root(home, environ).glob("opencode*.db")):
        try:
            changed = changed_at(str(path))
            with open_database(str(path)) as database:
                is_ours = has_table(database, "session")
                rows = database.execute("SELECT id, time_updated, title FROM session").fetchall() if is_ours else []
        except NotFoundError:
            continue
        except SegueError as error:
            failure = error
            continue
        for row in rows:
            id = as_text(row["id"])
            if id not in known:
                known.add(id)
                title = as_text(row["title"])
                revision = f"{row['time_updated']}-{title}"
                yield ExternalSession(id=id, revision=revision, path=str(path), changed_at=changed, title=title)
    if failure is not None:
        raise failure


def read(session: ExternalSession) -> OpenedTranscript:
    builder = TranscriptBuilder("opencode", session.path, session.id)
    builder.title = session.title
    return OpenedTranscript(builder, _read(session, builder))


def _read(session: ExternalSession, builder: TranscriptBuilder) -> Generator[TranscriptTurn]:
    with open_database(session.path, builder) as database:
        row = database.execute("SELECT directory FROM session WHERE id = ?", (session.id,)).fetchone()
        builder.cwd = as_text(row["directory"]) if row is not None else ""
        yield from parse_turns(_messages(database, session.id, builder), builder)


def _messages(database: sqlite3.Connection, id: str, builder: TranscriptBuilder) -> Iterator[JsonObject]:
    """The messages in the form of `opencode export`."""
    found = database.execute("SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id", (id,))
    for row in found:
        info = _parse_data(row, builder)
        parts = database.execute("SELECT id, data FROM part WHERE message_id = ? ORDER BY id", (row["id"],))
        yield {
            "info": {**info, "id": row["id"], "sessionID": id},
            "parts": [{**_parse_data(part, builder), "id": part["id"]} for part in parts],
        }


def _parse_data(row: sqlite3.Row, builder: TranscriptBuilder) -> JsonObject:
    try:
        found = parse_json(as_text(row["data"]).encode("utf-8", "surrogatepass"))
    except BadRecordError as error:
        builder.damage(f"{as_text(row['id']):.80}: {error}")
        return {}
    return found if isinstance(found, dict) else {}

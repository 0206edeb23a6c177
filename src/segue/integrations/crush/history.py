"""The sessions of crush: a database in each project, in the current folder, above it, or in its list of projects."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from segue.durable.small_file import UnusableFileError, read_small_file
from segue.errors import SegueError
from segue.formats.records import BadRecordError
from segue.integrations.crush.reader import parse_turns
from segue.integrations.format.transcript import TranscriptBuilder, parse_record
from segue.integrations.format.values import as_text, objects
from segue.integrations.shared.history import OpenedTranscript
from segue.integrations.shared.session_rows import find_sessions, parse_column
from segue.integrations.shared.sqlite import open_database, row_as_json
from segue.integrations.shared.subagents import descendants

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Generator, Iterator, Mapping

    from segue.integrations.format.transcript import TranscriptTurn
    from segue.integrations.shared.history import ExternalSession
    from segue.model import JsonObject

_DATABASE = Path(".crush") / "crush.db"
_SESSIONS = """
    SELECT sessions.id, sessions.title, max(messages.updated_at) AS changed, count(*) AS count,
    sessions.parent_session_id AS parent
    FROM sessions JOIN messages ON messages.session_id = sessions.id
    WHERE coalesce(sessions.parent_session_id, '') = '' OR sessions.id < 'title-' OR sessions.id >= 'title.'
    GROUP BY sessions.id
"""
"""Without those in which crush itself asks for a title."""
_CHILDREN = "SELECT id FROM sessions WHERE parent_session_id = ? ORDER BY created_at, id"
_LIST_BYTES = 1 << 20


def root(home: Path, environ: Mapping[str, str]) -> Path:
    """The folder of the list of projects."""
    return Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "crush"


def sessions(home: Path, environ: Mapping[str, str]) -> Iterator[ExternalSession]:
    """Those of every readable database, and then the error of one that cannot be read."""
    known: set[str] = set()
    failure: SegueError | None = None
    for path in _databases(home, environ):
        try:
            for session in find_sessions(path, "sessions", _SESSIONS):
                if session.id not in known:
                    known.add(session.id)
                    yield session
        except SegueError as error:
            failure = error
    if failure is not None:
        raise failure


def read(session: ExternalSession) -> OpenedTranscript:
    builder = TranscriptBuilder("crush", session.path, session.id)
    builder.title = session.title
    builder.cwd = str(Path(session.path).parent.parent)
    return OpenedTranscript(builder, _read(session, builder))


def _databases(home: Path, environ: Mapping[str, str]) -> Iterator[str]:
    here = Path(environ.get("PWD") or home)
    folders = [here, *here.parents, home, *_projects(root(home, environ) / "projects.json")]
    return (str(path) for folder in dict.fromkeys(folders) if (path := folder / _DATABASE).is_file())


def _projects(path: Path) -> Iterator[Path]:
    try:
        found = parse_record(read_small_file(str(path), size_bytes=_LIST_BYTES))
    except (FileNotFoundError, UnusableFileError, BadRecordError, SegueError):
        return
    for project in objects(found.get("projects") if isinstance(found, dict) else None):
        if (folder := as_text(project.get("path"))).startswith("/"):
            yield Path(folder)


def _read(session: ExternalSession, builder: TranscriptBuilder) -> Generator[TranscriptTurn]:
    with open_database(session.path, builder) as database:
        yield from parse_turns(_messages(database, session.id, builder), builder)
        tip = builder.tip
        for id, _ in descendants(session.id, lambda parent: _children(database, parent)):
            builder.tip = ""
            yield from parse_turns(_messages(database, id, builder), builder, side=f"agent-{id[:40]}")
        builder.tip = tip


def _children(database: sqlite3.Connection, id: str) -> list[str]:
    children = [as_text(row["id"]) for row in database.execute(_CHILDREN, (id,))]
    return [child for child in children if not child.startswith("title-")]


def _messages(database: sqlite3.Connection, id: str, builder: TranscriptBuilder) -> Iterator[JsonObject]:
    for row in database.execute("SELECT * FROM messages WHERE session_id = ? ORDER BY created_at, rowid", (id,)):
        yield {**row_as_json(row), "parts": parse_column(row, "parts", builder)}

"""Sessions of opencode: all in one database, of which only sessions, messages and their parts are read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from segue.errors import NotFoundError, SegueError
from segue.formats.records import BadRecordError, parse_json
from segue.integrations import opencode
from segue.integrations.format.transcript import TranscriptBuilder, as_text
from segue.integrations.history import ExternalSession, OpenedTranscript
from segue.integrations.sqlite import changed_at, has_table, opened

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Generator, Iterator, Mapping

    from segue.integrations.format.transcript import TranscriptTurn
    from segue.model import JsonObject


class OpencodeHistory(Struct, frozen=True):
    name: str = "opencode"

    def root(self, home: Path, environ: Mapping[str, str]) -> Path:
        return Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "opencode"

    def kept(self, home: Path, environ: Mapping[str, str]) -> Iterator[ExternalSession]:
        """Those of every readable database; then StorageError, if there is another."""
        known: set[str] = set()
        failure: SegueError | None = None
        for path in sorted(self.root(home, environ).glob("opencode*.db")):
            try:
                changed = changed_at(str(path))
                with opened(str(path)) as database:
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

    def read(self, kept: ExternalSession) -> OpenedTranscript:
        about = TranscriptBuilder(self.name, kept.path, kept.id)
        about.title = kept.title
        return OpenedTranscript(about, _steps(kept, about))


def _steps(kept: ExternalSession, about: TranscriptBuilder) -> Generator[TranscriptTurn]:
    with opened(kept.path, about) as database:
        session = database.execute("SELECT directory FROM session WHERE id = ?", (kept.id,)).fetchone()
        about.cwd = as_text(session["directory"]) if session is not None else ""
        yield from opencode.steps(_messages(database, kept.id, about), about)


def _messages(database: sqlite3.Connection, id: str, about: TranscriptBuilder) -> Iterator[JsonObject]:
    """As `opencode export` gives them."""
    found = database.execute("SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id", (id,))
    for row in found:
        info = _data(row, about)
        parts = database.execute("SELECT id, data FROM part WHERE message_id = ? ORDER BY id", (row["id"],))
        yield {
            "info": {**info, "id": row["id"], "sessionID": id},
            "parts": [{**_data(part, about), "id": part["id"]} for part in parts],
        }


def _data(row: sqlite3.Row, about: TranscriptBuilder) -> JsonObject:
    try:
        found = parse_json(as_text(row["data"]).encode("utf-8", "surrogatepass"))
    except BadRecordError as error:
        about.damage(f"{as_text(row['id']):.80}: {error}")
        return {}
    return found if isinstance(found, dict) else {}

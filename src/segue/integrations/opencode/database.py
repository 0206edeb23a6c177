"""The sessions in the databases of opencode, or of a tool made from it: sessions, messages and parts are read."""

from __future__ import annotations

import sqlite3
from hashlib import sha256
from typing import TYPE_CHECKING

from msgspec.structs import replace

from segue.errors import NotFoundError, SegueError
from segue.formats.records import BadRecordError
from segue.integrations.format.transcript import TranscriptBuilder, parse_record
from segue.integrations.format.values import as_text
from segue.integrations.opencode.reader import Message, MessageReader, title_of, without_undone
from segue.integrations.opencode.storage_files import list_sessions, read_session
from segue.integrations.shared.history import ExternalSession, OpenedTranscript
from segue.integrations.shared.sqlite import changed_at, has_table, open_database
from segue.integrations.shared.subagents import descendants, find_tops

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from segue.integrations.format.transcript import TranscriptTurn
    from segue.integrations.opencode.product import Product
    from segue.model import JsonObject

END_MESSAGES = 20
"""How many messages at both ends of a large session are read for a listing."""
_NEWEST = "FROM message WHERE session_id = s.id ORDER BY time_created DESC, id DESC LIMIT 1"
_STATE = f"""
    (SELECT seq FROM event_sequence WHERE aggregate_id = s.id) AS seq,
    (SELECT id {_NEWEST}) AS newest,
    (SELECT time_updated {_NEWEST}) AS newest_updated,
    (SELECT max(time_updated) FROM part WHERE message_id = (SELECT id {_NEWEST})) AS part_updated
"""  # noqa: S608 - constants
"""What changes with every message and every part, at the cost of a few rows per session."""


class DatabaseHistory:
    """The functions of the module `history` for one product."""

    def __init__(self, product: Product) -> None:
        self._product = product

    def root(self, home: Path, environ: Mapping[str, str]) -> Path:
        return self._product.data_folder(home, environ)

    def sessions(self, home: Path, environ: Mapping[str, str]) -> Iterator[ExternalSession]:
        """Those of every readable database, and then StorageError if another one cannot be read."""
        known: set[str] = set()
        failure: SegueError | None = None
        databases = self._product.databases(home, environ)
        if not any(path.exists() for path in databases):  # later releases leave the files, and forget about them
            yield from list_sessions(self.root(home, environ) / "storage")
        for path in databases:
            try:
                found = _list(str(path))
            except NotFoundError:
                continue
            except SegueError as error:
                failure = error
                continue
            for session in found:
                if session.id not in known:
                    known.add(session.id)
                    yield session
        if failure is not None:
            raise failure

    def find(self, id: str, home: Path, environ: Mapping[str, str]) -> ExternalSession | None:
        """The session with this id; None if no database has it. StorageError if one of them cannot be read."""
        return next((session for session in self.sessions(home, environ) if session.id == id), None)

    def read(self, session: ExternalSession) -> OpenedTranscript:
        builder = self._builder(session)
        read = read_session if session.path.endswith(".json") else _read
        return OpenedTranscript(builder, read(session, builder))

    def preview(self, session: ExternalSession) -> OpenedTranscript:
        """Like `read`, from both ends of a large session, and then without subagents."""
        if session.path.endswith(".json"):
            return self.read(session)
        builder = self._builder(session)
        return OpenedTranscript(builder, _read(session, builder, only_ends=True))

    def _builder(self, session: ExternalSession) -> TranscriptBuilder:
        builder = TranscriptBuilder(self._product.name, session.path, session.id)
        builder.title = session.title
        return builder


# ── Listing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _list(path: str) -> list[ExternalSession]:
    """The sessions that no agent started for another one; their revisions depend on those that were."""
    changed = changed_at(path)
    with open_database(path) as database:
        rows = _session_rows(database) if has_table(database, "session") else []
    tops = find_tops({as_text(row["id"]): as_text(row["parent_id"]) for row in rows})
    states: dict[str, list[str]] = {}
    found: dict[str, ExternalSession] = {}
    for row in rows:
        id, title = as_text(row["id"]), title_of(row["title"])
        top = tops[id]
        states.setdefault(top, []).append("-".join(as_text(row[name]) for name in row.keys() if name != "title"))  # noqa: SIM118 - of a row
        if top == id:
            found[id] = ExternalSession(id=id, revision=title, path=path, changed_at=changed, title=title)
    return [replace(one, revision=f"{_digest(states[one.id])}-{one.title}") for one in found.values()]


def _session_rows(database: sqlite3.Connection) -> list[sqlite3.Row]:
    has = {column[0] for column in database.execute("SELECT * FROM session LIMIT 0").description}
    columns = ", ".join(f"s.{name}" if name in has else f"NULL AS {name}" for name in ("parent_id", "revert"))
    plain = f"SELECT s.id, s.title, s.time_updated, {columns}"
    try:
        return database.execute(f"{plain}, {_STATE} FROM session AS s").fetchall()
    except sqlite3.Error:  # an older release has no such tables
        return database.execute(f"{plain} FROM session AS s").fetchall()


def _digest(states: Sequence[str]) -> str:
    return sha256("\n".join(states).encode("utf-8", "surrogatepass")).hexdigest()[:16]


# ── Reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _read(
    session: ExternalSession, builder: TranscriptBuilder, *, only_ends: bool = False
) -> Generator[TranscriptTurn]:
    with open_database(session.path, builder) as database:
        found = _Messages(database, builder)
        columns = found.columns("session")
        wanted = ", ".join(name if name in columns else "NULL" for name in ("directory", "revert", "metadata"))
        row = database.execute(f"SELECT {wanted} FROM session WHERE id = ?", (session.id,)).fetchone()  # noqa: S608 - constants
        directory, revert, metadata = row or (None, None, None)
        builder.cwd = as_text(directory)
        reader = MessageReader(builder, found.parse(session.id, metadata) if metadata else None)
        yield from reader.turns(found.of(session.id, as_text(revert), only_ends=only_ends))
        found.report_others(session.id)
        if not builder.is_partial and "parent_id" in columns:
            yield from _subagents(found, session.id, reader, only_ends=only_ends)


def _subagents(found: _Messages, top: str, reader: MessageReader, *, only_ends: bool) -> Iterator[TranscriptTurn]:
    """The sessions that agents started for this one, and those that were started for these."""
    readers = {top: reader}
    for id, parent in descendants(top, found.children):
        builder = TranscriptBuilder(found.builder.tool, found.builder.place, id)
        builder.damages = found.builder.damages
        inner = _Messages(found.database, builder)
        readers[id] = readers[parent].of_subagent(builder, id)
        for entry in readers[id].turns(inner.of(id, only_ends=only_ends)):
            found.builder.read_bytes += builder.read_bytes
            builder.read_bytes = 0
            yield entry
        found.builder.is_partial = found.builder.is_partial or builder.is_partial


class _Messages:
    """The messages of a database, read one by one."""

    def __init__(self, database: sqlite3.Connection, builder: TranscriptBuilder) -> None:
        self.database = database
        self.builder = builder

    def columns(self, table: str) -> set[str]:
        return {column[0] for column in self.database.execute(f"SELECT * FROM {table} LIMIT 0").description}  # noqa: S608 - a constant

    def children(self, id: str) -> list[str]:
        rows = self.database.execute("SELECT id FROM session WHERE parent_id = ? ORDER BY id DESC", (id,))
        return [as_text(row["id"]) for row in rows]

    def of(self, id: str, revert: str = "", *, only_ends: bool = False) -> Iterator[Message]:
        """Those of a session, oldest first; from the message on that `revert` names, they are undone."""
        undone = self.parse(id, revert) if revert else {}
        first, from_part = as_text(undone.get("messageID")), as_text(undone.get("partID"))
        rows: Iterable[sqlite3.Row] = self._rows(id, "ASC")
        if only_ends and self._count("message", id) > 4 * END_MESSAGES:
            self.builder.is_partial = True
            last = list(self._rows(id, "DESC", END_MESSAGES))[::-1]
            rows = [*self._rows(id, "ASC", END_MESSAGES), *last]
            if self._is_between(rows, first, id):
                first = as_text(last[0]["id"])
        is_undone = False
        for row in rows:
            is_undone = is_undone or bool(first and row["id"] == first)
            info = {**self.parse(row["id"], row["data"]), "id": row["id"], "sessionID": id}
            found = self.database.execute("SELECT id, data FROM part WHERE message_id = ? ORDER BY id", (row["id"],))
            parts: list[JsonObject] = [{**self.parse(part["id"], part["data"]), "id": part["id"]} for part in found]
            if from_part and row["id"] == first:
                yield from without_undone(info, parts, from_part)
            else:
                yield Message(info, parts, is_undone)

    def report_others(self, id: str) -> None:
        """Say so if the session consists of messages of another kind, which newer releases may write."""
        if not has_table(self.database, "session_message") or self._count("message", id):
            return
        if count := self._count("session_message", id):
            self.builder.damage(f"{count:,} messages in the table session_message are of a kind that is not read")

    def _rows(self, id: str, order: str, limit: int = -1) -> Iterator[sqlite3.Row]:
        query = f"SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created {order}, id {order} LIMIT ?"  # noqa: S608 - constants
        return self.database.execute(query, (id, limit))

    def _count(self, table: str, id: str) -> int:
        count: int = self.database.execute(f"SELECT count(*) FROM {table} WHERE session_id = ?", (id,)).fetchone()[0]  # noqa: S608 - a constant
        return count

    def _is_between(self, ends: Sequence[sqlite3.Row], message: str, id: str) -> bool:
        """Whether a message of the session is in the middle, which is not read."""
        if not message or any(row["id"] == message for row in ends):
            return False
        found = self.database.execute("SELECT session_id FROM message WHERE id = ?", (message,)).fetchone()
        return found is not None and found["session_id"] == id

    def parse(self, id: object, data: object) -> JsonObject:
        text = as_text(data)
        self.builder.read_bytes += len(text)
        try:
            found = parse_record(text.encode("utf-8", "surrogatepass"))
        except BadRecordError as error:
            self.builder.damage(f"{as_text(id):.80}: {error}")
            return {}
        return found if isinstance(found, dict) else {}

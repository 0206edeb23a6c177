"""Conversations of llm: all in one database, of an older or a newer make."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from segue.errors import NotFoundError
from segue.integrations import llm
from segue.integrations.format.transcript import TranscriptBuilder, as_text
from segue.integrations.history import ExternalSession, OpenedTranscript
from segue.integrations.llm.reader import tip
from segue.integrations.sqlite import changed_at, has_table, opened, plain

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
_PARTS = """
    SELECT type, tool_name, payload, coalesce(nullif(text, ''), (
        SELECT group_concat(fragments.content, char(10)) FROM part_fragments
        JOIN fragments ON fragments.id = part_fragments.fragment_id WHERE part_fragments.part_id = parts.id
    )) AS text
    FROM parts WHERE message_hash = ? ORDER BY position
"""


class LlmHistory(Struct, frozen=True):
    name: str = "llm"

    def root(self, home: Path, environ: Mapping[str, str]) -> Path:
        if told := environ.get("LLM_USER_PATH"):
            return Path(told)
        if sys.platform == "darwin":
            return home / "Library" / "Application Support" / "io.datasette.llm"
        return Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "io.datasette.llm"

    def kept(self, home: Path, environ: Mapping[str, str]) -> Iterator[ExternalSession]:
        path = str(self.root(home, environ) / "logs.db")
        try:
            changed = changed_at(path)
            with opened(path) as database:
                rows = [row for table, query in _GENERATIONS for row in _ask(database, table, query)]
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

    def read(self, kept: ExternalSession) -> OpenedTranscript:
        about = TranscriptBuilder(self.name, kept.path, kept.id)
        about.title = kept.title
        return OpenedTranscript(about, _steps(kept, about))


_GENERATIONS = (("threads", _THREADS), ("conversations", _CONVERSATIONS))


def _ask(database: sqlite3.Connection, table: str, query: str) -> list[sqlite3.Row]:
    return database.execute(query).fetchall() if has_table(database, table) else []


def _steps(kept: ExternalSession, about: TranscriptBuilder) -> Generator[TranscriptTurn]:
    with opened(kept.path, about) as database:
        thread = None
        if has_table(database, "threads"):
            thread = database.execute("SELECT * FROM threads WHERE id = ?", (kept.id,)).fetchone()
        if thread is None:
            yield from llm.older_steps(_responses(database, kept.id), about)
            return
        tip(about, thread["tip_message_hash"])
        rows = database.execute("SELECT * FROM turns WHERE thread_id = ? ORDER BY id", (kept.id,))
        yield from llm.steps(map(plain, rows), lambda name: _message(database, name), about)


def _message(database: sqlite3.Connection, hash: str) -> JsonObject | None:
    row = database.execute("SELECT * FROM messages WHERE hash = ?", (hash,)).fetchone()
    if row is None:
        return None
    return {**plain(row), "parts": [plain(part) for part in database.execute(_PARTS, (hash,))]}


def _responses(database: sqlite3.Connection, id: str) -> Iterator[JsonObject]:
    tables = [name for name in ("tool_calls", "tool_results") if has_table(database, name)]
    for row in database.execute("SELECT * FROM responses WHERE conversation_id = ? ORDER BY id", (id,)):
        response = plain(row)
        for table in tables:
            found = database.execute(f"SELECT * FROM {table} WHERE response_id = ? ORDER BY id", (row["id"],))  # noqa: S608 - ours
            response[table] = [plain(made) for made in found]
        yield response

"""A real Postgres server for one run, with fsync on; and sessions in it, put there by the fastest way there is."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import segue
from bench.workload import TURNS_OF_A_SMALL_SESSION, role, text
from segue.bulk import WholeSession
from segue.model import Metadata, Turn
from segue.store import FORMAT_VERSION
from tests.support.postgres import PASSWORD_USERS, PostgresServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.workload import Workplace
    from segue.model import Event

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
SETTINGS = {"shared_buffers": "256MB", "max_wal_size": "4GB"}
"""What differs from the settings of a new server: its memory, and how often it writes out everything."""
_TEMPLATES = 500
_ELSEWHERE = "/var/tmp"  # noqa: S108 - a folder of its own is made there, on a real disk
_LONGEST_SOCKET_PATH = 80


@contextmanager
def running(place: Workplace) -> Iterator[PostgresServer]:
    """In the folder of the run if the user of the server can use that; else in one of its own."""
    place.folder.chmod(0o755)
    fits = len(str(place.folder)) < _LONGEST_SOCKET_PATH
    is_usable = os.geteuid() != 0 or all(folder.stat().st_mode & 0o001 for folder in place.folder.parents)
    folder = tempfile.mkdtemp(prefix="pg-", dir=place.folder if fits and is_usable else _ELSEWHERE)
    with PostgresServer(Path(folder)) as server:
        server.prepare()
        server.init()
        server.write_settings(**SETTINGS)
        server.start()
        server.execute(f"CREATE ROLE {PASSWORD_USERS}")
        yield server


def fill_session(url: str, session_id: str, turns: int) -> None:
    """One session with so many turns."""
    _create(url, [WholeSession(id=session_id, events=_events(session_id, 0, turns), blobs={})])


def fill_small(url: str, count: int, turns: int = TURNS_OF_A_SMALL_SESSION) -> None:
    """So many small sessions."""
    _create(url, [_small(number, turns) for number in range(count)])


def fill_sessions(server: PostgresServer, schema: str, count: int, turns: int = TURNS_OF_A_SMALL_SESSION) -> None:
    """Many small sessions: some are made, with their words, and the others are copies of their rows."""
    url = server.url(schema)
    made = min(count, _TEMPLATES)
    fill_small(url, made, turns)
    library = segue.open(url)
    assert library.store.queries is not None
    library.search("quokka")  # writes the words that are missing, a hundred sessions a time
    while server.execute(f"SELECT 1 FROM {schema}.sessions WHERE words_due LIMIT 1"):  # noqa: S608 - our own name
        library.search("quokka")
    columns = [str(name) for (name,) in server.execute(_COLUMNS, (schema,))]
    values = {"s": schema, "copies": count // made - 1, "made": made, "columns": ", ".join(columns)}
    values["changed"] = ", ".join([_CHANGED.get(name, name).format(made=made) for name in columns])
    for statement in _COPY:
        server.execute(statement.format(**values))
    server.execute(f"VACUUM ANALYZE {schema}.sessions, {schema}.events, {schema}.words")
    library.store.close()


_COLUMNS = (
    "SELECT column_name FROM information_schema.columns"
    " WHERE table_schema = %s AND table_name = 'sessions' AND is_generated = 'NEVER'"
)
_CHANGED = {
    "key": "key + n * {made}",
    "id": "id || '-' || n",
    "updated_at": "updated_at - n * interval '10 hours'",
    "recent_at": "recent_at - n * interval '10 hours'",
}
_COPY = (
    """INSERT INTO {s}.sessions ({columns}) OVERRIDING SYSTEM VALUE SELECT {changed}
       FROM {s}.sessions, generate_series(1, {copies}) n""",
    """INSERT INTO {s}.events SELECT space, session + n * {made}, seq, id, kind, branch, body
       FROM {s}.events, generate_series(1, {copies}) n""",
    """INSERT INTO {s}.words SELECT space, session + n * {made}, seq, part, kind, length, is_cut, words
       FROM {s}.words, generate_series(1, {copies}) n""",
    "SELECT setval(pg_get_serial_sequence('{s}.sessions', 'key'), (SELECT max(key) FROM {s}.sessions))",
)


def _create(url: str, sessions: list[WholeSession]) -> None:
    store = segue.open(url).store
    assert store.bulk is not None
    assert not store.bulk.create(sessions)
    store.close()


def _small(number: int, turns: int) -> WholeSession:
    id = f"s-{number:06}"
    return WholeSession(id=id, events=_events(id, number, turns), blobs={})


def _events(id: str, number: int, turns: int) -> list[Event]:
    began = BEGAN + timedelta(minutes=number)
    first = Metadata(
        session_id=id, agent="bench", created_at=began, status="paused", version=FORMAT_VERSION, id="m", title=id
    )
    return [
        first,
        *(
            Turn(
                role=role(turn),
                content=text(number + turn),
                timestamp=began + timedelta(milliseconds=turn),
                tokens=60,
                id=f"{number:08x}-{turn}",
            )
            for turn in range(turns)
        ),
    ]

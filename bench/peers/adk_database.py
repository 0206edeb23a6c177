"""google-adk: DatabaseSessionService over SQLite (sqlite+aiosqlite)."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from typing import TYPE_CHECKING, Any

from google.adk.events import Event
from google.adk.sessions import DatabaseSessionService
from google.genai import types

from bench.workload import role, text

if TYPE_CHECKING:
    from pathlib import Path

_WHO = {"app_name": "bench", "user_id": "u", "session_id": "s"}
# By its own interface a turn takes milliseconds; these are copies of the one that was written so.
COPY = """
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
INSERT INTO events (id, app_name, user_id, session_id, invocation_id, timestamp, event_data)
SELECT printf('copy-%09d', i), app_name, user_id, session_id, invocation_id, timestamp,
       json_set(event_data, '$.id', printf('copy-%09d', i))
FROM n, (SELECT * FROM events LIMIT 1)
"""


class Peer:
    def __init__(self, folder: Path) -> None:
        self._path = folder / "sessions.db"
        self._loop = asyncio.new_event_loop()
        self._service = self._new_service()
        self._session: Any = self._loop.run_until_complete(self._service.create_session(**_WHO))

    def fill(self, count: int) -> None:
        if count == 0:
            return
        self.append(0)
        if count > 1:
            with contextlib.closing(sqlite3.connect(self._path)) as connection:
                connection.execute(COPY, (count - 1,))
                connection.commit()
        self._session = self._loop.run_until_complete(self._service.get_session(**_WHO))

    def append(self, number: int) -> None:
        content = types.Content(role=role(number), parts=[types.Part(text=text(number))])
        event = Event(author=role(number), content=content)
        self._loop.run_until_complete(self._service.append_event(self._session, event))

    def load(self) -> int:
        return self._loop.run_until_complete(self._load())

    def close(self) -> None:
        self._loop.run_until_complete(self._service.close())
        self._loop.close()

    async def _load(self) -> int:
        service = self._new_service()
        session = await service.get_session(**_WHO)
        await service.close()
        return len(session.events)

    def _new_service(self) -> Any:  # noqa: ANN401 - its type needs the library
        return DatabaseSessionService(f"sqlite+aiosqlite:///{self._path}")

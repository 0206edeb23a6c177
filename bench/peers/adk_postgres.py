"""google-adk: DatabaseSessionService over Postgres (postgresql+psycopg)."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
from google.adk.events import Event
from google.adk.sessions import DatabaseSessionService
from google.adk.sessions.base_session_service import GetSessionConfig
from google.genai import types

from bench.workload import role, text

_USER = {"app_name": "bench", "user_id": "u"}
_WHO = {**_USER, "session_id": "s"}
# By its own interface a turn takes milliseconds; these are copies of the one that was written so.
COPY = """
INSERT INTO events (id, app_name, user_id, session_id, invocation_id, timestamp, event_data)
SELECT 'copy-' || n, app_name, user_id, session_id, invocation_id, timestamp,
       jsonb_set(event_data::jsonb, '{id}', to_jsonb('copy-' || n))
FROM generate_series(1, %(count)s) n, (SELECT * FROM events LIMIT 1) first
"""


class Peer:
    def __init__(self, url: str) -> None:
        self._url = url
        self._loop = asyncio.new_event_loop()
        self._service: Any = DatabaseSessionService(url)
        self._session: Any = self._run(self._service.create_session(**_WHO))

    def fill(self, count: int) -> None:
        if count:
            self.append(0)
            with psycopg.connect(self._url.replace("+psycopg", "")) as connection:
                connection.execute(COPY, {"count": count - 1})
            self._session = self._run(self._service.get_session(**_WHO))

    def fill_sessions(self, count: int) -> None:
        for number in range(count):
            self._run(self._service.create_session(**_USER, session_id=f"more-{number}"))

    def append(self, number: int) -> None:
        content = types.Content(role=role(number), parts=[types.Part(text=text(number))])
        self._run(self._service.append_event(self._session, Event(author=role(number), content=content)))

    def load(self) -> int:
        return len(self._run(self._service.get_session(**_WHO)).events)

    def tail(self, count: int) -> int:
        config = GetSessionConfig(num_recent_events=count)
        return len(self._run(self._service.get_session(**_WHO, config=config)).events)

    def list(self) -> int:
        return len(self._run(self._service.list_sessions(**_USER)).sessions)

    def close(self) -> None:
        self._run(self._service.close())
        self._loop.close()

    def _run(self, work: Any) -> Any:  # noqa: ANN401 - its types need the library
        return self._loop.run_until_complete(work)

"""google-adk: `append_event`, and `get_session` with all events."""

from __future__ import annotations

import contextlib
import sqlite3
from typing import TYPE_CHECKING, Any

import psycopg
from google.adk.events import Event
from google.adk.sessions import DatabaseSessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types

from bench.bridges.side import Side
from bench.peers.adk_database import COPY as COPY_SQLITE
from bench.peers.adk_postgres import COPY as COPY_POSTGRES
from bench.workload import role, text
from segue.bridges.google_adk import SegueSessionService

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from segue.library import Library

_WHO = {"app_name": "bench", "user_id": "u", "session_id": "s"}


class GoogleAdk(Side):
    """`copy` puts copies of the first event there: by its own interface, an event takes milliseconds."""

    def __init__(self, service: Any, copy: Callable[[int], None] | None = None) -> None:  # noqa: ANN401
        self._service = service
        self._copy = copy
        self._session: Any = None

    async def open(self) -> None:
        found = await self._service.get_session(**_WHO)
        self._session = found or await self._service.create_session(**_WHO)

    async def fill(self, count: int) -> None:
        await self.put(*range(min(count, 1) if self._copy else count))
        if self._copy and count > 1:
            self._copy(count - 1)
            self._session = await self._service.get_session(**_WHO)

    async def put(self, *numbers: int) -> None:
        for number in numbers:
            content = types.Content(role=role(number), parts=[types.Part(text=text(number))])
            await self._service.append_event(self._session, Event(author=role(number), content=content))

    async def get(self) -> int:
        self._session = await self._service.get_session(**_WHO)
        return len(self._session.events)

    async def close(self) -> None:
        if isinstance(self._service, DatabaseSessionService):
            await self._service.close()


def ours(library: Library) -> Side:
    return GoogleAdk(SegueSessionService(library))


def database(folder: Path) -> Side:
    path = folder / "sessions.db"
    return GoogleAdk(DatabaseSessionService(f"sqlite+aiosqlite:///{path}"), lambda count: _copy_sqlite(path, count))


def sqlite(folder: Path) -> Side:
    path = folder / "sessions.db"
    return GoogleAdk(SqliteSessionService(str(path)), lambda count: _copy_sqlite(path, count))


def postgres(url: str) -> Side:
    def copy(count: int) -> None:
        with psycopg.connect(url) as connection:
            connection.execute(COPY_POSTGRES, {"count": count})

    return GoogleAdk(DatabaseSessionService(url.replace("postgresql://", "postgresql+psycopg://")), copy)


def _copy_sqlite(path: Path, count: int) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(COPY_SQLITE, (count,))
        connection.commit()

"""openai-agents: `add_items` with one item, `get_items` for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agents import SQLiteSession
from agents.extensions.memory import AdvancedSQLiteSession, SQLAlchemySession

from bench.bridges.side import Side
from bench.workload import role, text
from segue.bridges.openai_agents import SegueSession

if TYPE_CHECKING:
    from pathlib import Path

    from segue.library import Library


class OpenaiAgents(Side):
    def __init__(self, session: Any) -> None:  # noqa: ANN401 - any session
        self._session = session

    async def get(self) -> int:
        return len(await self._session.get_items())

    async def close(self) -> None:
        if (engine := getattr(self._session, "engine", None)) is not None:
            await engine.dispose()
        elif hasattr(self._session, "close"):
            self._session.close()

    async def put(self, *numbers: int) -> None:
        items = [{"role": role(number), "content": text(number)} for number in numbers]
        await self._session.add_items(items)


def ours(library: Library) -> Side:
    return OpenaiAgents(SegueSession("s", library))


def sqlite(folder: Path) -> Side:
    return OpenaiAgents(SQLiteSession("s", folder / "sessions.db"))


def advanced_sqlite(folder: Path) -> Side:
    return OpenaiAgents(AdvancedSQLiteSession(session_id="s", db_path=folder / "sessions.db", create_tables=True))


def postgres(url: str) -> Side:
    url = url.replace("postgresql://", "postgresql+psycopg://")
    return OpenaiAgents(SQLAlchemySession.from_url("s", url=url, create_tables=True))

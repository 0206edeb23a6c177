"""openai-agents: SQLiteSession over a file."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from agents import SQLiteSession

from bench.workload import role, text

if TYPE_CHECKING:
    from pathlib import Path


class Peer:
    def __init__(self, folder: Path) -> None:
        self._path = folder / "sessions.db"
        self._loop = asyncio.new_event_loop()
        self._session = SQLiteSession("s", self._path)

    def fill(self, count: int) -> None:
        self._loop.run_until_complete(self._session.add_items([_item(number) for number in range(count)]))

    def append(self, number: int) -> None:
        self._loop.run_until_complete(self._session.add_items([_item(number)]))

    def load(self) -> int:
        session = SQLiteSession("s", self._path)
        found = len(self._loop.run_until_complete(session.get_items()))
        session.close()
        return found

    def close(self) -> None:
        self._session.close()
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()


def _item(number: int) -> dict[str, str]:
    return {"role": role(number), "content": text(number)}

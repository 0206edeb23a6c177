"""openai-agents: SQLAlchemySession over Postgres (postgresql+psycopg)."""

from __future__ import annotations

import asyncio

from agents.extensions.memory import SQLAlchemySession

from bench.workload import role, text


class Peer:
    list = None
    """It has no listing."""

    def __init__(self, url: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._session = SQLAlchemySession.from_url("s", url=url, create_tables=True)
        self._loop.run_until_complete(self._session.get_items())

    def fill(self, count: int) -> None:
        for first in range(0, count, 1_000):
            items = [_item(number) for number in range(first, min(first + 1_000, count))]
            self._loop.run_until_complete(self._session.add_items(items))

    def append(self, number: int) -> None:
        self._loop.run_until_complete(self._session.add_items([_item(number)]))

    def load(self) -> int:
        return len(self._loop.run_until_complete(self._session.get_items()))

    def tail(self, count: int) -> int:
        return len(self._loop.run_until_complete(self._session.get_items(limit=count)))

    def close(self) -> None:
        self._loop.run_until_complete(self._session.engine.dispose())
        self._loop.close()


def _item(number: int) -> dict[str, str]:
    return {"role": role(number), "content": text(number)}

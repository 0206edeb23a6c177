"""Segue itself on Postgres, measured by the same means as the others."""

from __future__ import annotations

import segue
from bench.postgres.server import fill_session, fill_small
from bench.workload import role, text


class Peer:
    def __init__(self, url: str) -> None:
        self._url = url
        self._library = segue.open(url)
        self._session: segue.LiveSession | None = None

    def fill(self, count: int) -> None:
        if count:
            fill_session(self._url, "s", count)
        else:
            self._library.create(agent="bench", id="s").close()

    def fill_sessions(self, count: int) -> None:
        fill_small(self._url, count)

    def append(self, number: int) -> None:
        if self._session is None:
            self._session = self._library.resume("s")
        self._session.add(role(number), text(number), tokens=60)

    def leave(self) -> None:
        """Write no more: reading is measured without the thread that indexes what was written."""
        if self._session is not None:
            self._session.close()
            self._session = None

    def load(self) -> int:
        return len(self._library.load("s").turns)

    def tail(self, count: int) -> int:
        return len(self._library.tail("s", count))

    def list(self) -> int:
        return len(self._library.list())

    def close(self) -> None:
        self.leave()
        self._library.store.close()

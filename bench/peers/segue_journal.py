"""Segue itself, measured by the same means as the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import segue
from bench.workload import build_session, role, text

if TYPE_CHECKING:
    from pathlib import Path


class Peer:
    def __init__(self, folder: Path) -> None:
        self._root = folder / "sessions"
        self._library = segue.open(f"journal:{self._root}")
        self._session: segue.LiveSession | None = None

    def fill(self, count: int) -> None:
        build_session(self._root, "s", count)

    def append(self, number: int) -> None:
        if self._session is None:
            self._session = self._library.resume("s")
        self._session.add(role(number), text(number), tokens=60)

    def load(self) -> int:
        return len(segue.open(f"journal:{self._root}").load("s").turns)

    def close(self) -> None:
        if self._session is not None:
            self._session.close()

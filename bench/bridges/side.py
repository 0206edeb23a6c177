"""One conversation, kept by a class of a framework, or by ours in its place."""

from __future__ import annotations

from typing import Protocol

_AT_ONCE = 1_000


class Side(Protocol):
    async def open(self) -> None:
        """What an agent does first."""

    async def fill(self, count: int) -> None:
        """Have so many turns, by the fastest way there is. Called once, first."""
        for first in range(0, count, _AT_ONCE):
            await self.put(*range(first, min(first + _AT_ONCE, count)))

    async def put(self, *numbers: int) -> None:
        """One more turn, or several, acknowledged when this returns."""

    async def get(self) -> int:
        """Read the whole conversation; how many turns it has."""

    async def close(self) -> None:
        """What holds nothing open has nothing to close."""

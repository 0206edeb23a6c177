"""Run in a process of its own for each framework and backend: our class and theirs take turns. Prints JSON.

python -m bench.bridges.pair measure MODULE BACKEND FOLDER OUR_URL THEIR_URL PRIOR PUTS BUDGET_SECONDS
python -m bench.bridges.pair put MODULE BACKEND FOLDER          one put between two marks, to be watched by bench.trace

OUR_URL names a store of Segue, after `unsynced+` one that does not sync; THEIR_URL names a database, or is empty where
theirs works in the folder.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import json
import os
import sys
import time
from itertools import count
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

import segue
from bench.peer import MARK
from segue.store import Durability

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from bench.bridges.side import Side

UNSYNCED = "unsynced+"
_BLOCK, _READS = 5, 2
_LEAST = 3
_WARM = 3


async def make_ours(module: str, url: str, prior: int) -> Side:
    """Filled without waiting for the disk each time."""
    make: Any = importlib.import_module(f"bench.bridges.{module}").ours
    durability = Durability.WRITTEN if url.startswith(UNSYNCED) else Durability.SYNCED
    url = url.removeprefix(UNSYNCED)
    if prior:
        filling: Side = make(segue.open(url, durability=Durability.WRITTEN))
        await filling.open()
        await filling.fill(prior)
        await filling.close()
    side: Side = make(segue.open(url, durability=durability))
    await side.open()
    return side


async def make_theirs(module: str, backend: str, place: Path | str, prior: int) -> Side:
    side: Side = getattr(importlib.import_module(f"bench.bridges.{module}"), backend)(place)
    await side.open()
    await side.fill(prior)
    return side


class Rounds:
    """Blocks of ours and of theirs, one after the other, so that what slows the machine slows both."""

    def __init__(self, sides: tuple[Side, Side], prior: int, limits: Limits) -> None:
        self._sides = sides
        self._numbers = {side: count(prior) for side in sides}
        self._limits = limits

    async def put(self, side: Side) -> None:
        await side.put(next(self._numbers[side]))

    async def put_both(self) -> None:
        """An agent reads what has changed since: what a class has in memory must be brought up to date."""
        for side in self._sides:
            await self.put(side)

    async def measure(
        self, call: Callable[[Side], Awaitable[object]], block: int, before: Callable[[], Awaitable[None]] | None = None
    ) -> list[float]:
        """The medians of both in nanoseconds, and the median of the ratios of all rounds."""
        pairs: list[tuple[float, float]] = []
        began = time.monotonic()
        while len(pairs) < _LEAST or (
            len(pairs) < self._limits.rounds and time.monotonic() - began < self._limits.seconds
        ):
            ours, theirs = [await self._block(call, side, block, before) for side in self._sides]
            pairs.append((ours, theirs))
        ratios = [ours / theirs for ours, theirs in pairs]
        return [median(ours for ours, _ in pairs), median(theirs for _, theirs in pairs), median(ratios)]

    @staticmethod
    async def _block(
        call: Callable[[Side], Awaitable[object]],
        side: Side,
        block: int,
        before: Callable[[], Awaitable[None]] | None,
    ) -> float:
        gc.collect()
        taken: list[int] = []
        for _ in range(block):
            if before is not None:
                await before()
            began = time.perf_counter_ns()
            await call(side)
            taken.append(time.perf_counter_ns() - began)
        return median(taken)

    async def check(self) -> None:
        for side, numbers in self._numbers.items():
            found, wanted = await side.get(), next(numbers)
            assert found == wanted, f"{found} turns, not {wanted}"
            self._numbers[side] = count(wanted)


class Limits(NamedTuple):
    rounds: int
    seconds: float


async def measure(sides: tuple[Side, Side], prior: int, limits: Limits) -> dict[str, list[float]]:
    """All in one task: a thread that an event loop starts for a task is used again by the next call."""
    rounds = Rounds(sides, prior, limits)
    for _ in range(_WARM):
        await rounds.put_both()
        await rounds.check()
    found = {"put": await rounds.measure(rounds.put, _BLOCK)}
    found["get"] = await rounds.measure(lambda side: side.get(), _READS, rounds.put_both)
    await rounds.check()
    for side in sides:
        await side.close()
    return found


async def put_between_marks(module: str, backend: str, folder: Path) -> None:
    is_ours = backend == "ours"
    side = await (make_ours(module, f"journal:{folder}", 0) if is_ours else make_theirs(module, backend, folder, 0))
    for number in range(_WARM):
        await side.put(number)
    os.access(MARK, os.F_OK)
    await side.put(_WARM)
    os.access(MARK, os.F_OK)
    await side.close()


async def compare(module: str, backend: str, place: Path, *rest: str) -> dict[str, list[float]]:
    our_url, their_url, prior, puts, seconds = rest
    theirs = await make_theirs(module, backend, their_url or place, int(prior))
    ours = await make_ours(module, our_url, int(prior))
    return await measure((ours, theirs), int(prior), Limits(max(1, int(puts) // _BLOCK), float(seconds)))


def main(verb: str, module: str, backend: str, folder: str, *rest: str) -> None:
    Path(folder).mkdir(parents=True)
    if verb == "put":
        asyncio.run(put_between_marks(module, backend, Path(folder)))
    else:
        print(json.dumps(asyncio.run(compare(module, backend, Path(folder), *rest))))


if __name__ == "__main__":
    main(*sys.argv[1:])

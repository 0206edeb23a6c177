"""Run in a process of its own for each peer, where it and Segue take turns on the same server. Prints JSON.

python -m bench.postgres.peer NAME OUR_URL THEIR_URL PRIOR APPENDS BUDGET_SECONDS
"""

from __future__ import annotations

import gc
import importlib
import json
import sys
import time
from statistics import median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

LAST, LISTED = 50, 200
_BLOCK = 10
_LEAST = 3


def measure(name: str, urls: tuple[str, str], prior: int, appends: int, budget: float) -> dict[str, list[float]]:
    """Medians of ours and theirs in nanoseconds, and the median of the ratios of all rounds."""
    ours: Any = importlib.import_module("bench.peers.segue_postgres").Peer(urls[0])
    theirs: Any = importlib.import_module(f"bench.peers.{name}").Peer(urls[1])
    for peer in (ours, theirs):
        peer.fill(prior)
    numbers = {"next": prior}

    def append(peer: Any) -> None:  # noqa: ANN401 - see bench.peers
        peer.append(numbers["next"])

    found: dict[str, list[float]] = {}
    for peer in (ours, theirs):
        append(peer)
    numbers["next"] += 1
    blocks = max(_LEAST, appends // _BLOCK)
    found["append"] = _turns(lambda: append(ours), lambda: append(theirs), blocks, _BLOCK, budget)
    ours.leave()
    if prior:
        for peer in (ours, theirs):
            assert peer.load() >= prior
            assert peer.tail(LAST) == LAST
        found["load"] = _turns(ours.load, theirs.load, 9, 3, budget)
        found["tail"] = _turns(lambda: ours.tail(LAST), lambda: theirs.tail(LAST), 15, 5, budget)
    elif theirs.list is not None:
        for peer in (ours, theirs):
            peer.fill_sessions(LISTED)
            assert peer.list() == LISTED + 1
        found["list"] = _turns(ours.list, theirs.list, 9, 3, budget)
    ours.close()
    theirs.close()
    return found


def _turns(
    ours: Callable[[], object], theirs: Callable[[], object], rounds: int, block: int, budget: float
) -> list[float]:
    """Rounds of a block of ours and a block of theirs, until the time is used up."""
    pairs: list[tuple[float, float]] = []
    began = time.monotonic()
    while len(pairs) < _LEAST or (len(pairs) < rounds and time.monotonic() - began < budget):
        pair = []
        for call in (ours, theirs):
            gc.collect()
            taken = []
            for _ in range(block):
                start = time.perf_counter_ns()
                call()
                taken.append(time.perf_counter_ns() - start)
            pair.append(median(taken))
        pairs.append((pair[0], pair[1]))
    return [
        median(pair[0] for pair in pairs),
        median(pair[1] for pair in pairs),
        median(pair[0] / pair[1] for pair in pairs),
    ]


if __name__ == "__main__":
    name, ours, theirs, prior, appends, budget = sys.argv[1:]
    print(json.dumps(measure(name, (ours, theirs), int(prior), int(appends), float(budget))))

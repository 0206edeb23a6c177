"""Listing, searching and opening: the cost must not grow with the number of sessions, nor with their length."""

from __future__ import annotations

import time
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING

import segue
from bench.measure import Row, compare
from bench.postgres.appending import SECTION
from bench.postgres.server import fill_session, fill_sessions
from bench.workload import TURNS_OF_A_SMALL_SESSION

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.workload import Workplace
    from tests.support.postgres import PostgresServer

SHOWN, LAST = 20, 50
OVER_FEW, OVER_SHORT = 1.5, 1.3
RARE = "quokka"
_ROUNDS = 30


def measure(place: Workplace, server: PostgresServer) -> list[Row]:
    return [*_listing(place, server), *_opening(place, server)]


def _listing(place: Workplace, server: PostgresServer) -> list[Row]:
    few, many = 1_000, 100_000
    searched = 100_000 if place.large else 5_000
    fill_sessions(server, "few", few)
    fill_sessions(server, "searched", searched)
    if not place.large:
        fill_sessions(server, "many", many, turns=1)
    libraries = [segue.open(server.url(name)) for name in ("few", "searched" if place.large else "many", "searched")]
    for library in (libraries[0], libraries[2]):
        with library.resume("s-000007") as session:
            session.add("user", f"where does the {RARE} sleep?")
    calls: list[Callable[[], object]] = [
        lambda: len(libraries[0].list(limit=SHOWN)) == SHOWN,
        lambda: len(libraries[1].list(limit=SHOWN)) == SHOWN,
        lambda: len(libraries[0].search(RARE)) == 1,
        lambda: len(libraries[2].search(RARE)) == 1,
    ]
    listed = _over(calls[1], calls[0], f"list(limit={SHOWN}) of {many:,} sessions / of {few:,}", OVER_FEW)
    turns = f"{searched:,} sessions of {TURNS_OF_A_SMALL_SESSION} turns"
    found = _over(calls[3], calls[2], f"search for a rare word, {turns} / {few:,} sessions", None)
    if not place.large:
        found = replace(found, note=f"{found.note}; --large has 100,000 sessions")
    for library in libraries:
        library.store.close()
    return [listed, found]


def _opening(place: Workplace, server: PostgresServer) -> list[Row]:
    short, long = 100, max(place.sizes.prior)
    url = server.url("append")
    for turns in (short, long):
        fill_session(url, f"open-{turns}", turns)
    server.execute("VACUUM ANALYZE append.events")
    library = segue.open(url)

    def open_and_close(id: str) -> bool:
        session = library.open(id)
        session.release()
        return True

    calls: dict[str, Callable[[str], object]] = {
        f"library.tail({LAST})": lambda name: len(library.tail(name, LAST)) == LAST,
        "library.overview": lambda name: library.overview(name).turn_count > 0,
        "library.open": open_and_close,
    }
    rows = [
        _over(
            lambda call=call: call(f"open-{long}"),  # type: ignore[misc]
            lambda call=call: call(f"open-{short}"),  # type: ignore[misc]
            f"{name} of {long:,} turns / of {short}",
            OVER_SHORT,
        )
        for name, call in calls.items()
    ]
    library.store.close()
    return rows


def _over(ours: Callable[[], object], theirs: Callable[[], object], name: str, target: float | None) -> Row:
    """The median ratio of rounds in which each is called in turn: what slows one round slows both sides of it."""
    for call in (ours, theirs, ours, theirs):
        assert call()
    times: list[tuple[int, int]] = []
    for number in range(_ROUNDS):
        pair = [0, 0]
        for at in (0, 1) if number % 2 else (1, 0):  # neither is always the first
            began = time.perf_counter_ns()
            (ours, theirs)[at]()
            pair[at] = time.perf_counter_ns() - began
        times.append((pair[0], pair[1]))
    row = compare(SECTION, name, median(a for a, _ in times), median(b for _, b in times), target)
    return replace(row, ratio=median(a / b for a, b in times), note=f"median of {_ROUNDS} rounds")

"""An append over the bare INSERT and COMMIT of the same bytes by the same driver, however long the session is."""

from __future__ import annotations

import time
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING

import psycopg

import segue
from bench.measure import Row, compare, percentile
from bench.postgres.server import fill_session
from bench.workload import role, text

if TYPE_CHECKING:
    from bench.workload import Workplace
    from tests.support.postgres import PostgresServer

OVER_BARE, GROWTH = 1.3, 1.1
SECTION = "postgres"
PRIOR = (0, 10_000, 100_000)
BARE = "CREATE TABLE {} (space integer, session bigint, seq bigint, body bytea, PRIMARY KEY (space, session, seq))"
_INSERT = "INSERT INTO bare (space, session, seq, body) VALUES (%s, %s, %s, %b)"
_BATCH = 10
_WARM_UP = 3


class Pair:
    """A session, and a plain table of the same length that gets the same bytes by one INSERT and COMMIT each."""

    def __init__(self, server: PostgresServer, prior: int) -> None:
        self.ours: list[int] = []
        self.bare: list[int] = []
        self.ratios: list[float] = []
        """Of the medians of each round: what slows the machine for a while slows both sides of one."""
        self._key = prior
        url = server.url("append")
        id = f"s-{prior}"
        fill_session(url, id, prior)
        self._session = segue.open(url).resume(id)
        self._connection = psycopg.connect(server.dsn(), autocommit=True, prepare_threshold=0)
        self._connection.execute(
            "INSERT INTO bare SELECT 0, %s, n, convert_to(repeat('x', 390), 'UTF8') FROM generate_series(1, %s) n",
            (prior, prior),
        )
        self._number = prior

    def take_turns(self) -> None:
        """A batch of ours, then the same batch bare."""
        ours: list[int] = []
        bare: list[int] = []
        for number in range(self._number, self._number + _BATCH):
            speaker, content = role(number), text(number)
            began = time.perf_counter_ns()
            self._session.add(speaker, content, tokens=60)
            ours.append(time.perf_counter_ns() - began)
        bodies = self._connection.execute(
            "SELECT e.body FROM append.events e JOIN append.sessions s ON s.key = e.session AND s.id = %s"
            " ORDER BY e.seq DESC LIMIT %s",
            (self._session.id, _BATCH),
            binary=True,
        ).fetchall()
        for (body,) in reversed(bodies):
            self._number += 1
            began = time.perf_counter_ns()
            self._connection.execute(_INSERT, (0, self._key, self._number, body))
            bare.append(time.perf_counter_ns() - began)
        self.ours += ours
        self.bare += bare
        self.ratios.append(median(ours) / median(bare))

    def forget(self) -> None:
        self.ours.clear()
        self.bare.clear()
        self.ratios.clear()

    def close(self) -> None:
        self._session.close()
        self._connection.close()


def measure(place: Workplace, server: PostgresServer) -> list[Row]:
    server.execute(BARE.format("bare"))
    pairs = {prior: Pair(server, prior) for prior in PRIOR}
    server.execute("CHECKPOINT")
    for _ in range(_WARM_UP):
        for pair in pairs.values():
            pair.take_turns()
    for pair in pairs.values():
        pair.forget()
    for _ in range(place.sizes.appends // _BATCH):
        for pair in pairs.values():  # in turn, so that the sizes can be compared with one another as well
            pair.take_turns()
    for pair in pairs.values():
        pair.close()
    return [row for prior, pair in pairs.items() for row in _rows(prior, pair)] + [_growth(pairs)]


def _rows(prior: int, pair: Pair) -> list[Row]:
    named = f"{prior:,} turns before / INSERT and COMMIT"
    p50, p99 = ((percentile(pair.ours, share), percentile(pair.bare, share)) for share in (0.5, 0.99))
    middle = compare(SECTION, f"append p50, {named}", p50[0], p50[1], OVER_BARE)
    rounds = f"median of {len(pair.ratios)} rounds of {_BATCH}"
    return [
        replace(middle, ratio=median(pair.ratios), note=rounds),
        compare(SECTION, f"append p99, {named}", p99[0], p99[1]),
    ]


def _growth(pairs: dict[int, Pair]) -> Row:
    shortest, longest = min(pairs), max(pairs)
    first, last = pairs[shortest], pairs[longest]
    p50 = [percentile(times, 0.5) for times in (last.ours, first.ours, last.bare, first.bare)]
    row = compare(SECTION, f"append p50 at {longest:,} turns / at {shortest:,}", p50[0], p50[1], GROWTH)
    batches = range(0, len(first.ours), _BATCH)
    ratios = [median(last.ours[at : at + _BATCH]) / median(first.ours[at : at + _BATCH]) for at in batches]
    return replace(row, ratio=median(ratios), note=f"the bare inserts: {p50[2] / p50[3]:.2f}x")

"""A fleet in which a few sessions are far hotter than the rest, after a while, and the same work without skew."""

from __future__ import annotations

import multiprocessing
import random
import time
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

import segue
from bench.measure import Row, in_words, percentile
from bench.workload import SEED, role, text

if TYPE_CHECKING:
    from multiprocessing.queues import SimpleQueue
    from multiprocessing.synchronize import Barrier

    from bench.workload import Workplace
    from tests.support.postgres import PostgresServer

WORKERS, SESSIONS_OF_A_WORKER = 8, 250
EXPONENT = 1.2
"""Of Zipf's law: the session of rank n gets a share of 1 / n to this power."""
HOTTEST = 2
"""Sessions of each worker that count as hot: with this exponent they get about half of all turns."""


class Load(NamedTuple):
    """What one run of the fleet showed."""

    rate: float
    hot: list[int]
    cold: list[int]
    updated: int
    hot_updated: int
    dead: int
    sessions_bytes: int
    events_bytes: int
    index_bytes: int
    wal_bytes: int
    turns: int

    @property
    def all(self) -> list[int]:
        return self.hot + self.cold


def measure(place: Workplace, server: PostgresServer) -> list[Row]:
    seconds = 60.0 if place.large else 10.0
    even = _run(server, "even", 0.0, seconds)
    skewed = _run(server, "skewed", EXPONENT, seconds)
    who = f"{WORKERS} workers, {WORKERS * SESSIONS_OF_A_WORKER:,} sessions"
    note = f"{skewed.rate:,.0f} and {even.rate:,.0f} turns/s for {seconds:.0f} s"
    return [
        _times(f"p50 of a turn, {who}, a few of them hot / all alike", skewed.all, even.all, 0.5, note),
        _times(f"p99 of a turn, {who}, a few of them hot / all alike", skewed.all, even.all, 0.99, ""),
        _times("p50 of a turn in a hot session / in the others", skewed.hot, skewed.cold, 0.5, _shares(skewed)),
        _share("updates of a session's row that touch no index", skewed, even),
        _bytes("the table of sessions", skewed.sessions_bytes, even.sessions_bytes, _dead(skewed, even)),
        _bytes(
            "events and their indexes, a turn",
            (skewed.events_bytes + skewed.index_bytes) // skewed.turns,
            (even.events_bytes + even.index_bytes) // even.turns,
            f"{skewed.index_bytes // skewed.turns} of them indexes",
        ),
        _bytes("write-ahead log, a turn", skewed.wal_bytes // skewed.turns, even.wal_bytes // even.turns, ""),
    ]


def _times(name: str, ours: list[int], theirs: list[int], share: float, note: str) -> Row:
    a, b = percentile(ours, share), percentile(theirs, share)
    return Row(section="skew", name=name, ratio=a / b, ours=in_words(a), theirs=in_words(b), note=note)


def _share(name: str, ours: Load, theirs: Load) -> Row:
    a, b = ours.hot_updated / ours.updated, theirs.hot_updated / theirs.updated
    return Row(section="skew", name=f"{name} / all alike", ratio=a / b, ours=f"{a:.1%}", theirs=f"{b:.1%}")


def _bytes(name: str, ours: int, theirs: int, note: str) -> Row:
    shown = [f"{size:,} B" if size < 100_000 else f"{size / 1e6:.1f} MB" for size in (ours, theirs)]
    name = f"{name}, a few sessions hot / all alike"
    return Row(section="skew", name=name, ratio=ours / theirs, ours=shown[0], theirs=shown[1], note=note)


def _shares(load: Load) -> str:
    return f"{len(load.hot) / len(load.all):.0%} of the turns in {WORKERS * HOTTEST} sessions"


def _dead(ours: Load, theirs: Load) -> str:
    return f"{ours.dead:,} and {theirs.dead:,} dead rows not vacuumed yet"


def _run(server: PostgresServer, schema: str, exponent: float, seconds: float) -> Load:
    context = multiprocessing.get_context("fork")
    begin, found = context.Barrier(WORKERS + 1), context.SimpleQueue()
    work = Work(server.url(schema), begin, seconds, exponent, found)
    processes = [context.Process(target=_work, args=(number, work)) for number in range(WORKERS)]
    for process in processes:
        process.start()
    begin.wait()
    before = _wal(server)
    timed = [found.get() for _ in processes]
    wal = _wal(server) - before
    begin.wait()
    for process in processes:
        process.join()
    hot, cold = ([time for times in timed for time in times[at]] for at in (0, 1))
    server.execute("SELECT pg_stat_force_next_flush()")
    [(updated, hot_updated, dead)] = server.execute(
        "SELECT n_tup_upd, n_tup_hot_upd, n_dead_tup FROM pg_stat_user_tables"
        " WHERE schemaname = %s AND relname = 'sessions'",
        (schema,),
    )
    [(sessions,)] = server.execute("SELECT pg_table_size(%s::regclass)", (f"{schema}.sessions",))
    [(events, indexes)] = server.execute(
        "SELECT sum(pg_table_size(inhrelid)), sum(pg_indexes_size(inhrelid)) FROM pg_inherits"
        " WHERE inhparent = %s::regclass",
        (f"{schema}.events",),
    )
    count = len(hot) + len(cold)
    return Load(
        rate=count / seconds,
        hot=hot,
        cold=cold,
        updated=int(str(updated)),
        hot_updated=int(str(hot_updated)),
        dead=int(str(dead)),
        sessions_bytes=int(str(sessions)),
        events_bytes=int(str(events)),
        index_bytes=int(str(indexes)),
        wal_bytes=wal,
        turns=count,
    )


class Work(NamedTuple):
    """What a worker is given."""

    url: str
    begin: Barrier
    seconds: float
    exponent: float
    found: SimpleQueue[tuple[list[int], list[int]]]


def _work(number: int, work: Work) -> None:
    chance = random.Random(SEED + number)
    library = segue.open(work.url)
    sessions = [library.create(agent="bench", id=f"w{number}-{at:03}") for at in range(SESSIONS_OF_A_WORKER)]
    weights = list(accumulate(1 / rank**work.exponent for rank in range(1, len(sessions) + 1)))
    picks = chance.choices(range(len(sessions)), cum_weights=weights, k=100_000)
    work.begin.wait()
    times: tuple[list[int], list[int]] = ([], [])
    ends = time.monotonic() + work.seconds
    turn = 0
    while time.monotonic() < ends:
        pick = picks[turn % len(picks)]
        began = time.perf_counter_ns()
        sessions[pick].add(role(turn), text(turn), tokens=60)
        times[pick >= HOTTEST].append(time.perf_counter_ns() - began)
        turn += 1
    work.found.put(times)
    work.begin.wait()
    for session in sessions:
        session.release()


def _wal(server: PostgresServer) -> int:
    [(size,)] = server.execute("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn")
    return int(str(size))

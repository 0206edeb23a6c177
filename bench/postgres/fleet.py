"""Many writers, each a process with a session of its own, against `pgbench` with the same insert on the same server."""

from __future__ import annotations

import multiprocessing
import os
import re
import subprocess
import time
from statistics import median
from typing import TYPE_CHECKING

import psycopg

import segue
from bench.measure import Row
from bench.postgres.appending import BARE, SECTION
from bench.workload import role, text
from segue.stores.postgres.statements import Statements
from tests.support.postgres import DATABASE

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.queues import SimpleQueue
    from multiprocessing.synchronize import Barrier
    from pathlib import Path

    from bench.workload import Workplace
    from tests.support.postgres import PostgresServer

WRITERS = (8, 32)
SHARE = 0.7
"""Of the transactions a second of pgbench."""
_SCHEMA = "fleet"
_WARM_SHARE = 4
"""A new connection first learns about all partitions; in a run this many times as long that weighs little."""
_BODY_BYTES = 390
_INSERT = """
\\set seq :seq + 1
INSERT INTO bare_fleet VALUES (0, :base::int8 + :client_id::int8, :seq::int8, convert_to(:body::text, 'UTF8'));
"""
_TOKEN = "00000000-0000-0000-0000-000000000001"  # noqa: S105 - the name of a writer
_BARE = "INSERT INTO bare_fleet VALUES (%s, %s, %s, %b)"
_VALUES = {
    1: "0::int4",
    2: ":base::int8 + :client_id::int8",
    3: "1::int8",
    4: ":seq::int8",
    5: ":seq::int8",
    6: "now()",
    7: "date_trunc('minute', now())",
    8: "30::float8",
    9: "'x' || :seq::text",
    10: "'main'",
    11: "convert_to(:body::text, 'UTF8')",
    12: f"'{_TOKEN}'::uuid",
}


def measure(place: Workplace, server: PostgresServer) -> list[Row]:
    server.execute(BARE.format("bare_fleet"))
    return [row for writers in WRITERS for row in _measure(place, server, writers)]


def _measure(place: Workplace, server: PostgresServer, writers: int) -> list[Row]:
    seconds = 1.0 if place.sizes.rounds < 5 else 2.0
    script = place.folder / "insert.sql"
    script.write_text(_INSERT, encoding="utf-8")
    script.chmod(0o644)
    rates: list[tuple[float, ...]] = []
    for number in range(place.sizes.rounds):
        url = server.url(_SCHEMA)
        first = 1_000 * (writers * 100 + number)
        ours = _write(_append, url, [f"ours-{writers}-{number}-{at}" for at in range(writers)], seconds)
        bare = _pgbench(server, script, writers, seconds, first=first, seq=0)
        own = _append_by_pgbench(place, server, writers, seconds, f"own-{writers}-{number}")
        driver = _write(_insert, server.dsn(), [str(first + 500 + at) for at in range(writers)], seconds)
        rates.append((ours, bare, own, driver))
    ours, *others = (median(column) for column in zip(*rates, strict=True))
    shares = [median(rate[0] / rate[at] for rate in rates) for at in (1, 2, 3)]
    who = f"a turn, {writers} writers, a process each"
    over = ("INSERT by pgbench", "the same statement by pgbench", "INSERT by the driver, a process each")
    return [
        _row(f"{who} / {what}", share, ours, theirs, 1 / SHARE if what == over[0] else None)
        for what, share, theirs in zip(over, shares, others, strict=True)
    ]


def _row(name: str, share: float, ours: float, theirs: float, target: float | None) -> Row:
    return Row(
        section=SECTION,
        name=name,
        ratio=1 / share,
        target=target,
        ours=f"{ours:,.0f}/s",
        theirs=f"{theirs:,.0f}/s",
        note=f"{share:.2f} of its rate",
    )


def _write(write: Callable[..., None], url: str, ids: list[str], seconds: float) -> float:
    """Turns a second by as many processes as there are ids. They begin together, when all have a session."""
    context = multiprocessing.get_context("fork")
    begin, counts = context.Barrier(len(ids)), context.SimpleQueue()
    processes = [context.Process(target=write, args=(url, id, begin, seconds, counts)) for id in ids]
    for process in processes:
        process.start()
    total = sum(counts.get() for _ in ids)
    for process in processes:
        process.join()
    return float(total)


def _append(url: str, id: str, begin: Barrier, seconds: float, counts: SimpleQueue[float]) -> None:
    library = segue.open(url)
    session = library.create(agent="bench", id=id)
    for number in range(5):
        session.add(role(number), text(number), tokens=60)
    begin.wait()
    began, count = time.monotonic(), 0
    while time.monotonic() - began < seconds:
        session.add(role(count), text(count), tokens=60)
        count += 1
    counts.put(count / (time.monotonic() - began))
    begin.wait()  # closing writes, too
    session.close()


def _insert(dsn: str, id: str, begin: Barrier, seconds: float, counts: SimpleQueue[float]) -> None:
    """The same by the bare driver."""
    with psycopg.connect(dsn, autocommit=True, prepare_threshold=0) as connection:
        body = b"x" * _BODY_BYTES
        connection.execute(_BARE, (0, int(id), 0, body))
        begin.wait()
        began, count = time.monotonic(), 0
        while time.monotonic() - began < seconds:
            count += 1
            connection.execute(_BARE, (0, int(id), count, body))
        counts.put(count / (time.monotonic() - began))
        begin.wait()


def _append_by_pgbench(place: Workplace, server: PostgresServer, writers: int, seconds: float, name: str) -> float:
    """The statement that appends a turn, made by pgbench: what the server itself allows."""
    library = segue.open(server.url(_SCHEMA))
    for at in range(writers):
        library.create(agent="bench", id=f"{name}-{at:02}").close()
    sessions = f"{_SCHEMA}.sessions"
    ours = "WHERE starts_with(id, %s)"
    server.execute(f"UPDATE {sessions} SET owner_token = %s, fence = 1 {ours}", (_TOKEN, f"{name}-"))  # noqa: S608
    find = f"SELECT min(key), max(key), min(seq), max(seq) FROM {sessions} {ours}"  # noqa: S608 - our own names
    [(first, last, seq, same)] = server.execute(find, (f"{name}-",))
    assert isinstance(first, int)
    assert isinstance(seq, int)
    assert (last, same) == (first + writers - 1, seq)
    library.store.close()
    statement = Statements(_SCHEMA).append_turn(checkpoint=False).text
    statement = re.sub(r"--.*", "", statement)
    statement = re.sub(r"\$(\d+)", lambda found: f"({_VALUES[int(found[1])]})", statement)
    script = place.folder / "append.sql"
    script.write_text(f"\\set seq :seq + 1\n{' '.join(statement.split())};\n", encoding="utf-8")
    script.chmod(0o644)
    rate = _pgbench(server, script, writers, _WARM_SHARE * seconds, first=first, seq=seq)
    [(*_, fewest, _)] = server.execute(find, (f"{name}-",))
    assert int(str(fewest)) > seq, "pgbench has appended nothing"
    return rate


def _pgbench(server: PostgresServer, script: Path, clients: int, seconds: float, *, first: int, seq: int) -> float:
    body = (" ".join(text(number) for number in range(3)).encode("ascii", "replace")).decode()[:_BODY_BYTES]
    command = [
        *(str(server.programs / "pgbench"), "--no-vacuum", "--protocol=prepared"),
        *(f"--client={clients}", f"--jobs={min(clients, os.cpu_count() or 1)}", f"--time={max(1, round(seconds))}"),
        *("-D", f"base={first}", "-D", f"seq={seq}", "-D", f"body={body}", f"--file={script}"),
        *("-h", str(server.folder), "-p", str(server.port), "-U", "postgres", DATABASE),
    ]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    found = re.search(r"^tps = ([0-9.]+)", done.stdout, re.MULTILINE)
    assert found, done.stdout + done.stderr
    assert "number of failed transactions: 0 " in done.stdout, done.stdout
    return float(found[1])

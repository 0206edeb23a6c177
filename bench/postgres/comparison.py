"""The peers on the same server: an append, a load, the end of a long session, and a listing where they have one."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from bench.measure import Row, compare
from bench.postgres.appending import SECTION
from bench.postgres.peer import LAST, LISTED

if TYPE_CHECKING:
    from bench.workload import Workplace
    from tests.support.postgres import PostgresServer

AHEAD = 1.0
PEERS = {
    "langgraph_postgres": ("langgraph-checkpoint-postgres", "langgraph PostgresSaver"),
    "openai_sqlalchemy": ("openai-agents", "openai-agents SQLAlchemySession"),
    "adk_postgres": ("google-adk", "google-adk DatabaseSessionService"),
}
_NAMES = {
    "append": "append, {prior:,} turns before",
    "load": "load of {prior:,} turns",
    "tail": f"the last {LAST} of {{prior:,}} turns",
    "list": f"list of {LISTED} sessions",
}


def measure(place: Workplace, server: PostgresServer) -> list[Row]:
    rows: list[Row] = []
    for name, (package, title) in PEERS.items():
        try:
            found = version(package)
        except PackageNotFoundError:
            rows.append(Row(section=SECTION, name=title, ratio=None, note="not installed"))
            continue
        for prior in place.sizes.peer_prior:
            rows += _measure(place, server, name, f"{title} {found}", prior)
    return rows


def _measure(place: Workplace, server: PostgresServer, name: str, title: str, prior: int) -> list[Row]:
    database = f"{name}_{prior}"
    server.execute(f"CREATE DATABASE {database}")
    theirs = f"postgresql+psycopg://postgres@127.0.0.1:{server.port}/{database}"
    ours = server.url(f"against_{database}", tcp=True)
    sizes = place.sizes
    command = [
        *(sys.executable, "-W", "ignore", "-m", "bench.postgres.peer", name, ours, theirs),
        *(str(prior), str(sizes.peer_appends), str(2 * sizes.peer_budget_seconds)),
    ]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        return [Row(section=SECTION, name=title, ratio=None, note=f"it failed: {reason}")]
    found: dict[str, tuple[float, float, float]] = json.loads(done.stdout.splitlines()[-1])
    return [
        replace(
            compare(SECTION, f"{_NAMES[what].format(prior=prior)} / {title}", times[0], times[1], AHEAD),
            ratio=times[2],
        )
        for what, times in found.items()
    ]

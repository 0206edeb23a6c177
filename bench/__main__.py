"""The command: measure every section in turn, print the ratios, clean up."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from bench import (
    append,
    chat,
    comparison,
    finding,
    forking,
    gptel,
    importing,
    listing,
    opening,
    ralph,
    scope,
    startup,
    table,
    tools,
)
from bench.bridges import section as bridges
from bench.measure import settle
from bench.postgres import section as postgres
from bench.workload import FULL, QUICK, Workplace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bench.comparison import Compared
    from bench.measure import Row

SECTIONS: dict[str, Callable[[Workplace], list[Row]]] = {
    "append": append.measure,
    "open": opening.measure,
    "load": opening.measure_load,
    "list": listing.measure,
    "find": finding.measure,
    "import": importing.measure,
    "tools": tools.measure,
    "fork": forking.measure,
    "start": startup.measure,
    "chat": chat.measure,
    "scope": scope.measure,
    "ralph": ralph.measure,
    "gptel": gptel.measure,
    "postgres": postgres.measure,
    "skew": postgres.measure_skew,
    "bridges": bridges.measure,
}
PEERS = "peers"


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parse(arguments)
    parent = Path(options.dir).resolve()
    parent.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="run-", dir=parent))
    try:
        place = Workplace(folder=folder, sizes=QUICK if options.quick else FULL, large=options.large)
        wanted = options.only or [*SECTIONS, PEERS]
        rows = _rows(place, [name for name in wanted if name != PEERS])
        peers = comparison.measure(place) if PEERS in wanted and not options.no_peers else []
    finally:
        _say("cleaning up")
        shutil.rmtree(folder, ignore_errors=True)
    seconds = time.monotonic() - began
    if options.json:
        print(json.dumps(_plain(rows, peers, seconds), indent=2))
    else:
        print(table.show(rows, peers, f"{_machine()}; {seconds:.0f} s{', --quick' if options.quick else ''}"))
    return int(options.check and any(row.verdict == "miss" for row in rows))


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/run", description="Segue against raw system calls and its peers.")
    parser.add_argument("--quick", action="store_true", help="smaller sizes, under a minute; ratios are rougher")
    parser.add_argument("--no-peers", action="store_true", help="only Segue and raw calls; needs no extra libraries")
    parser.add_argument("--only", action="append", choices=[*SECTIONS, PEERS], help="this section (repeatable)")
    parser.add_argument(
        "--large",
        action="store_true",
        help="sessions of AI tools of 500 MB, and Postgres with 100,000 sessions of 20 turns",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of columns")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a row misses its target")
    parser.add_argument(
        "--dir",
        default=str(Path(__file__).parent / "results"),
        help="where to work: a folder on a real disk (default: %(default)s)",
    )
    return parser.parse_args(arguments)


def _rows(place: Workplace, sections: Sequence[str]) -> list[Row]:
    rows: list[Row] = []
    for name in sections:
        _say(f"measuring {name}")
        rows += settle(lambda name=name: SECTIONS[name](place))  # type: ignore[misc]
    return rows


def _plain(rows: Sequence[Row], peers: Sequence[Compared], seconds: float) -> dict[str, object]:
    return {
        "machine": _machine(),
        "seconds": round(seconds, 1),
        "rows": [row.plain() for row in rows],
        "peers": [peer.plain() for peer in peers],
    }


def _machine() -> str:
    load, cores = os.getloadavg()[1], os.cpu_count() or 1
    busy = f"; other work disturbed this run: load {load:.1f} on {cores} cores" if load > cores else ""
    return f"{platform.system()} {platform.machine()}, {cores} cores, Python {platform.python_version()}{busy}"


def _say(text: str) -> None:
    print(f"bench: {text}…", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())

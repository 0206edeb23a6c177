"""A fork over an append to the same session: a fork copies nothing."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import segue
from bench.measure import Row, compare, elapsed, percentile
from bench.workload import sync_file, text

if TYPE_CHECKING:
    from bench.workload import Workplace

TURNS = 10_000
OVER_APPEND = 2.0
_COPIES, _FORKS = 5, 20


def measure(place: Workplace) -> list[Row]:
    """Several copies, few forks of each: a session with hundreds of branches is another question."""
    root = place.folder / "forks"
    source = place.session(TURNS) / "s.jsonl"
    root.mkdir(exist_ok=True)
    library = segue.open(f"journal:{root}")
    forks: list[int] = []
    appends: list[int] = []
    for copy in range(_COPIES):
        path = root / f"f-{copy}.jsonl"
        shutil.copyfile(source, path)
        sync_file(path)
        with library.resume(path.stem) as session:
            session.add("user", text(0))
            for number in range(_FORKS):
                appends.append(elapsed(lambda number=number: session.add("user", text(number), tokens=60)))  # type: ignore[misc]
                forks.append(elapsed(lambda: session.fork(at=TURNS // 2)))
    ours, theirs = percentile(forks, 0.5), percentile(appends, 0.5)
    return [compare("fork", f"fork of {TURNS:,} turns / append", ours, theirs, OVER_APPEND)]

"""An append over one write and one fdatasync of the same bytes, however long the session is."""

from __future__ import annotations

import itertools
import os
import shutil
import time
from typing import TYPE_CHECKING

import segue
from bench.measure import Row, compare, percentile
from bench.workload import role, sync_file, text

if TYPE_CHECKING:
    from pathlib import Path

    from bench.workload import Workplace

OVER_RAW, GROWTH = 1.3, 1.1
_BATCH = 10
_WARM_UP = 20


class Pair:
    """A session, and a plain file of the same size that gets the same bytes by bare system calls."""

    def __init__(self, root: Path) -> None:
        self.ours: list[int] = []
        self.raw: list[int] = []
        self._session = segue.open(f"journal:{root}").resume("s")
        journal, twin = root / "s.jsonl", root / "twin"
        shutil.copyfile(journal, twin)
        sync_file(twin)
        self._journal = os.open(journal, os.O_RDONLY)
        self._twin = os.open(twin, os.O_WRONLY | os.O_APPEND)
        self._number = 0

    def take_turns(self) -> None:
        """A batch of ours, then the same batch raw."""
        sizes = [os.fstat(self._journal).st_size]
        for _ in range(_BATCH):
            speaker, content = role(self._number), text(self._number)
            self._number += 1
            began = time.perf_counter_ns()
            self._session.add(speaker, content, tokens=60)
            self.ours.append(time.perf_counter_ns() - began)
            sizes.append(os.fstat(self._journal).st_size)
        for start, end in itertools.pairwise(sizes):
            data = os.pread(self._journal, end - start, start)
            began = time.perf_counter_ns()
            os.write(self._twin, data)
            os.fdatasync(self._twin)
            self.raw.append(time.perf_counter_ns() - began)

    def forget(self) -> None:
        self.ours.clear()
        self.raw.clear()

    def close(self) -> None:
        self._session.close()
        os.close(self._journal)
        os.close(self._twin)


def measure(place: Workplace) -> list[Row]:
    pairs = {prior: Pair(place.session(prior)) for prior in place.sizes.prior}
    try:
        for _ in range(_WARM_UP // _BATCH):
            for pair in pairs.values():
                pair.take_turns()
        for pair in pairs.values():
            pair.forget()
        for _ in range(place.sizes.appends // _BATCH):
            for pair in pairs.values():  # in turn, so that the sizes can be compared with one another as well
                pair.take_turns()
    finally:
        for pair in pairs.values():
            pair.close()
    rows = [
        compare(
            "append",
            f"{name}, {prior:,} turns before / write + fdatasync",
            percentile(pair.ours, share),
            percentile(pair.raw, share),
            OVER_RAW,
        )
        for prior, pair in pairs.items()
        for name, share in (("p50", 0.5), ("p95", 0.95))
    ]
    shortest, longest = min(pairs), max(pairs)
    last, first = pairs[longest], pairs[shortest]
    note = f"the raw writes: {percentile(last.raw, 0.5) / percentile(first.raw, 0.5):.2f}x"
    name = f"p50 at {longest:,} turns / at {shortest:,}"
    rows.append(compare("append", name, percentile(last.ours, 0.5), percentile(first.ours, 0.5), GROWTH, note))
    return rows

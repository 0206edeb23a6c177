"""Times, and what is made of them: medians, ratios, and rows that say whether they meet their target."""

from __future__ import annotations

import gc
import time
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

TRIES = 3
"""How often a section is measured when a row of it misses; the median of the tries is what counts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One ratio. Without a target it is there for information."""

    section: str
    name: str
    ratio: float | None
    target: float | None = None
    ours: str = ""
    theirs: str = ""
    note: str = ""

    @property
    def verdict(self) -> str:
        if self.target is None or self.ratio is None:
            return ""
        return "pass" if self.ratio <= self.target else "miss"

    def plain(self) -> dict[str, object]:
        return {
            "section": self.section,
            "name": self.name,
            "ratio": None if self.ratio is None else round(self.ratio, 4),
            "target": self.target,
            "verdict": self.verdict,
            "ours": self.ours,
            "over": self.theirs,
            "note": self.note,
        }


def compare(  # noqa: PLR0917 - a sentence: section, name, ours over theirs, target
    section: str, name: str, ours: float, theirs: float, target: float | None = None, note: str = ""
) -> Row:
    """A row of two times in nanoseconds."""
    return Row(
        section=section,
        name=name,
        ratio=ours / theirs,
        target=target,
        ours=in_words(ours),
        theirs=in_words(theirs),
        note=note,
    )


def settle(measure: Callable[[], list[Row]]) -> list[Row]:
    """Measure; where a row misses, twice more, since on a shared machine one miss may be somebody else's work."""
    tries = [measure()]
    if any(row.verdict == "miss" for row in tries[0]):
        tries += [measure() for _ in range(TRIES - 1)]
    return [_middle(rows) for rows in zip(*tries, strict=True)]


def _middle(rows: Sequence[Row]) -> Row:
    if len(rows) == 1 or any(row.ratio is None for row in rows):
        return rows[0]
    chosen = sorted(rows, key=lambda row: row.ratio or 0.0)[len(rows) // 2]
    tried = f"median of {len(rows)} tries"
    return replace(chosen, note=f"{chosen.note}; {tried}" if chosen.note else tried)


def interleaved(calls: Sequence[Callable[[], object]], rounds: int) -> list[float]:
    """The median nanoseconds of each call, measured in turn, so that what slows the machine slows all of them."""
    times: list[list[int]] = [[] for _ in calls]
    for _ in range(rounds):
        for call, taken in zip(calls, times, strict=True):
            gc.collect()  # what the call before left behind is not this one's cost
            taken.append(elapsed(call))
    return [median(taken) for taken in times]


def elapsed(call: Callable[[], object]) -> int:
    began = time.perf_counter_ns()
    result = call()
    ended = time.perf_counter_ns()
    del result  # letting go of it is not measured
    return ended - began


def percentile(times: Sequence[int], share: float) -> float:
    return float(sorted(times)[min(len(times) - 1, int(len(times) * share))])


def in_words(nanoseconds: float) -> str:
    if nanoseconds < 1e6:
        return f"{nanoseconds / 1e3:.0f} µs"
    if nanoseconds < 1e9:
        return f"{nanoseconds / 1e6:.1f} ms"
    return f"{nanoseconds / 1e9:.2f} s"

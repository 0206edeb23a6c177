"""The session tree over the journal: appending to and opening a long conversation; and the guard for other files."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING

import segue
from bench.measure import Row, compare, interleaved
from bench.workload import role, text
from segue.clock import utc_now
from segue.dialects.gptel.lifecycle import Sessions
from segue.dialects.gptel.paths import BranchPath, is_session_path
from segue.model import Turn
from segue.presets import SHIPPED, load_presets

if TYPE_CHECKING:
    from bench.workload import Workplace
    from segue.library import Library
    from segue.session import LiveSession

TURNS = 10_000
PATHS = 10_000
OVER_JOURNAL = 3.0
"""A text that people read is written anew now and then; the journal never is."""
GUARD_MICROSECONDS = 1.0
_ID = "long-20261115130000"
_APPENDS = 50


def measure(place: Workplace) -> list[Row]:
    folder = tempfile.mkdtemp(prefix="gptel-", dir=place.folder)
    journal, gptel = (_long_session(f"{scheme}:{folder}/{scheme}") for scheme in ("journal", "gptel"))
    sessions = Sessions(f"{folder}/gptel", load_presets([SHIPPED]))
    there = BranchPath(f"{sessions.root}/{_ID}", "main")

    with journal.open(_ID) as plain, gptel.open(_ID) as tree:
        appended = interleaved([lambda: _append(plain), lambda: _append(tree)], place.sizes.rounds)
    opened = interleaved(
        [
            lambda: journal.load(_ID),
            lambda: gptel.load(_ID),
            lambda: journal.overview(_ID),
            lambda: sessions.open(there),
        ],
        place.sizes.rounds,
    )
    paths = [f"/home/somebody/code/project-{number % 97}/src/file-{number}.py" for number in range(PATHS)]
    (guard,) = interleaved([lambda: [is_session_path(path) for path in paths]], place.sizes.rounds)
    behind = f"behind {TURNS:,} turns / journal"
    return [
        compare("gptel", f"append {behind}", appended[1] / _APPENDS, appended[0] / _APPENDS, OVER_JOURNAL),
        compare("gptel", f"load {TURNS:,} turns / journal", opened[1], opened[0]),
        compare("gptel", f"open {TURNS:,} turns for an editor / overview of the journal", opened[3], opened[2]),
        compare("gptel", "guard, one of 10,000 other paths / 1 µs", guard / PATHS, 1_000, GUARD_MICROSECONDS),
    ]


def _long_session(url: str) -> Library:
    library = segue.open(url)
    with library.create(id=_ID, agent="executor") as live:
        live.record(
            *[
                Turn(role=role(number), content=text(number), timestamp=utc_now(), tokens=None, id=f"turn-{number}")
                for number in range(TURNS)
            ]
        )
    return library


def _append(live: LiveSession) -> None:
    for _ in range(_APPENDS):
        live.add("user", "What next?")

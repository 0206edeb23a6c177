"""A check against a thousand patterns over a plain loop of fnmatch, which knows neither links nor `**`."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from bench.measure import Row, compare, interleaved
from segue.permissions import Guard
from segue.permissions.scope import Scope

if TYPE_CHECKING:
    from bench.workload import Workplace

PATTERNS = 1_000
OVER_LOOP = 0.5
_CHECKS = 200


def measure(place: Workplace) -> list[Row]:
    root = str(place.folder)
    allow = tuple(f"{root}/part-{number}/**/*.py" for number in range(PATTERNS // 2))
    deny = tuple(f"{root}/part-{number}/private-*" for number in range(PATTERNS // 2))
    guard = Guard(
        Scope(read=allow, deny=deny, shell_allow=tuple(f"tool-{n} *" for n in range(PATTERNS))),
        project_root=root,
        home=root,
    )
    path = f"{root}/part-{PATTERNS // 2 - 1}/a/b/c.py"
    assert guard.read(path).allowed
    assert guard.shell("tool-999 a | tool-998 b").allowed

    def loop() -> None:
        for _ in range(_CHECKS):
            assert not any(fnmatchcase(path, pattern) for pattern in deny)
            assert any(fnmatchcase(path, pattern) for pattern in allow)

    def ours() -> None:
        for _ in range(_CHECKS):
            guard.read(path)

    def shell() -> None:
        for _ in range(_CHECKS):
            guard.shell("tool-999 a | tool-998 b")

    loop_time, path_time, shell_time = (
        taken / _CHECKS for taken in interleaved([loop, ours, shell], place.sizes.rounds)
    )
    beside = f"{PATTERNS:,} patterns / fnmatch loop"
    return [
        compare("scope", f"path against {beside}", path_time, loop_time, OVER_LOOP),
        compare("scope", f"command against {beside}", shell_time, loop_time, OVER_LOOP),
    ]

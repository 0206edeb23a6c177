"""The peers, one process each: what an append and a load cost there, and what an acknowledged turn survives."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

import segue
from bench.peer import NAMES
from bench.trace import watch
from bench.workload import FULL

if TYPE_CHECKING:
    from bench.workload import Workplace

TITLES = {
    "segue_journal": ("segue", "Segue, journal"),
    "openai_sqlite": ("openai-agents", "openai-agents SQLiteSession"),
    "langgraph_sqlite": ("langgraph-checkpoint-sqlite", "langgraph SqliteSaver"),
    "strands_files": ("strands-agents", "strands FileSessionManager"),
    "adk_database": ("google-adk", "google-adk DatabaseSessionService"),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Compared:
    """One peer. The keys are numbers of turns, the values ratios."""

    title: str
    version: str
    append: dict[str, float] = field(default_factory=dict)
    load: dict[str, float] = field(default_factory=dict)
    survives: str = ""
    why: str = ""

    def plain(self) -> dict[str, object]:
        return {
            "peer": self.title,
            "version": self.version,
            "append_over_raw": self.append,
            "load_over_plain_read": self.load,
            "survives": self.survives,
            "why": self.why,
        }


def measure(place: Workplace) -> list[Compared]:
    compared: list[Compared] = []
    for name in NAMES:
        package, title = TITLES[name]
        try:
            found = segue.__version__ if package == "segue" else version(package)
        except PackageNotFoundError:
            compared.append(Compared(title=title, version="not installed"))
            continue
        print(f"bench: measuring {title}…", file=sys.stderr, flush=True)
        compared.append(_measure(place, name, title, found))
    return compared


def _measure(place: Workplace, name: str, title: str, found: str) -> Compared:
    folder = place.folder / name
    sizes = "full" if place.sizes == FULL else "quick"
    command = [sys.executable, "-m", "bench.peer", "measure", name, str(folder), sizes]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        return Compared(title=title, version=found, why=f"it failed: {reason}")
    ratios: dict[str, dict[str, float]] = json.loads(done.stdout.splitlines()[-1])
    traced = place.folder / f"{name}-traced"
    survival = watch(traced, [sys.executable, "-m", "bench.peer", "append", name, str(traced)])
    return Compared(
        title=title,
        version=found,
        append={key: round(value, 2) for key, value in ratios["append"].items()},
        load={key: round(value, 2) for key, value in ratios["load"].items()},
        survives=survival.verdict,
        why=survival.why,
    )

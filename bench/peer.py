"""Run in a process of its own for each peer, so that none pays for what another imported. Prints JSON.

python -m bench.peer measure NAME FOLDER SIZES      append and load, each over its raw counterpart
python -m bench.peer append NAME FOLDER             one append between two marks, to be watched by bench.trace
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import sys
import time
from pathlib import Path
from statistics import median
from typing import Protocol

from bench.measure import elapsed
from bench.workload import FULL, QUICK, Sizes, role, text

NAMES = ("segue_journal", "openai_sqlite", "langgraph_sqlite", "strands_files", "adk_database")
MARK = "/segue-bench-mark"
LONGEST_LOAD_SECONDS = 60.0

_BLOCK = 20
_LONGEST_BLOCK_NS = 1e9
_SETTLED = 3


class Peer(Protocol):
    """One conversation, kept by one library in the way its own documentation shows."""

    def __init__(self, folder: Path) -> None: ...

    def fill(self, count: int) -> None:
        """Have so many turns, by the fastest way there is: only what is there afterwards counts. Called once, first."""

    def append(self, number: int) -> None:
        """One more turn, acknowledged when this returns."""

    def load(self) -> int:
        """Read the whole conversation as a new process would; how many turns it has."""

    def close(self) -> None: ...


def make(name: str, folder: Path) -> Peer:
    folder.mkdir(parents=True)
    peer: Peer = importlib.import_module(f"bench.peers.{name}").Peer(folder)
    return peer


def measure(name: str, folder: Path, sizes: Sizes) -> dict[str, dict[str, float]]:
    return {
        "append": {str(prior): _append(name, folder / f"append-{prior}", prior, sizes) for prior in sizes.peer_prior},
        "load": _loads(name, folder, sizes),
    }


def _append(name: str, folder: Path, prior: int, sizes: Sizes) -> float:
    """An append over a raw append of a line with the same turn, in alternating blocks; of each, the quietest block.

    Everything is synced before a raw block: a sync carries what others left unsynced on the same disk, and a peer that
    does not sync would slow down its own yardstick.
    """
    peer = make(name, folder)
    peer.fill(prior)
    raw = os.open(folder / "raw", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    ours: list[float] = []
    theirs: list[float] = []
    for number in range(prior, prior + _SETTLED):
        peer.append(number)
    number, spent = prior + _SETTLED, 0
    while number - prior < sizes.peer_appends and spent < sizes.peer_budget_seconds * 1e9:
        os.sync()
        theirs.append(median(_append_raw(raw, back) for back in range(_BLOCK)))
        block: list[int] = []
        while len(block) < _SETTLED or (len(block) < _BLOCK and sum(block) < _LONGEST_BLOCK_NS):
            block.append(elapsed(lambda number=number: peer.append(number)))  # type: ignore[misc]
            number += 1
        ours.append(median(block))
        spent += sum(block)
    os.close(raw)
    _checked(peer.load(), number)
    peer.close()
    return min(ours) / min(theirs)


def _append_raw(fd: int, number: int) -> int:
    data = json_line(number)
    began = time.perf_counter_ns()
    os.write(fd, data)
    os.fdatasync(fd)
    return time.perf_counter_ns() - began


def _loads(name: str, folder: Path, sizes: Sizes) -> dict[str, float]:
    """Over a plain read of a JSON-lines file with the same turns; sizes that would take too long are left out."""
    ratios: dict[str, float] = {}
    seconds, before = 0.0, 0
    for count in sizes.peer_loads:
        if before and seconds * count / before > LONGEST_LOAD_SECONDS:
            break
        place = folder / f"load-{count}"
        peer = make(name, place)
        peer.fill(count)
        plain = place / "plain.jsonl"
        plain.write_bytes(b"".join(json_line(number) for number in range(count)))
        ours: list[int] = []
        theirs: list[int] = []
        for _ in range(_SETTLED):
            gc.collect()
            ours.append(elapsed(lambda peer=peer, count=count: _checked(peer.load(), count)))  # type: ignore[misc]
            gc.collect()
            theirs.append(elapsed(lambda plain=plain: _read_plain(plain)))  # type: ignore[misc]
            if sum(ours) > LONGEST_LOAD_SECONDS / 3 * 1e9:
                break
        peer.close()
        ratios[str(count)] = median(ours) / median(theirs)
        seconds, before = median(ours) / 1e9, count
    return ratios


def _checked(found: int, wanted: int) -> None:
    assert found == wanted, f"{found} turns, not {wanted}"


def _read_plain(path: Path) -> list[object]:
    with path.open("rb") as lines:
        return [json.loads(line) for line in lines]


def json_line(number: int) -> bytes:
    turn = {"type": "turn", "role": role(number), "content": text(number), "tokens": 60, "id": f"{number:016x}"}
    return json.dumps(turn, ensure_ascii=False).encode() + b"\n"


def append_between_marks(name: str, folder: Path) -> None:
    peer = make(name, folder)
    peer.fill(_SETTLED)
    peer.append(_SETTLED)
    os.access(MARK, os.F_OK)
    peer.append(_SETTLED + 1)
    os.access(MARK, os.F_OK)
    peer.close()


def main(verb: str, name: str, folder: str, sizes: str = "quick") -> None:
    if verb == "append":
        append_between_marks(name, Path(folder))
    else:
        print(json.dumps(measure(name, Path(folder), FULL if sizes == "full" else QUICK)))


if __name__ == "__main__":
    main(*sys.argv[1:])

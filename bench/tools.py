"""The files of AI tools: listed, searched, shown and handed over, over a plain decode of their lines; and the memory.

A file that is larger has the same ratio, since the time grows with its size, and takes no more memory.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

from bench.importing import decode
from bench.measure import Row, compare, elapsed
from bench.tool_sessions import RARE, TOOLS, write_session

if TYPE_CHECKING:
    from pathlib import Path

    from bench.workload import Workplace

MEMORY = 1.25
"""What a session of four times the size may take in memory: what is kept of each turn is its id and its place."""
SMALL_MB, LARGE_MB = 32, 500
_SESSIONS, _SESSIONS_MB = 800, 205
_QUICK_SESSIONS, _QUICK_MB, _QUICK_SMALL_MB = 80, 20, 8


class Run(NamedTuple):
    """What a process took."""

    nanoseconds: int
    megabytes: float


def measure(place: Workplace) -> list[Row]:
    is_full = place.sizes.sessions >= 10_000
    count, megabytes = (_SESSIONS, _SESSIONS_MB) if is_full else (_QUICK_SESSIONS, _QUICK_MB)
    rows = _many(place.folder / "many-tools", count, megabytes)
    small = SMALL_MB if is_full else _QUICK_SMALL_MB
    sizes = (small // 4, small, *((LARGE_MB,) if place.large else ()))
    for tool in TOOLS:
        rows += _one(place.folder / f"large-{tool}", tool, sizes)
    return rows


def _many(home: Path, count: int, megabytes: int) -> list[Row]:
    if not home.exists():
        for number in range(count):
            write_session(home, TOOLS[number % len(TOOLS)], megabytes * 1_000_000 // count, seed=number)
    what = f"{count} sessions of {len(TOOLS)} tools, {megabytes} MB"
    decoded = elapsed(lambda: _decode_all(home))
    _clear(home)
    listed, searched = _run(home, "list"), _run(home, "search", RARE)
    again = _run(home, "list")
    listing, search = f"first listing of {what} / plain decode", f"first search in {what} / plain decode"
    return [
        compare("tools", listing, listed.nanoseconds, decoded, note=_memory(listed)),
        compare("tools", search, searched.nanoseconds, decoded, note=_memory(searched)),
        compare("tools", f"second listing of {what} / the first", again.nanoseconds, listed.nanoseconds),
    ]


def _one(home: Path, tool: str, sizes: tuple[int, ...]) -> list[Row]:
    """Every size over a plain decode of its lines, and the memory of the largest over that of the smallest."""
    runs = {size: _use(home / str(size), tool, size) for size in sizes}
    rows = [
        compare("tools", f"{way}: {size} MB of {tool} / plain decode", run.nanoseconds, decoded, note=_memory(run))
        for size, (decoded, ways) in runs.items()
        for way, run in ways.items()
        if size > sizes[0]
    ]
    small, large = runs[sizes[0]][1], runs[sizes[-1]][1]
    for way, target in (("show", None if sizes[-1] >= LARGE_MB else MEMORY), ("hand over", None)):
        rows.append(
            Row(
                section="tools",
                name=f"{way}: memory for {sizes[-1]} MB of {tool} / for {sizes[0]} MB",
                ratio=large[way].megabytes / small[way].megabytes,
                target=target,
                ours=f"{large[way].megabytes:.0f} MB",
                theirs=f"{small[way].megabytes:.0f} MB",
            )
        )
    return rows


def _use(home: Path, tool: str, size: int) -> tuple[int, dict[str, Run]]:
    """The nanoseconds of a plain decode of a session of this size, and what each way to use it took."""
    id = write_session(home, tool, size * 1_000_000)
    target = "pi" if tool != "pi" else "claude"
    hand_over = ("resume", id, "--with", target, "--print")
    ways = {
        "show": ("show", id),
        "show -n 10": ("show", id, "-n", "10"),
        "hand over": hand_over,
        "hand over again": hand_over,
    }
    _clear(home)
    _install(home, target)
    _run(home, "list")
    (path,) = (home / f".{tool}").rglob("*.jsonl")
    decoded = elapsed(lambda: decode(path))
    return decoded, {name: _run(home, *way) for name, way in ways.items()}


def _run(home: Path, *arguments: str) -> Run:
    environ = {"HOME": str(home), "PATH": f"{home / 'bin'}:/usr/bin:/bin", "NO_COLOR": "1"}
    command = [sys.executable, "-m", "segue", *arguments]
    began = time.perf_counter_ns()
    process = subprocess.Popen(
        command, env=environ, cwd=home, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    assert process.stderr is not None
    complaint = process.stderr.read().decode("utf-8", "replace")
    process.stderr.close()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, complaint
    return Run(time.perf_counter_ns() - began, used.ru_maxrss / 1000)


def _decode_all(folder: Path) -> int:
    return sum(decode(path) for path in folder.rglob("*.jsonl"))


def _clear(home: Path) -> None:
    """Remove what Segue knows of it, so that everything happens for the first time."""
    for name in (".cache", ".local"):
        subprocess.run(["rm", "-rf", str(home / name)], check=True)


def _install(home: Path, name: str) -> None:
    """A program that is only looked for."""
    path = home / "bin" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("#!/bin/sh\n", encoding="ascii")
    path.chmod(0o700)


def _memory(run: Run) -> str:
    return f"{run.megabytes:.0f} MB of memory"

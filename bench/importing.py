"""A large session of Claude Code, read and copied: over a plain decode of its lines; and the memory that takes."""

from __future__ import annotations

import re
import subprocess
import sys
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

import segue
from bench.measure import Row, compare, elapsed, interleaved
from bench.tool_sessions import write_session
from segue.integrations import INTEGRATIONS
from segue.transfer.import_sessions import import_session

if TYPE_CHECKING:
    from bench.workload import Workplace

TIME, MEMORY_MB = 3.0, 100.0
FULL_BYTES, QUICK_BYTES = 200_000_000, 20_000_000


def measure(place: Workplace) -> list[Row]:
    size = FULL_BYTES if place.sizes.sessions >= 10_000 else QUICK_BYTES
    home = place.folder / "importing"
    if not home.exists():
        write_session(home, "claude", size)
    (path,) = home.glob(".claude/projects/*/*.jsonl")
    what = f"{size // 1_000_000} MB of Claude Code"
    decoded, read = interleaved([lambda: decode(path), lambda: read_all(home)], 3)
    copied = elapsed(lambda: copy(home, f"copy-{uuid.uuid4()}"))
    megabytes = _memory(home)
    return [
        compare("import", f"{what}, as turns / plain decode", read, decoded, TIME),
        compare("import", f"{what}, into a journal / plain decode", copied, decoded, note="the disk decides"),
        Row(
            section="import",
            name=f"{what}, into a journal: memory of the process",
            ratio=megabytes / MEMORY_MB,
            target=1.0,
            ours=f"{megabytes:.0f} MB",
            theirs=f"{MEMORY_MB:.0f} MB",
        ),
    ]


def decode(path: Path) -> int:
    decoder = msgspec.json.Decoder()
    with path.open("rb") as file:
        return sum(len(decoder.decode(line)) for line in file)


def read_all(home: Path) -> int:
    (kept,) = INTEGRATIONS["claude"].sessions(home, {})
    return sum(len(step.turn.content) for step in INTEGRATIONS["claude"].read(kept).turns)


def copy(home: Path, name: str) -> None:
    history = INTEGRATIONS["claude"]
    (kept,) = history.sessions(home, {})
    with segue.open(f"journal:{home / name}") as library:
        found = import_session(history, msgspec.structs.replace(kept, changed_at=0.0), library.store)
    assert not found.damages


def _memory(home: Path) -> float:
    argv = [sys.executable, "-m", "bench.importing", str(home)]
    return float(subprocess.run(argv, check=True, capture_output=True, text=True).stdout)


if __name__ == "__main__":
    copy(Path(sys.argv[1]), "fresh")
    status = Path("/proc/self/status").read_text(encoding="ascii")
    found = re.search(r"^VmHWM:\s+(\d+) kB", status, flags=re.MULTILINE)
    print(int(found[1]) / 1000 if found else 0.0)

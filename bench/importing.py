"""A large session of Claude Code, read and copied: over a plain decode of its lines; and the memory that takes."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

import segue
from bench.measure import Row, compare, elapsed, interleaved
from bench.workload import texts
from segue.integrations import INTEGRATIONS
from segue.transfer.import_sessions import import_session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.workload import Workplace

TIME, MEMORY_MB = 3.0, 100.0
FULL_BYTES, QUICK_BYTES = 200_000_000, 20_000_000
_MOMENT = "2026-01-05T09:30:00.000Z"
_RESULT_TEXTS = 48
_SESSION = str(uuid.UUID(int=7))


def measure(place: Workplace) -> list[Row]:
    size = FULL_BYTES if place.sizes.sessions >= 10_000 else QUICK_BYTES
    home = place.folder / "importing"
    path = home / ".claude" / "projects" / "-home-person-project" / f"{_SESSION}.jsonl"
    if not path.exists():
        write(path, size)
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


def write(path: Path, size: int) -> None:
    """Prompts, and for each a few calls with long results: what makes such files large."""
    path.parent.mkdir(parents=True)
    written = 0
    with path.open("wb") as file:
        for record in _records(random.Random(7)):
            line = json.dumps(record, separators=(",", ":")).encode() + b"\n"
            written += file.write(line)
            if written >= size:
                return


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


def _records(rng: random.Random) -> Iterator[dict[str, object]]:
    parent: str | None = None
    number = 0
    while True:
        number += 1
        kind = ("user", "text", "call", "result", "call", "result", "call", "result", "answer")[number % 9]
        own = str(uuid.UUID(int=rng.getrandbits(128)))
        pieces = _RESULT_TEXTS if kind == "result" else 2
        text = "\n".join(texts()[rng.randrange(len(texts()))] for _ in range(pieces))
        message: dict[str, object] = {"role": "user", "content": text}
        if kind == "result":
            message["content"] = [{"type": "tool_result", "tool_use_id": f"toolu_{number - 1}", "content": text}]
        elif kind != "user":
            block = {"type": "tool_use", "id": f"toolu_{number}", "name": "Bash", "input": {"command": text}}
            usage = {"input_tokens": 9, "output_tokens": 7, "cache_read_input_tokens": 20_000}
            said = block if kind == "call" else {"type": "text", "text": text}
            message = {"id": f"msg_{number // 2}", "role": "assistant", "model": "m", "content": [said], "usage": usage}
        record: dict[str, object] = {"parentUuid": parent, "isSidechain": False, "type": message["role"]}
        record |= {"message": message, "uuid": own, "timestamp": _MOMENT, "userType": "external"}
        yield record | {"cwd": "/home/person/project", "sessionId": _SESSION, "version": "2", "gitBranch": "main"}
        parent = own


def _memory(home: Path) -> float:
    argv = [sys.executable, "-m", "bench.importing", str(home)]
    return float(subprocess.run(argv, check=True, capture_output=True, text=True).stdout)


if __name__ == "__main__":
    copy(Path(sys.argv[1]), "fresh")
    status = Path("/proc/self/status").read_text(encoding="ascii")
    found = re.search(r"^VmHWM:\s+(\d+) kB", status, flags=re.MULTILINE)
    print(int(found[1]) / 1000 if found else 0.0)

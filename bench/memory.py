"""Run in a fresh process: how much memory the last turns of a session take. Prints one number."""

from __future__ import annotations

import re
import sys
import tracemalloc
from pathlib import Path

import segue


def main(kind: str, url: str, session_id: str, count: int) -> int:
    library = segue.open(url)
    library.store.revision(session_id)
    if kind == "traced":
        tracemalloc.start()
        library.tail(session_id, count)
        return tracemalloc.get_traced_memory()[1]
    before = _high_water_kib()
    library.tail(session_id, count)
    return _high_water_kib() - before


def _high_water_kib() -> int:
    found = re.search(r"^VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"), flags=re.MULTILINE)
    return int(found[1]) if found else 0


if __name__ == "__main__":
    print(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))

"""The end of a long session over all of it, in time and memory; and all of it over a bare decode of its bytes."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from typing import TYPE_CHECKING

import msgspec

import segue
from bench.measure import Row, compare, interleaved

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.workload import Workplace

LAST = 50
OVER_WHOLE, MEMORY_GROWTH, OVER_DECODE = 1 / 50, 1.1, 2.0


def measure(place: Workplace) -> list[Row]:
    longest, short = max(place.sizes.prior), 1_000
    library = segue.open(f"journal:{place.session(longest)}")

    def open_and_tail() -> None:
        session = library.open("s")
        assert len(session.tail(LAST)) == LAST
        session.release()

    opened, tailed, loaded = interleaved(
        [open_and_tail, lambda: library.tail("s", LAST), lambda: library.load("s")], place.sizes.rounds
    )
    few, many = _peak(place, short), _peak(place, longest)
    return [
        compare("open", f"open + tail({LAST}) of {longest:,} turns / load", opened, loaded, OVER_WHOLE),
        compare("open", f"library.tail({LAST}) of {longest:,} turns / load", tailed, loaded, OVER_WHOLE),
        Row(
            section="open",
            name=f"peak memory of tail({LAST}), {longest:,} turns / {short:,}",
            ratio=many["traced"] / few["traced"],
            target=MEMORY_GROWTH,
            ours=f"{many['traced'] / 1024:.0f} KiB",
            theirs=f"{few['traced'] / 1024:.0f} KiB",
            note=f"resident set grew by {many['resident']} and {few['resident']} KiB",
        ),
    ]


def measure_load(place: Workplace) -> list[Row]:
    longest = max(place.sizes.prior)
    root = place.session(longest)
    library = segue.open(f"journal:{root}")
    data = (root / "s.jsonl").read_bytes()
    decoder = msgspec.json.Decoder()
    bare: dict[str, Callable[[], object]] = {
        "msgspec decode_lines": lambda: decoder.decode_lines(data),
        "msgspec, line by line": lambda: [decoder.decode(line) for line in data.splitlines()],
    }
    try:
        orjson = importlib.import_module("orjson")
    except ImportError:
        missing = [Row(section="load", name="orjson, line by line", ratio=None, note="orjson is not installed")]
    else:
        missing = []
        bare["orjson, line by line"] = lambda: [orjson.loads(line) for line in data.splitlines()]
    loaded, *decoded = interleaved([lambda: library.load("s"), *bare.values()], place.sizes.rounds)
    return [
        *(
            compare("load", f"load of {longest:,} turns / {name}", loaded, taken, OVER_DECODE)
            for name, taken in zip(bare, decoded, strict=True)
        ),
        *missing,
    ]


def _peak(place: Workplace, turns: int) -> dict[str, int]:
    """Bytes that Python allocated at most, and KiB by which the resident set grew, each in a fresh process."""
    found: dict[str, int] = {}
    for kind in ("traced", "resident"):
        command = [sys.executable, "-m", "bench.memory", kind, f"journal:{place.session(turns)}", "s", str(LAST)]
        shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        found[kind] = json.loads(shown)
    return found

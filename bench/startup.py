"""The command line as a whole process over a Python that does nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bench.measure import Row, compare, interleaved

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bench.workload import Workplace

OVER_PYTHON = 5.0
_DONE = 0


def measure(place: Workplace) -> list[Row]:
    script = Path(sys.executable).with_name("segue")
    if not script.exists():
        return [Row(section="start", name="segue --version / python -c pass", ratio=None, note=f"there is no {script}")]
    store = f"journal:{place.session(1_000)}"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"SEGUE_STORE": store}
    commands: dict[str, tuple[list[str], float | None]] = {
        "segue --version": ([str(script), "--version"], OVER_PYTHON),
        "segue list": ([str(script), "list"], None),
        "segue add": ([str(script), "add", "s", "a turn"], None),
    }
    nothing = [sys.executable, "-c", "pass"]
    working = {name: command for name, (command, _) in commands.items() if _run(command, environment) == _DONE}
    times = interleaved(
        [partial(_run, command, environment) for command in (nothing, *working.values())], place.sizes.starts
    )
    taken = dict(zip(working, times[1:], strict=True))
    return [
        compare("start", f"{name} / python -c pass", taken[name], times[0], target)
        if name in taken
        else Row(section="start", name=f"{name} / python -c pass", ratio=None, note="it did not run")
        for name, (_, target) in commands.items()
    ]


def _run(command: Sequence[str], environment: Mapping[str, str]) -> int:
    quiet = subprocess.DEVNULL
    return subprocess.run(command, check=False, env=environment, stdin=quiet, stdout=quiet, stderr=quiet).returncode

"""What an agent calls again and again: whole processes over a Python that does nothing, and a plan of 5,000 tasks."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from bench.measure import Row, compare, interleaved

if TYPE_CHECKING:
    from bench.workload import Workplace

OVER_PYTHON = 6.0
OVER_SMALL_PLAN = 2.0
TASKS = 5_000
_A_STORY = 100


def measure(place: Workplace) -> list[Row]:
    small, large = _project(place.folder, 1), _project(place.folder, TASKS // _A_STORY)
    numbers = count(1)
    nothing, learn, done, next_story, large_story = interleaved(
        [
            lambda: _run([sys.executable, "-c", "pass"], small),
            lambda: _run(_agent("learn", "Tokens last an hour"), small),
            lambda: _run(_agent("task", "done", f"1.{next(numbers)}"), small),
            lambda: _run(_agent("session", "next-story"), small),
            lambda: _run(_agent("session", "next-story"), large),
        ],
        place.sizes.starts,
    )
    return [
        compare("ralph", "agent learn / python -c pass", learn, nothing, OVER_PYTHON),
        compare("ralph", "agent task done / python -c pass", done, nothing, OVER_PYTHON),
        compare("ralph", "next-story / python -c pass", next_story, nothing),
        compare("ralph", f"next-story of {TASKS:,} tasks / of {_A_STORY}", large_story, next_story, OVER_SMALL_PLAN),
    ]


def _project(parent: Path, stories: int) -> Path:
    """A new one, in which all is done but the last story: all of the plan has to be read."""
    root = Path(tempfile.mkdtemp(prefix="ralph-", dir=parent))
    plan = ""
    for story in range(1, stories + 1):
        mark = " " if story == stories else "x"
        tasks = [f"- [{mark}] {story}.{number} Do it\n" for number in range(1, _A_STORY + 1)]
        plan += f"## {story}. Part {story}\n\n{''.join(tasks)}\n"
    (root / "plan.md").write_text(plan, encoding="utf-8")
    (root / "tmp").mkdir()
    (root / ".ralph").mkdir()  # or the repository around it would be the project
    for words in (["init", "--change", "plan"], ["next-story"]):
        _run(_agent("session", *words), root)
    return root


def _agent(*words: str) -> list[str]:
    script = Path(sys.executable).with_name("ralphtool")
    here = [sys.executable, "-c", "from segue.dialects.ralph import main; main()"]
    return [*([str(script)] if script.exists() else here), "agent", *words]


def _run(command: list[str], project: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(project / "tmp"), "RALPH_SESSION": "s1"}
    quiet = subprocess.DEVNULL
    subprocess.run(command, check=True, cwd=project, env=environment, stdin=quiet, stdout=quiet)

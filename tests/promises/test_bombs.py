"""Files that would fill the memory or take for ever cost only themselves; whoever takes too much is killed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.promises.bombs import MAKERS
from tests.support.integration_homes import CLAUDE, PI, move_in

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[2]


def bounded(*arguments: str) -> str:
    """What the program says; it fails where it is killed."""
    path = os.pathsep.join([str(ROOT), *filter(None, sys.path)])
    argv = [sys.executable, "-m", "tests.promises.bombs", *arguments]
    done = subprocess.run(argv, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.returncode}: {done.stderr[-2000:]}"
    return done.stdout


@pytest.mark.parametrize("size", [20, pytest.param(200, marks=pytest.mark.long)])
@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_a_bomb_costs_only_itself(make: Callable[[Path, int], None], size: int, tmp_path: Path) -> None:
    move_in(tmp_path)
    make(tmp_path, size)
    sound = bounded("look", str(tmp_path)).splitlines()
    assert f"claude {CLAUDE}" in sound
    assert f"pi {PI}" in sound


@pytest.mark.parametrize("count", [30_000, pytest.param(80_000, marks=pytest.mark.long)])
def test_what_a_session_has_many_of_costs_what_each_of_them_costs(count: int) -> None:
    bounded("fold", str(count))

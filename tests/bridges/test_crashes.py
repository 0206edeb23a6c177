"""A call of a bridge that is killed has recorded all or nothing, and every call that returned is there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from segue.bridges import NamedSessions
from tests.bridges.crashing import run_killed, run_many

if TYPE_CHECKING:
    import pytest

PROGRAM = Path(__file__).parent / "programs" / "counting.py"
WARM = ["segue.bridges"]


def test_a_killed_program_goes_on_after_its_last_acknowledged_step(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    kills = 200 if pytestconfig.getoption("long") else 10
    acks = run_killed(PROGRAM, f"journal:{tmp_path}", "60", seed=7, kills=kills, preload=WARM)
    assert _said(tmp_path) == [str(number) for number in range(60)]
    assert set(acks) <= set(_said(tmp_path))


def test_eight_processes_on_one_thread_lose_nothing(tmp_path: Path) -> None:
    runs = [[f"journal:{tmp_path}", "25", f"p{number}-"] for number in range(8)]
    acks = run_many(PROGRAM, runs, preload=WARM)
    assert len(acks) == 200
    assert sorted(_said(tmp_path)) == sorted(acks)


def _said(folder: Path) -> list[str]:
    sessions = NamedSessions("counting", f"journal:{folder}")
    return [turn.content for turn in sessions.store.load(sessions.id_of("t")).turns]

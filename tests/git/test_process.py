"""What a program says arrives whole, however loaded the machine is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from segue import process

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("left_behind", ["", "sleep 1000 & echo $! > left; "])
def test_nothing_that_was_said_is_lost_when_a_program_ends_between_two_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left_behind: str
) -> None:
    monkeypatch.setattr(process, "_TICK_SECONDS", 0.0)  # every look comes too early
    argv = ["/bin/sh", "-c", f"{left_behind}echo said; echo told >&2"]
    ended = process.run(argv, cwd=tmp_path, environ={}, timeout_seconds=60)
    if left_behind:
        process.run(["/bin/sh", "-c", "kill $(cat left)"], cwd=tmp_path, environ={}, timeout_seconds=60)
    assert ended == process.ProcessResult(0, b"said\n", "told\n")

"""Sessions that outlive the temporary folder."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from segue.dialects.ralph.lifecycle import end_session, start_session
from segue.dialects.ralph.step_context import StepContext
from segue.dialects.ralph.store.backups import find_backup, restore_backup
from segue.errors import NotFoundError
from segue.model import EPOCH, Learning


@pytest.fixture
def step(tmp_path: Path) -> StepContext:
    (tmp_path / "login.md").write_text("## 1. Tokens\n- [ ] 1.1 Refresh\n", encoding="utf-8")
    (tmp_path / ".git").mkdir()
    return again(tmp_path)


def again(root: Path) -> StepContext:
    return StepContext(environ={"TMPDIR": str(root / "tmp")}, cwd=str(root), session="s1")


def test_what_is_recorded_is_in_the_copy_when_it_returns(step: StepContext, tmp_path: Path) -> None:
    start_session(step, "login", takeover=False, lasting=True)
    step.record(Learning(description="They last an hour", timestamp=EPOCH, id="l"))
    shutil.rmtree(tmp_path / "tmp")
    assert restore_backup(again(tmp_path).store.folder, str(tmp_path), again(tmp_path).session_id)
    assert [one.description for one in again(tmp_path).overview.learnings] == ["They last an hour"]
    assert not restore_backup(again(tmp_path).store.folder, str(tmp_path), again(tmp_path).session_id)


def test_other_sessions_have_no_copy(step: StepContext, tmp_path: Path) -> None:
    start_session(step, "login", takeover=False)
    step.record(Learning(description="They last an hour", timestamp=EPOCH, id="l"))
    assert find_backup(str(tmp_path), "s1") == ""
    shutil.rmtree(tmp_path / "tmp")
    assert not restore_backup(again(tmp_path).store.folder, str(tmp_path), again(tmp_path).session_id)
    with pytest.raises(NotFoundError):
        _ = again(tmp_path).overview


def test_the_end_of_a_session_is_the_end_of_its_copy(step: StepContext, tmp_path: Path) -> None:
    start_session(step, "login", takeover=False, lasting=True)
    assert find_backup(str(tmp_path), "s1")
    end_session(step)
    assert find_backup(str(tmp_path), "s1") == ""


def test_whoever_takes_over_a_session_that_is_gone_is_told_of_its_copy(step: StepContext, tmp_path: Path) -> None:
    start_session(step, "login", takeover=False, lasting=True)
    shutil.rmtree(tmp_path / "tmp")
    other = StepContext(environ={"TMPDIR": str(tmp_path / "tmp")}, cwd=str(tmp_path), session="s2")
    (warning,) = start_session(other, "login", takeover=False).warnings
    copy = Path(warning.rpartition("a copy is ")[2])
    assert copy == tmp_path / ".ralph" / "sessions" / "s1.json"
    assert copy.is_file()

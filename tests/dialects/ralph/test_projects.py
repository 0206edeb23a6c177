"""A session belongs to one plan: that of the project it was begun in, wherever its commands run."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING

import pytest

from tests.support.ralph_project import TASKS, Project

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def worktree(project: Project, tmp_path: Path) -> Path:
    """A second working tree with the same change."""
    second = tmp_path / "worktree"
    shutil.copytree(project.root, second)
    return second


def test_a_session_id_of_another_project_is_refused_and_not_resumed(project: Project, worktree: Path) -> None:
    project.ask("session", "init", "--change", "login")
    error = project.refused("session", "init", "--change", "login", cwd=worktree)
    assert error["code"] == "SESSION_ELSEWHERE"
    assert str(project.root) in str(error["message"])
    assert not (worktree / ".ralph").exists() or not list((worktree / ".ralph" / "locks").glob("*.lock"))
    assert project.ask("session", "init", "--change", "login")["resumed"] is True


@pytest.mark.parametrize(
    "words",
    [
        ("task", "done", "1.1"),
        ("session", "next-story"),
        ("session", "flush"),
        ("session", "status"),
        ("context",),
        ("status",),
    ],
    ids=" ".join,
)
def test_no_command_in_another_project_reads_or_ticks_the_plan_of_the_first(
    project: Project, worktree: Path, words: tuple[str, ...]
) -> None:
    project.ask("session", "init", "--change", "login")
    project.ask("session", "next-story")
    before = project.file().read_bytes()
    assert project.refused(*words, cwd=worktree)["code"] == "SESSION_ELSEWHERE"
    assert project.tasks.read_text() == TASKS
    assert (worktree / "openspec" / "changes" / "login" / "tasks.md").read_text() == TASKS
    assert project.file().read_bytes() == before
    assert project.claim.exists()


def test_a_folder_without_such_a_change_is_no_other_plan(project: Project, tmp_path: Path) -> None:
    project.ask("session", "init", "--change", "login")
    project.ask("session", "next-story")
    vendored = project.root / "vendor" / "library"
    (vendored / ".git").mkdir(parents=True)
    for folder in (vendored, tmp_path):
        assert project.ask("status", cwd=folder)["session_id"] == "s1"
    project.ask("task", "done", "1.1", cwd=vendored)
    assert "- [x] 1.1" in project.tasks.read_text()


def test_a_project_that_is_reached_by_a_link_is_the_same(project: Project, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(project.root)
    project.ask("session", "init", "--change", "login", cwd=tmp_path / "link", PWD=str(tmp_path / "link"))
    assert project.ask("session", "init", "--change", "login")["resumed"] is True


def test_a_session_follows_its_project_to_another_folder(project: Project, tmp_path: Path) -> None:
    project.ask("session", "init", "--change", "login")
    project.ask("session", "next-story")
    moved = tmp_path / "moved"
    project.root.rename(moved)
    assert project.ask("session", "init", "--change", "login", cwd=moved)["resumed"] is True
    project.ask("task", "done", "1.1", cwd=moved)
    project.ask("learn", "It moved", cwd=moved)
    project.ask("session", "flush", cwd=moved)
    change = moved / "openspec" / "changes" / "login"
    assert "- [x] 1.1" in (change / "tasks.md").read_text()
    assert "It moved" in (change / "design.md").read_text()


def test_another_temporary_folder_makes_no_second_session(project: Project, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = str(tmp_path / "other")
    project.ask("session", "init", "--change", "login")
    assert project.ask("session", "init", "--change", "login", TMPDIR=other)["resumed"] is True
    project.ask("session", "next-story", TMPDIR=other)
    project.ask("learn", "Learned in a shell with a folder of its own", TMPDIR=other)
    assert project.ask("task", "done", "1.1", TMPDIR=other)["already_done"] is False
    assert not (tmp_path / "other" / "ralph").exists()
    assert len(project.store.load("s1").learnings) == 1
    project.ask("session", "flush", TMPDIR=other)
    assert not project.file().exists()
    assert not project.claim.exists()
    assert "a folder of its own" in project.design.read_text()


def test_a_claim_that_came_with_a_clone_does_not_say_where_sessions_are(project: Project, tmp_path: Path) -> None:
    """Neither inside of the project, nor where others may write, nor under another name."""
    stranger = Project(tmp_path / "stranger")
    stranger.ask("session", "init", "--change", "login")
    inside = project.root / "ralph" / "sessions"
    elsewhere = tmp_path / "elsewhere" / "files"
    open_to_all = tmp_path / "open" / "ralph" / "sessions"
    for folder in (inside, elsewhere, open_to_all):
        shutil.copytree(stranger.sessions, folder)
        folder.chmod(0o700)
    open_to_all.chmod(0o777)
    for folder in (inside, elsewhere, open_to_all):
        claim = {"change": "login", "session": "s1", "host": os.uname().nodename, "pid": 1, "sessions": str(folder)}
        project.claim.parent.mkdir(parents=True, exist_ok=True)
        project.claim.write_text(json.dumps(claim))
        assert project.refused("status")["code"] in {"SESSION_NOT_FOUND", "STORAGE"}

"""Every scenario of ralphtool's specification of sessions, with its own commands."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING

import pytest

from segue.dialects.ralph.arguments import VERBS
from tests.support.ralph_project import Project

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_initialize_new_session(project: Project) -> None:
    answer = project.ask("session", "init", "--change", "login", session="s1")
    assert project.file("s1") == project.temporary / "ralph" / "sessions" / "s1.json"
    assert project.file("s1").is_file()
    assert json.loads(project.claim.read_bytes())["session"] == "s1"
    assert (answer["session_id"], answer["change_name"]) == ("s1", "login")
    stories = answer["stories"]
    assert isinstance(stories, list)
    assert [(story["id"], story["title"], story["tasks_total"]) for story in stories] == [
        ("1", "Tokens", 3),
        ("2", "Nothing to do", 0),
        ("3", "Docs", 1),
    ]


def test_session_already_exists_for_change(project: Project) -> None:
    project.ask("session", "init", "--change", "login", session="s1")
    error = project.refused("session", "init", "--change", "login", session="s2")
    assert error["code"] == "CHANGE_LOCKED"
    assert str(error["message"]).startswith("change login is locked by session s1 (process ")
    assert not project.file("s2").exists()


def test_invalid_change_name(project: Project) -> None:
    error = project.refused("session", "init", "--change", "logout")
    assert error["code"] == "CHANGE_NOT_FOUND"
    assert error["message"] == "there is no change 'logout'"
    assert not project.sessions.exists()


def test_get_next_story(project: Project) -> None:
    project.ask("session", "init", "--change", "login")
    project.tasks.write_text(project.tasks.read_text().replace("- [ ] 1.", "- [x] 1."))
    answer = project.ask("session", "next-story")
    project.tasks.write_text(project.tasks.read_text().replace("- [x] 1.1 ", "- [ ] 1.1 "))
    assert (answer["complete"], answer["story_id"]) == (False, "3")
    assert project.state()["current_story_id"] == "3"
    assert project.refused("task", "done", "1.1")["code"] == "TASK_OUTSIDE_STORY"
    context = project.ask("context")["story"]
    assert isinstance(context, dict)
    assert (context["id"], [task["id"] for task in context["tasks"]]) == ("3", ["3.1"])
    assert project.ask("task", "done", "3.1")["task_id"] == "3.1"
    project.ask("learn", "Written")
    learnings = project.state()["learnings"]
    assert isinstance(learnings, list)
    assert learnings[-1]["story_id"] == "3"


def test_all_stories_complete(project: Project) -> None:
    project.ask("session", "init", "--change", "login")
    project.tasks.write_text(project.tasks.read_text().replace("- [ ]", "- [x]"))
    assert project.ask("session", "next-story") == {"complete": True}


def test_flush_with_learnings(project: Project) -> None:
    project.ask("session", "init", "--change", "login")
    project.ask("learn", "Tokens last an hour", "--task", "1.1")
    project.ask("session", "flush")
    assert project.design.read_text() == "## Learnings\n\n- Tokens last an hour (task 1.1)\n"
    assert not project.claim.exists()
    assert not project.file().exists()


def test_flush_with_patterns(project: Project) -> None:
    project.ask("session", "init", "--change", "login")
    project.ask("pattern", "Retry", "Twice, then give up")
    project.ask("session", "flush")
    assert project.design.read_text() == "## Patterns\n\n- **Retry**: Twice, then give up\n"


def test_flush_empty_session(project: Project) -> None:
    project.ask("session", "init", "--change", "login")
    before = {path: path.stat() for path in project.change.iterdir()}
    assert project.ask("session", "flush")["learnings"] == 0
    assert {path: path.stat() for path in project.change.iterdir()} == before
    assert not project.claim.exists()
    assert not project.file().exists()


def test_missing_session_environment(project: Project) -> None:
    needed = {"session init": ["--change", "login"], "task done": ["1.1"], "learn": ["x"], "pattern": ["x", "y"]}
    for verb in VERBS:
        if verb != "session list":  # which is how one finds the session that one lacks
            error = project.refused(*verb.split(), *needed.get(verb, []), session=None)
            assert error["code"] == "SESSION_REQUIRED"
            assert error["message"] == "RALPH_SESSION is not set: every agent command belongs to a session"
            assert str(error["hint"]).startswith("let an orchestrator manage sessions")
    assert not project.sessions.exists()


def test_session_file_location(project: Project) -> None:
    answer = project.ask("session", "init", "--change", "login", session="s1")
    assert answer["session_file"] == str(project.temporary / "ralph" / "sessions" / "s1.json")


def test_session_state_contents(project: Project) -> None:
    project.ask("session", "init", "--change", "login", session="s1")
    project.ask("session", "next-story")
    project.ask("task", "done", "1.1")
    state = project.state()
    assert list(state)[:7] == [
        "session_id",
        "change_name",
        "current_story_id",
        "created_at",
        "learnings",
        "patterns",
        "completed_tasks",
    ]
    assert (state["session_id"], state["change_name"], state["current_story_id"]) == ("s1", "login", "1")
    assert (state["learnings"], state["patterns"], state["completed_tasks"]) == ([], [], ["1.1"])
    assert datetime.fromisoformat(str(state["created_at"])).tzinfo is not None


def test_learnings_stored_in_session(project: Project) -> None:
    project.ask("session", "init", "--change", "login")
    project.ask("learn", "Nothing is known")
    project.ask("session", "next-story")
    project.ask("learn", "Tokens last an hour", "--task", "1.1")
    learnings = project.state()["learnings"]
    assert isinstance(learnings, list)
    assert [(one["description"], one["task_id"], one["story_id"]) for one in learnings] == [
        ("Nothing is known", None, None),
        ("Tokens last an hour", "1.1", "1"),
    ]
    assert all(datetime.fromisoformat(one["timestamp"]).tzinfo for one in learnings)
    assert not project.design.exists()


def test_patterns_stored_in_session(project: Project) -> None:
    project.ask("session", "init", "--change", "login")
    project.ask("pattern", "Retry", "Twice, then give up")
    assert project.state()["patterns"] == [{"name": "Retry", "description": "Twice, then give up"}]
    assert not project.design.exists()

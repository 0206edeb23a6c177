"""What an agent does, as real processes: only its own story, each task once, and nothing else in the plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.ralph_project import TASKS

if TYPE_CHECKING:
    from tests.support.ralph_project import Project


@pytest.fixture
def begun(project: Project) -> Project:
    project.ask("session", "init", "--change", "login")
    project.ask("session", "next-story")
    return project


def test_a_task_is_ticked_once(begun: Project) -> None:
    done = begun.ask("task", "done", "1.1")
    assert done["already_done"] is False
    assert done["story"] == {"id": "1", "title": "Tokens", "tasks_done": 1, "tasks_total": 3, "complete": False}
    assert begun.tasks.read_text() == TASKS.replace("[ ] 1.1 ", "[x] 1.1 ")
    assert begun.ask("task", "done", "1.1")["already_done"] is True
    assert begun.state()["completed_tasks"] == ["1.1"]
    assert len(begun.store.load("s1").tasks_done) == 1


def test_a_task_of_another_story_is_refused(begun: Project) -> None:
    assert begun.refused("task", "done", "3.1")["code"] == "TASK_OUTSIDE_STORY"
    assert begun.refused("task", "done", "9.9")["code"] == "TASK_NOT_FOUND"
    assert begun.tasks.read_text() == TASKS


def test_a_number_that_several_tasks_have_means_the_one_of_the_story(begun: Project) -> None:
    begun.tasks.write_text("## 1. A\n\n- [ ] 1 one\n- [ ] 1 two\n\n## 2. B\n\n- [ ] 1 three\n- [ ] 2 four\n")
    assert begun.ask("task", "done", "1", RALPH_STORY="2")["already_done"] is False
    assert begun.tasks.read_text().count("[x]") == begun.tasks.read_text().count("[x] 1 three") == 1
    assert begun.refused("task", "done", "2")["code"] == "TASK_OUTSIDE_STORY"
    for task in ("1", "1-2"):
        assert begun.ask("task", "done", task)["already_done"] is False
    assert begun.tasks.read_text().count("[x]") == 3
    assert {(one.story_id, one.task_id) for one in begun.store.load("s1").tasks_done} == {
        ("1", "1"),
        ("1", "1-2"),
        ("2", "1"),
    }


def test_the_story_can_be_named(begun: Project) -> None:
    assert begun.ask("task", "done", "3.1", RALPH_STORY="3")["already_done"] is False
    assert begun.ask("task", "done", "3.1", "--story", "3")["already_done"] is True
    assert begun.refused("task", "done", "1.1", "--story", "7")["code"] == "STORY_NOT_FOUND"


def test_without_a_story_nothing_is_ticked(project: Project) -> None:
    project.ask("session", "init", "--change", "login")
    assert project.refused("task", "done", "1.1")["code"] == "STORY_REQUIRED"


def test_the_last_task_completes_the_story_and_the_change(begun: Project) -> None:
    answers = [begun.ask("task", "done", task) for task in ("1.1", "1.2", "1.10")]
    story = answers[-1]["story"]
    assert isinstance(story, dict)
    assert (story["complete"], answers[-1]["complete"]) == (True, False)
    assert begun.ask("session", "next-story")["story_id"] == "3"
    assert begun.ask("task", "done", "3.1")["complete"] is True
    assert begun.ask("session", "next-story") == {"complete": True}
    assert begun.state()["current_story_id"] is None


def test_the_context_holds_all_that_an_agent_needs(begun: Project) -> None:
    (begun.change / "proposal.md").write_text("## Why\n\nTokens expire.\n")
    (begun.change / "specs" / "auth").mkdir(parents=True)
    (begun.change / "specs" / "auth" / "spec.md").write_text("### Requirement: R\n#### Scenario: S\n- **WHEN** x\n")
    begun.ask("learn", "Tokens last an hour", "--task", "1.1")
    begun.ask("pattern", "Retry", "Twice, then give up")
    context = begun.ask("context")
    story = context["story"]
    assert isinstance(story, dict)
    assert [task["id"] for task in story["tasks"]] == ["1.1", "1.2", "1.10"]
    assert context["documents"] == {"proposal": "## Why\n\nTokens expire.\n"}
    assert context["scenarios"] == [{"capability": "auth", "requirement": "R", "title": "S", "text": "- **WHEN** x"}]
    assert context["patterns"] == [{"name": "Retry", "description": "Twice, then give up"}]
    assert begun.state()["learnings"] == context["learnings"]


def test_an_agent_may_be_anywhere(begun: Project) -> None:
    below = begun.root / "src" / "deep"
    below.mkdir(parents=True)
    assert begun.ask("task", "done", "1.1", cwd=below)["already_done"] is False
    assert begun.ask("status", cwd=begun.temporary)["tasks_done"] == 1
    assert begun.ask("status", "--session", "s1", session=None)["current_story_id"] == "1"

"""What an orchestrator does, as real processes: begin, iterate, end, and who has which change."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import segue
from segue.model import Learning

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.ralph_project import Project


def test_init_again_with_the_same_session_goes_on(project: Project) -> None:
    assert project.ask("session", "init", "--change", "login")["resumed"] is False
    project.ask("learn", "Tokens last an hour")
    again = project.ask("session", "init", "--change", "login")
    assert (again["resumed"], again["warnings"]) == (True, [])
    assert len(project.store.load("s1").learnings) == 1


def test_a_session_belongs_to_one_change(project: Project) -> None:
    (project.root / "TODO.md").write_text("## A\n- [ ] b\n")
    project.ask("session", "init", "--change", "login")
    assert project.refused("session", "init", "--change", "TODO")["code"] == "SESSION_EXISTS"
    assert [path.name for path in project.claim.parent.glob("*.lock")] == ["login.lock"]


def test_a_plan_in_one_file_works_as_well(project: Project) -> None:
    (project.root / "TODO.md").write_text("## Pack\n- [ ] Towel\n- [ ] Sun cream\n")
    project.ask("session", "init", "--change", "TODO")
    assert project.ask("session", "next-story")["story_id"] == "pack"
    assert project.ask("task", "done", "sun-cream")["already_done"] is False
    assert (project.root / "TODO.md").read_text() == "## Pack\n- [ ] Towel\n- [x] Sun cream\n"


def test_of_many_inits_at_once_one_wins_and_the_others_leave_nothing(project: Project) -> None:
    running = {f"s{n}": project.start("session", "init", "--change", "login", session=f"s{n}") for n in range(8)}
    (winner,) = [name for name, process in running.items() if process.is_answered()]
    assert [path.name for path in project.sessions.glob("*.json")] == [f"{winner}.json"]
    assert json.loads(project.claim.read_bytes())["session"] == winner


def test_a_stale_claim_is_taken_over_with_a_warning_by_one_of_many(project: Project) -> None:
    project.ask("session", "init", "--change", "login", session="old")
    project.file("old").unlink()  # as after a reboot
    running = {f"s{n}": project.start("session", "init", "--change", "login", session=f"s{n}") for n in range(6)}
    (winner,) = [name for name, process in running.items() if process.is_answered()]
    assert json.loads(project.claim.read_bytes())["session"] == winner


def test_the_warning_says_whose_claim_it_was(project: Project) -> None:
    project.ask("session", "init", "--change", "login", session="old")
    project.file("old").unlink()
    answer = project.ask("session", "init", "--change", "login")
    assert answer["warnings"] == ["the change was taken over from session old: its file is gone, as after a reboot"]


def test_a_takeover_on_purpose_stops_the_other_session_and_loses_nothing(project: Project) -> None:
    project.ask("session", "init", "--change", "login", session="old")
    project.ask("session", "next-story", session="old")
    answer = project.ask("session", "init", "--change", "login", "--takeover")
    assert answer["warnings"] == ["the change was taken over from session old: on purpose"]
    for words in (["task", "done", "1.1"], ["session", "next-story"]):
        assert project.refused(*words, session="old")["code"] == "CHANGE_LOCKED"
    project.ask("learn", "Tokens last an hour", session="old")
    project.ask("session", "flush", session="old")
    assert "- Tokens last an hour (story 1)\n" in project.design.read_text()
    assert json.loads(project.claim.read_bytes())["session"] == "s1"


def test_sessions_and_claims_are_listed(project: Project) -> None:
    assert project.ask("session", "list", session=None) == {"sessions": [], "claims": []}
    project.ask("session", "init", "--change", "login")
    project.file("torn").write_text("{")
    listed = project.ask("session", "list", session=None)
    sessions, claims = listed["sessions"], listed["claims"]
    assert isinstance(sessions, list)
    assert isinstance(claims, list)
    assert sorted(one["session_id"] for one in sessions) == ["s1", "torn"]
    assert [(one["change"], one["session"], one["stale"]) for one in claims] == [("login", "s1", False)]


def test_a_released_change_can_be_claimed_and_the_session_taken_up(project: Project) -> None:
    project.ask("session", "init", "--change", "login")
    project.ask("learn", "Tokens last an hour")
    assert project.ask("session", "release")["released"] is True
    assert not project.claim.exists()
    assert project.ask("session", "release", "--change", "login", session=None)["released"] is False
    project.ask("session", "init", "--change", "login")
    assert len(project.store.load("s1").learnings) == 1


def test_a_flush_that_fails_keeps_the_session_and_the_claim(project: Project) -> None:
    project.ask("session", "init", "--change", "login")
    project.ask("learn", "Tokens last an hour")
    project.design.mkdir()
    assert project.refused("session", "flush")["code"] == "STORAGE"
    assert project.claim.exists()
    assert len(project.store.load("s1").learnings) == 1
    project.design.rmdir()
    assert project.ask("session", "flush")["learnings"] == 1


def test_flush_keeps_the_session_in_a_lasting_store(project: Project, tmp_path: Path) -> None:
    project.ask("session", "init", "--change", "login")
    project.ask("learn", "Tokens last an hour")
    before = project.store.load("s1")
    assert project.ask("session", "flush", "--keep", f"journal:{tmp_path}/kept")["kept"] == f"journal:{tmp_path}/kept"
    assert segue.open(f"journal:{tmp_path}/kept").load("s1") == before
    assert not project.file().exists()


def test_status_tells_everything(project: Project) -> None:
    project.ask("session", "init", "--change", "login")
    project.ask("session", "next-story")
    project.ask("task", "done", "1.10")
    status = project.ask("session", "status")
    assert (status["current_story_id"], status["completed_tasks"]) == ("1", ["1.10"])
    assert (status["tasks_done"], status["tasks_total"], status["stories_complete"]) == (1, 4, 1)


def test_32_processes_at_once_lose_nothing(project: Project) -> None:
    tasks = [f"1.{number}" for number in range(1, 13)]
    project.tasks.write_text("## 1. All\n" + "".join(f"- [ ] {task} t\n" for task in tasks))
    project.ask("session", "init", "--change", "login")
    project.ask("session", "next-story")
    running = [project.start("task", "done", task) for task in tasks]
    running += [project.start("learn", f"learning {number}") for number in range(10)]
    running += [project.start("pattern", f"pattern {number}", "words") for number in range(10)]
    for process in running:
        process.answer()
    assert project.tasks.read_text() == "## 1. All\n" + "".join(f"- [x] {task} t\n" for task in tasks)
    session = project.store.load("s1")
    assert sorted(task.task_id for task in session.tasks_done) == sorted(tasks)
    assert {one.description for one in session.learnings} == {f"learning {number}" for number in range(10)}
    assert {one.name for one in session.patterns} == {f"pattern {number}" for number in range(10)}


def test_what_is_learned_while_a_flush_runs_is_flushed_or_refused(project: Project) -> None:
    project.ask("session", "init", "--change", "login")
    project.ask("learn", "learning 0")
    running = {f"learning {number}": project.start("learn", f"learning {number}") for number in range(1, 5)}
    flushing = project.start("session", "flush")
    recorded = {text for text, process in running.items() if process.is_answered()}
    flushing.answer()
    written = {line[2:] for line in project.design.read_text().splitlines() if line.startswith("- ")}
    assert written == {"learning 0", *recorded}


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["bogus"], "USAGE"),
        (["learn"], "USAGE"),
        (["learn", " "], "USAGE"),
        (["session", "init"], "USAGE"),
        (["session", "init", "--change", "../x"], "INVALID_NAME"),
        (["session", "next-story"], "SESSION_NOT_FOUND"),
        (["learn", "x", "--session", "a/b"], "INVALID_NAME"),
        (["session", "init", "--change", "login", "--session", ".."], "INVALID_NAME"),
    ],
)
def test_a_mistake_is_told_with_its_code_and_what_to_do(project: Project, words: list[str], code: str) -> None:
    error = project.refused(*words)
    assert error["code"] == code
    assert not project.sessions.exists()


def test_a_damaged_session_is_named_and_left_alone(project: Project) -> None:
    project.ask("session", "init", "--change", "login")
    data = project.file().read_bytes()
    broken = data.replace(b'"login"', b'"logim"', 1)
    project.file().write_bytes(broken)
    assert project.refused("learn", "x")["code"] == "SESSION_DAMAGED"
    assert project.file().read_bytes() == broken


def test_a_temporary_folder_that_is_not_ours_is_refused(project: Project) -> None:
    project.sessions.mkdir(parents=True)
    project.sessions.chmod(0o777)
    error = project.refused("session", "init", "--change", "login")
    assert error["code"] == "STORAGE"
    assert "other users may enter it" in str(error["message"])


def test_a_learning_of_any_bytes_is_kept(project: Project) -> None:
    project.ask("session", "init", "--change", "login")
    project.ask("learn", "odd \udcff \x1b[31m\n## heading <!-- ")
    (learning,) = project.store.load("s1").learnings
    assert isinstance(learning, Learning)
    assert learning.description == "odd \udcff \x1b[31m\n## heading <!-- "
    project.ask("session", "flush")
    assert project.design.read_text() == "## Learnings\n\n- odd \\udcff \\x1b[31m\n  \\## heading &lt;!--\n"

"""The two adapters over real files: exact, atomic, and never over what a person wrote."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from segue.dialects.ralph.openspec import (
    ChangeNotFoundError,
    Plan,
    StoryNotFoundError,
    TaskNotFoundError,
    find_changes,
    open_plan,
)
from segue.durable.file_edit import edit_file
from segue.durable.folder import Folder
from segue.errors import ConflictError, InvalidIdError, StorageError
from segue.model import Learning, Pattern

if TYPE_CHECKING:
    from pathlib import Path

NOW = datetime(2026, 1, 5, 9, 30, tzinfo=UTC)
TASKS = (
    b"# Tasks\r\n\r\n## 1. Log in\r\n- [ ] 1.1 Refresh\xff\r\n- [ ] 1.10 Last  \r\n\r\n## 2. Docs\r\n- [ ] 2.1 Write"
)
SPEC = """## ADDED Requirements

### Requirement: Session expiry

The system SHALL refresh.

#### Scenario: In time

- **WHEN** five minutes are left
- **THEN** it refreshes

#### Scenario: Too late

- **WHEN** it is over

### Requirement: Audit trail

#### Scenario: Written down

- **THEN** it is
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "openspec" / "changes" / "login"
    (folder / "specs" / "auth").mkdir(parents=True)
    (folder / "tasks.md").write_bytes(TASKS)
    (folder / "specs" / "auth" / "spec.md").write_text(SPEC)
    return folder


def locks(project: Path) -> Folder:
    return Folder(str(project)).sub(".ralph").sub("locks")


def plan_of(project: Path, change: str = "login") -> Plan:
    return open_plan(str(project), change, locks=locks(project), clock=lambda: NOW)


def learning(text: str, *, task_id: str | None = None, story_id: str | None = None) -> Learning:
    return Learning(description=text, task_id=task_id, story_id=story_id, timestamp=NOW, id=text)


def test_a_tick_changes_one_byte_and_keeps_the_mode(tmp_path: Path, folder: Path) -> None:
    (folder / "tasks.md").chmod(0o664)
    assert plan_of(tmp_path).mark("1", "1.1")
    assert (folder / "tasks.md").read_bytes() == TASKS.replace(b"[ ] 1.1 ", b"[x] 1.1 ")
    assert (folder / "tasks.md").stat().st_mode & 0o777 == 0o664
    assert [path.name for path in folder.iterdir() if path.name.startswith(".")] == []


def test_a_second_tick_writes_nothing(tmp_path: Path, folder: Path) -> None:
    plan_of(tmp_path).mark("1", "1.1")
    before = (folder / "tasks.md").stat()
    assert not plan_of(tmp_path).mark("1", "1.1")
    assert (folder / "tasks.md").stat() == before


def test_a_task_that_is_missing_changes_nothing(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(TaskNotFoundError, match="there is no task '7'"):
        plan_of(tmp_path).mark("1", "7")
    assert (folder / "tasks.md").read_bytes() == TASKS


def test_what_a_person_writes_meanwhile_is_kept(tmp_path: Path, folder: Path) -> None:
    path = folder / "tasks.md"
    seen: list[bytes] = []

    def change(data: bytes) -> bytes:
        seen.append(data)
        if len(seen) == 1:
            path.write_bytes(TASKS + b"\n- [ ] 2.2 A person was here\n")
        return data.replace(b"[ ] 1.1 ", b"[x] 1.1 ")

    assert edit_file(Folder(str(folder)), "tasks.md", change, locks=locks(tmp_path), now=NOW)
    expected = TASKS.replace(b"[ ] 1.1 ", b"[x] 1.1 ") + b"\n- [ ] 2.2 A person was here\n"
    assert path.read_bytes() == expected
    assert len(seen) == 2


def test_a_file_that_never_holds_still_is_left_to_the_person(tmp_path: Path, folder: Path) -> None:
    path = folder / "tasks.md"

    def change(data: bytes) -> bytes:
        path.write_bytes(data + b"more\n")
        return data + b"ours\n"

    with pytest.raises(ConflictError, match="keeps being changed"):
        edit_file(Folder(str(folder)), "tasks.md", change, locks=locks(tmp_path), now=NOW)
    assert b"ours" not in path.read_bytes()
    assert sorted(found.name for found in folder.iterdir()) == ["specs", "tasks.md"]


def test_a_link_in_the_place_of_the_plan_is_not_followed(tmp_path: Path, folder: Path) -> None:
    (folder / "tasks.md").rename(tmp_path / "elsewhere.md")
    (folder / "tasks.md").symlink_to(tmp_path / "elsewhere.md")
    with pytest.raises(StorageError, match="symbolic link"):
        plan_of(tmp_path).mark("1", "1.1")
    assert (tmp_path / "elsewhere.md").read_bytes() == TASKS


TICKER = """
import sys
from segue.clock import utc_now
from segue.durable.folder import Folder
from segue.dialects.ralph.openspec import open_plan
project, task = sys.argv[1:]
open_plan(project, "login", locks=Folder(project).sub(".ralph").sub("locks"), clock=utc_now).mark("1", task)
"""


def test_many_processes_tick_each_their_own_box(tmp_path: Path, folder: Path) -> None:
    (folder / "tasks.md").write_text("## 1. A\n" + "".join(f"- [ ] 1.{n} t\n" for n in range(1, 17)))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", TICKER, str(tmp_path)]
    running = [subprocess.Popen([*command, f"1.{n}"], env=environment) for n in range(1, 17)]
    assert [process.wait() for process in running] == [0] * 16
    assert (folder / "tasks.md").read_text() == "## 1. A\n" + "".join(f"- [x] 1.{n} t\n" for n in range(1, 17))


def test_a_change_that_is_removed_meanwhile_is_told(tmp_path: Path, folder: Path) -> None:
    spec = plan_of(tmp_path)
    folder.rename(tmp_path / "archived")
    with pytest.raises(StoryNotFoundError):
        spec.mark("1", "1.1")
    with pytest.raises(StorageError, match="it does not exist"):
        spec.write_learnings([learning("New")])


def test_what_was_learned_goes_to_the_design(tmp_path: Path, folder: Path) -> None:
    (folder / "design.md").write_bytes(b"# Design\r\n\r\n## Learnings\r\n\r\n- old\r\n\r\n## Risks\r\n\r\nNone.\r\n")
    spec = plan_of(tmp_path)
    spec.write_learnings([learning("New\n# thing", task_id="1.1"), learning("Other", story_id="2"), learning("Third")])
    spec.write_patterns([Pattern(name="Retry", description="twice", timestamp=NOW, id="p")])
    assert (folder / "design.md").read_bytes() == (
        b"# Design\r\n\r\n## Learnings\r\n\r\n- old\r\n- New\r\n  \\# thing (task 1.1)\r\n- Other (story 2)\r\n"
        b"- Third\r\n\r\n## Risks\r\n\r\nNone.\r\n\r\n## Patterns\r\n\r\n- **Retry**: twice\r\n"
    )


def test_a_missing_design_is_made(tmp_path: Path, folder: Path) -> None:
    plan_of(tmp_path).write_learnings([learning("New")])
    assert (folder / "design.md").read_text() == "## Learnings\n\n- New\n"


def test_scenarios_of_a_story_are_those_it_names_or_all(tmp_path: Path, folder: Path) -> None:
    (folder / "tasks.md").write_text("## 1. Session expiry\n- [ ] 1.1 x\n## 2. Other\n- [ ] 2.1 y\n")
    spec = plan_of(tmp_path)
    first, second = spec.stories()
    assert [(one.requirement, one.title) for one in spec.scenarios(first)] == [
        ("Session expiry", "In time"),
        ("Session expiry", "Too late"),
    ]
    assert spec.scenarios(first)[0].text == "- **WHEN** five minutes are left\n- **THEN** it refreshes"
    assert [one.title for one in spec.scenarios(second)] == ["In time", "Too late", "Written down"]


def test_the_context_is_what_is_there(tmp_path: Path, folder: Path) -> None:
    assert plan_of(tmp_path).context() == {}
    (folder / "proposal.md").write_text("## Why\n")
    assert plan_of(tmp_path).context() == {"proposal": "## Why\n"}


def test_a_checklist_in_one_file_is_a_plan(tmp_path: Path) -> None:
    (tmp_path / "TODO.md").write_text("# Trip\n\nTo the sea.\n\n## Pack\n\n* [ ] Towel\n\n## Go\n\n1. [ ] Drive\n")
    spec = plan_of(tmp_path, "TODO")
    assert [story.id for story in spec.stories()] == ["pack", "go"]
    assert spec.context() == {"plan": "# Trip\n\nTo the sea."}
    assert spec.scenarios(spec.stories()[0]) == ()
    assert spec.mark("pack", "towel")
    spec.write_learnings([learning("[ ] Sand is everywhere")])
    assert (tmp_path / "TODO.md").read_text() == (
        "# Trip\n\nTo the sea.\n\n## Pack\n\n* [x] Towel\n\n## Go\n\n1. [ ] Drive\n"
        "\n## Learnings\n\n- \\[ ] Sand is everywhere\n"
    )
    assert [story.id for story in plan_of(tmp_path, "TODO.md").stories()] == ["pack", "go"]


def test_a_change_that_is_not_there_is_not_found(tmp_path: Path, folder: Path) -> None:
    assert folder.is_dir()
    with pytest.raises(ChangeNotFoundError) as caught:
        plan_of(tmp_path, "logout")
    assert caught.value.hint == "did you mean login?"
    assert find_changes(str(tmp_path)) == ["login"]
    with pytest.raises(ChangeNotFoundError):
        plan_of(tmp_path, "archive")


@pytest.mark.parametrize("name", ["../login", "a/b", "", ".", "-x"])
def test_the_name_of_a_change_is_no_path(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidIdError, match="invalid change name"):
        plan_of(tmp_path, name)

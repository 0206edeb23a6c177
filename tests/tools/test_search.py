"""Finding text in the files that the scope allows, and in no other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.support.tool_project import ToolProject


@pytest.fixture(autouse=True)
def root(project: ToolProject) -> None:
    project.allow()
    (project.root / "src").mkdir()
    (project.root / "src" / "login.py").write_text("import os\ntoken = read()\n")
    (project.root / "README.md").write_text("The token expires.\n")
    (project.root / ".env").write_text("token=secret\n")
    (project.root / "picture").write_bytes(b"token\x00")


def test_every_line_comes_with_its_place_and_secrets_stay_closed(project: ToolProject) -> None:
    assert project.do("search_files", text="token").content.split("\n") == [
        "README.md:1: The token expires.",
        "src/login.py:2: token = read()",
        "[lines: 2, files: 3; out of scope: 1]",
    ]


def test_names_and_folders_narrow_it_down(project: ToolProject) -> None:
    assert project.do("search_files", text="token", name="*.py").content.startswith("src/login.py:2:")
    assert "[lines: 1, files: 1]" in project.do("search_files", text="token", path="src").content
    assert "[lines: 1, files: 1]" in project.do("search_files", text="token", path="README.md").content
    assert project.do("search_files", text="to.en").content.startswith("[lines: 0")


def test_links_are_not_followed(project: ToolProject) -> None:
    (project.outside / "more").write_text("token\n")
    (project.root / "link").symlink_to(project.outside)
    assert "more" not in project.do("search_files", text="token").content


def test_what_is_found_is_limited_and_says_so(project: ToolProject) -> None:
    (project.root / "many").write_text("token\n" * 1000)
    found = project.do("search_files", project.executor(limit=500), text="token").content
    assert len(found) < 700
    assert found.endswith("there may be more]")


def test_a_folder_allowed_once_is_searched_without_what_is_denied(project: ToolProject) -> None:
    (project.outside / "a").write_text("token\n")
    (project.outside / ".env").write_text("token\n")
    project.approver.widens = "once"
    found = project.do("search_files", text="token", path=str(project.outside)).content
    assert found.endswith("a:1: token\n[lines: 1, files: 1; out of scope: 1]")


def test_a_folder_added_to_the_scope_is_added_with_all_that_is_in_it(project: ToolProject) -> None:
    (project.outside / "a").write_text("token\n")
    project.approver.widens = "add"
    assert "a:1: token" in project.do("search_files", text="token", path="../outside").content
    assert len(project.approver.asked) == 1
    assert "a:1: token" in project.do("search_files", text="token", path="../outside").content
    assert len(project.approver.asked) == 1

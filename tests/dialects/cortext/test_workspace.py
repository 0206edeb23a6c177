"""Where a workspace is, and what its files may say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from segue.dialects.cortext.workspace import Workspace, WorkspaceConfig, find_workspace, make_workspace
from segue.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

BUILT_IN = ("brainstorm", "debug", "learn", "meeting", "plan", "review")


def with_type(root: Path, name: str, text: str) -> Workspace:
    folder = root / ".workspace" / "types"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(text, encoding="utf-8")
    return Workspace(root)


def test_a_workspace_is_found_from_any_folder_inside_it(tmp_path: Path) -> None:
    made = make_workspace(tmp_path)
    deep = tmp_path / "conversations" / "2025-11-22"
    deep.mkdir(parents=True)
    assert find_workspace(deep) == made == find_workspace(tmp_path)


def test_the_nearest_workspace_wins(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    inner = make_workspace(tmp_path / "inner")
    assert find_workspace(tmp_path / "inner") == inner


def test_outside_of_a_workspace_there_is_none(tmp_path: Path) -> None:
    assert find_workspace(tmp_path) is None


def test_making_a_workspace_again_changes_nothing(tmp_path: Path) -> None:
    make_workspace(tmp_path, tool="codex")
    config = tmp_path / ".workspace" / "config.toml"
    config.write_text('tool = "gemini"\ncommit = false\nidle_minutes = 0.5\n', encoding="utf-8")
    assert make_workspace(tmp_path).config == WorkspaceConfig(tool="gemini", commit=False, idle_minutes=0.5)


def test_a_new_workspace_commits_and_pauses_after_five_minutes(tmp_path: Path) -> None:
    assert make_workspace(tmp_path).config == WorkspaceConfig(tool="", commit=True, idle_minutes=5)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("commit = 1", "line 1: commit must be true or false"),
        ("\ntool = 5", "line 2: tool must be a text"),
        ("idle_minutes = -1", "line 1: idle_minutes must be a number of minutes"),
        ("idle_minutes = true", "line 1: idle_minutes must be a number of minutes"),
        ("idle_minutes = nan", "line 1: idle_minutes must be a number of minutes"),
        ("colour = 1", "line 1: there is no setting 'colour'"),
        ("commit", "it is not TOML"),
    ],
)
def test_a_wrong_setting_is_named_with_its_place(tmp_path: Path, text: str, words: str) -> None:
    make_workspace(tmp_path)
    (tmp_path / ".workspace" / "config.toml").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=words):
        find_workspace(tmp_path)


def test_the_types_that_every_workspace_has(tmp_path: Path) -> None:
    types = make_workspace(tmp_path).types()
    assert types.names == BUILT_IN
    assert types.problems == ()
    assert all(type.system_prompt and type.description for type in types)


def test_a_type_of_ones_own_takes_the_place_of_a_built_in_one(tmp_path: Path) -> None:
    workspace = with_type(tmp_path, "plan", "Plan in verse.")
    assert workspace.get_type("plan").system_prompt == "Plan in verse."
    assert with_type(tmp_path, "retro", "Look back.").get_type("retro").system_prompt == "Look back."


def test_an_unknown_type_is_told_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no conversation type 'retro'") as raised:
        make_workspace(tmp_path).get_type("retro")
    assert "brainstorm, debug" in raised.value.hint


def test_a_broken_type_says_why(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no end"):
        with_type(tmp_path, "retro", "---\nname: retro\n").get_type("retro")


def test_a_type_that_no_file_can_be_called_after_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be a conversation type"):
        with_type(tmp_path, "retro", "---\nname: ../retro\n---\nLook back.").get_type("../retro")

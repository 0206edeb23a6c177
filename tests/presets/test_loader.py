"""Folders of presets: which file wins, and what a bad one costs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from segue.errors import NotFoundError
from segue.presets import Presets, load_presets
from segue.presets.loader import FILES, SIZE_BYTES

if TYPE_CHECKING:
    from pathlib import Path


def lay(folder: Path, **texts: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    return folder


def named(name: str, prompt: str = "x") -> str:
    return f"---\nname: {name}\n---\n{prompt}"


def reasons(presets: Presets) -> list[str]:
    return [str(problem) for problem in presets.problems]


def test_presets_come_from_every_folder_and_the_first_wins(tmp_path: Path) -> None:
    project = lay(tmp_path / "project", reviewer=named("reviewer", "the project's"))
    user = lay(tmp_path / "user", other=named("reviewer", "the user's"), tester=named("tester"))
    presets = load_presets([project, str(user), tmp_path / "missing"])
    assert presets.names == ("reviewer", "tester")
    assert [preset.name for preset in presets] == ["reviewer", "tester"]
    assert presets.get("reviewer").system_prompt == "the project's"
    assert presets.get("tester").path == f"{user}/tester.md"
    assert presets.problems == ()


def test_of_two_files_with_one_name_in_one_folder_the_second_is_a_problem(tmp_path: Path) -> None:
    lay(tmp_path, a=named("same", "first"), b=named("same", "second"))
    presets = load_presets([tmp_path])
    assert presets.get("same").system_prompt == "first"
    assert reasons(presets) == [f"{tmp_path}/b.md: the name 'same' is taken by {tmp_path}/a.md"]


def test_an_unknown_name_says_what_there_is_and_what_is_near(tmp_path: Path) -> None:
    presets = load_presets([lay(tmp_path, reviewer="x", tester="y")])
    with pytest.raises(NotFoundError, match="no agent 'Reviwer'") as missing:
        presets.get("Reviwer")
    assert missing.value.hint == "did you mean reviewer? available: reviewer, tester"
    assert missing.value.near == ("reviewer",)
    assert presets.find("Reviwer") is None


def test_an_unknown_name_is_found_out_where_there_is_nothing_at_all(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError) as missing:
        load_presets([tmp_path]).get("reviewer")
    assert missing.value.hint == "there are none"


def test_a_name_whose_file_is_broken_says_so(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"reviewer\.md line 2: temperature must be a number"):
        load_presets([lay(tmp_path, reviewer="---\ntemperature: hot\n---\nx")]).get("reviewer")


def test_a_bad_file_costs_only_itself(tmp_path: Path) -> None:
    lay(
        tmp_path,
        good=named("good"),
        empty="",
        blank="\ufeff\r\n  \n",
        hollow="---\n---\n",
        open="---\nname: a\n",
        yaml="---\nname: ok\ntools: [\n---\n",
        field="---\nname: x\nmodel: 5\n---\n",
    )
    (tmp_path / "latin.md").write_bytes("one\ncafé".encode("latin-1"))
    (tmp_path / "wide.md").write_bytes("wide".encode("utf-16"))
    (tmp_path / "large.md").write_bytes(b"x" * (SIZE_BYTES + 1))
    presets = load_presets([tmp_path])
    assert presets.names == ("good",)
    told = {problem.path.removeprefix(f"{tmp_path}/"): (problem.line, problem.reason) for problem in presets.problems}
    assert told.pop("yaml.md")[0] == 3
    assert told == {
        "blank.md": (0, "it is empty"),
        "empty.md": (0, "it is empty"),
        "field.md": (3, "model must be a text, not 5: put it in quotes"),
        "hollow.md": (0, "it is empty"),
        "large.md": (0, "it is larger than 1024 KB"),
        "latin.md": (2, "it is not UTF-8"),
        "open.md": (1, "its front matter has no end: a line with only ---"),
        "wide.md": (1, "it is not UTF-8"),
    }


def test_pipes_folders_and_links_to_nowhere_are_problems_and_nobody_waits(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "folder.md").mkdir()
    (tmp_path / "dangling.md").symlink_to("nowhere.md")
    (tmp_path / "circle.md").symlink_to("circle.md")
    presets = load_presets([tmp_path])
    assert len(presets) == 0
    assert sorted(problem.path.rpartition("/")[2] for problem in presets.problems) == [
        "circle.md",
        "dangling.md",
        "folder.md",
        "pipe.md",
    ]


def test_a_link_inside_its_folder_is_followed(tmp_path: Path) -> None:
    lay(tmp_path / "shared", text="You are terse.")
    (tmp_path / "terse.md").symlink_to("shared/text.md")
    assert load_presets([tmp_path]).get("terse").system_prompt == "You are terse."


def test_a_link_out_of_its_folder_is_followed_only_where_the_folder_is_trusted(tmp_path: Path) -> None:
    secret = lay(tmp_path / "home", key="a secret") / "key.md"
    project = lay(tmp_path / "project")
    (project / "helper.md").symlink_to(secret)
    refused = load_presets([project])
    assert len(refused) == 0
    assert reasons(refused) == [f"{project}/helper.md: it is a link that leads out of its folder"]
    assert load_presets([project], trusted=[project]).get("helper").system_prompt == "a secret"


def test_a_folder_that_is_a_link_is_read(tmp_path: Path) -> None:
    lay(tmp_path / "dotfiles", helper="x")
    (tmp_path / "agents").symlink_to("dotfiles")
    assert load_presets([tmp_path / "agents"]).names == ("helper",)


def test_what_is_no_preset_is_left_alone(tmp_path: Path) -> None:
    lay(tmp_path, README="about this folder", helper="x")
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / ".hidden.md").write_text("x")
    (tmp_path / "file").write_text("no folder")
    assert load_presets([tmp_path, tmp_path / "file"]).names == ("helper",)


def test_a_folder_of_too_many_files_is_read_up_to_a_limit_and_said_so(tmp_path: Path) -> None:
    for number in range(FILES + 2):
        (tmp_path / f"{number:05}.md").write_text("x")
    presets = load_presets([tmp_path])
    assert len(presets) == FILES
    assert reasons(presets) == [f"{tmp_path}: it has {FILES + 2} files; only the first {FILES} are read"]


def test_a_name_with_a_broken_encoding_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9.md")).write_text("x")
    lay(tmp_path, helper="x")
    presets = load_presets([tmp_path])
    assert "helper" in presets

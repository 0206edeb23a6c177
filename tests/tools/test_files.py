"""Reading, writing and listing: inside the scope, at its edges, and while somebody moves the ground."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

from segue.tools import ToolResult
from tests.support.tool_project import ToolProject, call

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def everything(project: ToolProject) -> None:
    project.allow()


def test_a_file_is_read_by_its_path_from_the_folder_at_hand(project: ToolProject) -> None:
    (project.root / "notes.md").write_text("Straße\n", encoding="utf-8")
    assert project.do("read_file", path="notes.md") == ToolResult(content="Straße\n")
    assert project.do("read_file", path=str(project.root / "notes.md")).content == "Straße\n"


def test_of_a_long_file_the_first_lines_come_and_how_to_go_on(project: ToolProject) -> None:
    (project.root / "long").write_text("".join(f"line {number}\n" for number in range(1, 101)))
    executor = project.executor(limit=50)
    first = project.do("read_file", executor, path="long")
    assert (
        first.content
        == "".join(f"line {n}\n" for n in range(1, 8)) + "[lines 1 to 7 of 100; continue with first_line 8]"
    )
    assert project.do("read_file", executor, path="long", first_line=98).content == "line 98\nline 99\nline 100\n"
    assert project.do("read_file", executor, path="long", first_line=101).content == "long has 100 lines"


def test_a_single_line_that_is_too_long_is_cut(project: ToolProject) -> None:
    (project.root / "long").write_text("x" * 1000)
    found = project.do("read_file", project.executor(limit=50), path="long").content
    assert found == "x" * 50 + "\n[line 1 of 1 is longer, and cut here]"


@pytest.mark.parametrize("data", [b"\x00\x01", b"\xff\xfe"])
def test_what_is_no_text_is_not_read(project: ToolProject, data: bytes) -> None:
    (project.root / "picture").write_bytes(data)
    assert project.do("read_file", path="picture") == ToolResult(status="failed", content="it is not a UTF-8 text file")


def test_what_is_not_there_or_no_file_fails_in_words(project: ToolProject) -> None:
    os.mkfifo(project.root / "pipe")
    (project.root / "folder").mkdir()
    for path, why in (("nothing", "does not exist"), ("pipe", "not a regular file"), ("folder", "a folder")):
        result = project.do("read_file", path=path)
        assert result.status == "failed"
        assert why in result.content


def test_a_file_is_written_whole_with_the_folders_it_needs(project: ToolProject) -> None:
    result = project.do("write_file", path="src/new/app.py", content="print('Straße')\n")
    assert result.content == "src/new/app.py was written: 17 bytes"
    written = project.root / "src" / "new" / "app.py"
    assert written.read_text(encoding="utf-8") == "print('Straße')\n"
    assert list(written.parent.iterdir()) == [written]
    assert project.do("write_file", path="src/new/app.py", content="").content.endswith("was replaced: 0 bytes")


def test_a_file_that_is_replaced_keeps_its_mode(project: ToolProject) -> None:
    path = project.root / "run"
    path.write_text("old")
    path.chmod(0o754)
    project.do("write_file", path="run", content="new")
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("new", 0o754)


def test_halves_of_characters_are_not_written(project: ToolProject) -> None:
    assert project.do("write_file", path="a", content="\ud800").status == "failed"
    assert list(project.root.iterdir()) == []


def test_a_folder_is_listed_with_what_each_entry_is(project: ToolProject) -> None:
    (project.root / "b").mkdir()
    (project.root / "a.txt").write_text("12345")
    (project.root / "link").symlink_to(project.outside)
    assert project.do("list_dir").content == "a.txt (5 bytes)\nb/\nlink (a link)"
    assert project.do("list_dir", path="b").content == "[the folder is empty]"
    assert project.do("list_dir", path="a.txt").status == "failed"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({}, "missing required field `path`"),
        ({"path": 1}, "Expected `str`, got `int` - at `$.path`"),
        ({"path": "a", "mode": "x"}, "unknown field `mode`"),
        ({"input": "{"}, "unknown field `input`"),
        ({"path": "a", "first_line": 0}, ">= 1"),
    ],
)
def test_arguments_that_make_no_sense_are_told_to_the_model(
    project: ToolProject, arguments: dict[str, object], why: str
) -> None:
    result = project.do("read_file", **arguments)
    assert result.status == "failed"
    assert why in result.content


# ── Ways out ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "path", ["../outside/secret", "link/secret", "file", "link/../../outside/secret", "/etc/passwd"]
)
def test_neither_links_nor_dots_lead_out_of_the_scope(project: ToolProject, path: str) -> None:
    (project.outside / "secret").write_text("secret")
    (project.root / "link").symlink_to(project.outside)
    (project.root / "file").symlink_to(project.outside / "secret")
    for name, more in (("read_file", {}), ("write_file", {"content": "x"}), ("list_dir", {})):
        assert project.do(name, path=path, **more).status == "refused"
    assert (project.outside / "secret").read_text() == "secret"


def swap(folder: Path, target: Path) -> None:
    folder.rename(folder.with_name("before"))
    folder.symlink_to(target)


@pytest.mark.parametrize(("name", "more"), [("read_file", {}), ("write_file", {"content": "x"})])
def test_a_folder_that_becomes_a_link_between_check_and_use_leads_nowhere(
    project: ToolProject, name: str, more: dict[str, object]
) -> None:
    (project.outside / "secret").write_text("secret")
    (project.root / "docs").mkdir()
    run_call = project.executor().prepare(call(name, path="docs/secret", **more))
    assert not isinstance(run_call, ToolResult)
    swap(project.root / "docs", project.outside)
    assert run_call().status == "failed"
    assert [path.name for path in project.outside.iterdir()] == ["secret"]
    assert (project.outside / "secret").read_text() == "secret"


def test_a_file_that_becomes_a_link_between_check_and_use_is_neither_read_nor_followed(project: ToolProject) -> None:
    (project.outside / "secret").write_text("secret")
    (project.root / "notes").write_text("notes")
    for name, more in (("read_file", {}), ("write_file", {"content": "x"})):
        (project.root / "notes").unlink()
        (project.root / "notes").write_text("notes")
        run_call = project.executor().prepare(call(name, path="notes", **more))
        assert not isinstance(run_call, ToolResult)
        (project.root / "notes").unlink()
        (project.root / "notes").symlink_to(project.outside / "secret")
        assert run_call().status == "failed"
    assert (project.outside / "secret").read_text() == "secret"


def test_a_list_of_a_folder_that_becomes_a_link_shows_nothing_of_where_it_leads(project: ToolProject) -> None:
    (project.outside / "secret").write_text("secret")
    (project.root / "docs").mkdir()
    run_call = project.executor().prepare(call("list_dir", path="docs"))
    assert not isinstance(run_call, ToolResult)
    swap(project.root / "docs", project.outside)
    result = run_call()
    assert (result.status, "secret" in result.content) == ("failed", False)

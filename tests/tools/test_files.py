"""Reading, writing and listing: inside the scope, at its edges, and while somebody moves the ground."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

from segue.tools import ToolResult
from tests.support.tool_project import Workshop, call

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def everything(workshop: Workshop) -> None:
    workshop.allow()


def test_a_file_is_read_by_its_path_from_the_folder_at_hand(workshop: Workshop) -> None:
    (workshop.project / "notes.md").write_text("Straße\n", encoding="utf-8")
    assert workshop.do("read_file", path="notes.md") == ToolResult(content="Straße\n")
    assert workshop.do("read_file", path=str(workshop.project / "notes.md")).content == "Straße\n"


def test_of_a_long_file_the_first_lines_come_and_how_to_go_on(workshop: Workshop) -> None:
    (workshop.project / "long").write_text("".join(f"line {number}\n" for number in range(1, 101)))
    executor = workshop.executor(limit=50)
    first = workshop.do("read_file", executor, path="long")
    assert first.content == "".join(f"line {n}\n" for n in range(1, 8)) + "[lines 1 to 7 of 100; first_line 8 goes on]"
    assert workshop.do("read_file", executor, path="long", first_line=98).content == "line 98\nline 99\nline 100\n"
    assert workshop.do("read_file", executor, path="long", first_line=101).content == "long has 100 lines"


def test_a_single_line_that_is_too_long_is_cut(workshop: Workshop) -> None:
    (workshop.project / "long").write_text("x" * 1000)
    found = workshop.do("read_file", workshop.executor(limit=50), path="long").content
    assert found == "x" * 50 + "\n[line 1 of 1 goes on]"


@pytest.mark.parametrize("data", [b"\x00\x01", b"\xff\xfe"])
def test_what_is_no_text_is_not_read(workshop: Workshop, data: bytes) -> None:
    (workshop.project / "picture").write_bytes(data)
    assert workshop.do("read_file", path="picture") == ToolResult(status="failed", content="it is no text in UTF-8")


def test_what_is_not_there_or_no_file_fails_in_words(workshop: Workshop) -> None:
    os.mkfifo(workshop.project / "pipe")
    (workshop.project / "folder").mkdir()
    for path, why in (("nothing", "does not exist"), ("pipe", "not a regular file"), ("folder", "a folder")):
        outcome = workshop.do("read_file", path=path)
        assert outcome.status == "failed"
        assert why in outcome.content


def test_a_file_is_written_whole_with_the_folders_it_needs(workshop: Workshop) -> None:
    outcome = workshop.do("write_file", path="src/new/app.py", content="print('Straße')\n")
    assert outcome.content == "src/new/app.py is written: 17 bytes"
    written = workshop.project / "src" / "new" / "app.py"
    assert written.read_text(encoding="utf-8") == "print('Straße')\n"
    assert list(written.parent.iterdir()) == [written]
    assert workshop.do("write_file", path="src/new/app.py", content="").content.endswith("is replaced: 0 bytes")


def test_a_file_that_is_replaced_keeps_its_mode(workshop: Workshop) -> None:
    path = workshop.project / "run"
    path.write_text("old")
    path.chmod(0o754)
    workshop.do("write_file", path="run", content="new")
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("new", 0o754)


def test_halves_of_characters_are_not_written(workshop: Workshop) -> None:
    assert workshop.do("write_file", path="a", content="\ud800").status == "failed"
    assert list(workshop.project.iterdir()) == []


def test_a_folder_is_listed_with_what_each_entry_is(workshop: Workshop) -> None:
    (workshop.project / "b").mkdir()
    (workshop.project / "a.txt").write_text("12345")
    (workshop.project / "link").symlink_to(workshop.outside)
    assert workshop.do("list_dir").content == "a.txt (5 bytes)\nb/\nlink (a link)"
    assert workshop.do("list_dir", path="b").content == "[the folder is empty]"
    assert workshop.do("list_dir", path="a.txt").status == "failed"


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
    workshop: Workshop, arguments: dict[str, object], why: str
) -> None:
    outcome = workshop.do("read_file", **arguments)
    assert outcome.status == "failed"
    assert why in outcome.content


# ── Ways out ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "path", ["../outside/secret", "link/secret", "file", "link/../../outside/secret", "/etc/passwd"]
)
def test_neither_links_nor_dots_lead_out_of_the_scope(workshop: Workshop, path: str) -> None:
    (workshop.outside / "secret").write_text("secret")
    (workshop.project / "link").symlink_to(workshop.outside)
    (workshop.project / "file").symlink_to(workshop.outside / "secret")
    for name, more in (("read_file", {}), ("write_file", {"content": "x"}), ("list_dir", {})):
        assert workshop.do(name, path=path, **more).status == "refused"
    assert (workshop.outside / "secret").read_text() == "secret"


def swap(folder: Path, target: Path) -> None:
    folder.rename(folder.with_name("before"))
    folder.symlink_to(target)


@pytest.mark.parametrize(("name", "more"), [("read_file", {}), ("write_file", {"content": "x"})])
def test_a_folder_that_becomes_a_link_between_check_and_use_leads_nowhere(
    workshop: Workshop, name: str, more: dict[str, object]
) -> None:
    (workshop.outside / "secret").write_text("secret")
    (workshop.project / "docs").mkdir()
    job = workshop.executor().take(call(name, path="docs/secret", **more))
    assert not isinstance(job, ToolResult)
    swap(workshop.project / "docs", workshop.outside)
    assert job().status == "failed"
    assert [path.name for path in workshop.outside.iterdir()] == ["secret"]
    assert (workshop.outside / "secret").read_text() == "secret"


def test_a_file_that_becomes_a_link_between_check_and_use_is_neither_read_nor_followed(workshop: Workshop) -> None:
    (workshop.outside / "secret").write_text("secret")
    (workshop.project / "notes").write_text("notes")
    for name, more in (("read_file", {}), ("write_file", {"content": "x"})):
        (workshop.project / "notes").unlink()
        (workshop.project / "notes").write_text("notes")
        job = workshop.executor().take(call(name, path="notes", **more))
        assert not isinstance(job, ToolResult)
        (workshop.project / "notes").unlink()
        (workshop.project / "notes").symlink_to(workshop.outside / "secret")
        assert job().status == "failed"
    assert (workshop.outside / "secret").read_text() == "secret"


def test_a_list_of_a_folder_that_becomes_a_link_shows_nothing_of_where_it_leads(workshop: Workshop) -> None:
    (workshop.outside / "secret").write_text("secret")
    (workshop.project / "docs").mkdir()
    job = workshop.executor().take(call("list_dir", path="docs"))
    assert not isinstance(job, ToolResult)
    swap(workshop.project / "docs", workshop.outside)
    outcome = job()
    assert (outcome.status, "secret" in outcome.content) == ("failed", False)

"""An edit replaces one text that occurs once, and nothing else; what a call would change is shown before it does."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segue.tools import ToolResult
from segue.tools.file_diff import render_diff

if TYPE_CHECKING:
    from tests.support.tool_project import ToolProject

TEXT = "".join(f"line {number}\n" for number in range(1, 11))


@pytest.fixture(autouse=True)
def everything(project: ToolProject) -> None:
    project.allow()
    (project.root / "notes.md").write_text(TEXT)


def edit(project: ToolProject, old: str, new: str, path: str = "notes.md") -> ToolResult:
    return project.do("edit_file", path=path, old=old, new=new)


def test_one_text_is_replaced_and_the_file_stays_what_it_was(project: ToolProject) -> None:
    (project.root / "notes.md").chmod(0o640)
    assert edit(project, "line 5\nline 6", "line five").content == ("notes.md was edited: 13 characters replaced by 9")
    assert (project.root / "notes.md").read_text() == TEXT.replace("line 5\nline 6", "line five")
    assert (project.root / "notes.md").stat().st_mode & 0o777 == 0o640
    assert [path.name for path in project.root.iterdir()] == ["notes.md"]
    assert edit(project, "line five\n", "").status == "done"


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("line", "x", "old occurs 10 times in notes.md, and must occur exactly once; nothing was changed"),
        ("\nline 1\n", "x", "old does not occur in notes.md"),
        ("Line 1", "x", "old does not occur in notes.md"),
        ("aa", "x", "old occurs 2 times"),
        ("line 5", "line 5", "old and new are the same"),
        ("line 5", "\ud800", "unpaired surrogates"),
    ],
)
def test_what_is_not_meant_exactly_changes_nothing(project: ToolProject, old: str, new: str, why: str) -> None:
    (project.root / "notes.md").write_text(f"{TEXT}aaa\n")
    executor = project.executor(confirm="changes")
    result = project.do("edit_file", executor, path="notes.md", old=old, new=new)
    assert (result.status, why in result.content) == ("failed", True)
    assert (project.root / "notes.md").read_text() == f"{TEXT}aaa\n"
    assert len(project.approver.asked) == ("surrogates" in why)  # what cannot succeed is not asked about


def test_there_must_be_a_text_file_which_is_no_link(project: ToolProject) -> None:
    (project.root / "picture").write_bytes(b"\0")
    (project.outside / "secret").write_text("line 5")
    (project.root / "link").symlink_to(project.outside / "secret")
    assert edit(project, "a", "b", "nothing").content == "nothing does not exist; write_file creates it"
    assert edit(project, "a", "b", "picture").content == "it is not a UTF-8 text file"
    assert edit(project, "line 5", "b", "link").status == "refused"
    assert (project.outside / "secret").read_text() == "line 5"


@pytest.mark.parametrize("old", ["secret", "nothing of it"])
def test_of_a_file_out_of_scope_the_model_learns_nothing(project: ToolProject, old: str) -> None:
    (project.root / ".env").write_text("a secret")
    (project.outside / "file").write_text("a secret")
    assert edit(project, old, "x", ".env").content == "refused: out of scope: denied by '**/.env'"
    refusal = edit(project, old, "x", str(project.outside / "file"))
    assert refusal == ToolResult(status="refused", content="refused: out of scope: no pattern allows writing it")
    assert ("-a secret" in project.approver.previews[-1]) == (old == "secret")  # but the user sees it
    project.allow(paths={"write": ["*.md"]})
    assert edit(project, old, "x").content.startswith("the scope allows writing this file, but not reading it")


# ── What is shown ────────────────────────────────────────────────────────────────────────────────────────────────────


def preview(project: ToolProject, content: str, path: str = "notes.md") -> str:
    project.approver.confirms = "no"
    project.do("write_file", project.executor(confirm="changes"), path=path, content=content)
    return project.approver.previews[-1]


def test_a_write_is_shown_as_what_it_changes(project: ToolProject) -> None:
    after = TEXT.removeprefix("line 1\n").replace("line 9", "line nine")
    assert preview(project, after).split("\n") == [
        "--- notes.md",
        "+++ notes.md",
        "@@ -1,4 +1,3 @@",
        *["-line 1", " line 2", " line 3", " line 4"],
        "@@ -6,5 +5,5 @@",
        *[" line 6", " line 7", " line 8", "-line 9", "+line nine", " line 10"],
    ]
    assert preview(project, "new\ntext", "new.md").split("\n") == [
        *["--- /dev/null", "+++ new.md", "@@ -0,0 +1,2 @@", "+new", "+text", "\\ No newline at end of file"]
    ]
    assert preview(project, TEXT).endswith("@@ nothing changes @@")
    assert preview(project, "").endswith("@@ -1,10 +0,0 @@\n" + "\n".join(f"-line {n}" for n in range(1, 11)))
    (project.root / "picture").write_bytes(b"\0")
    assert "cannot be shown: it is not a UTF-8 text file @@\n+text" in preview(project, "text\n", "picture")


@given(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("abc")))
def test_the_numbers_of_a_diff_name_the_lines_that_it_shows(old: list[str], new: list[str]) -> None:
    before, after = ("".join(f"{line}\n" for line in lines) for lines in (old, new))
    rebuilt, at = list[str](), 0
    for hunk in render_diff(before, after, "x").split("\n@@ ")[1:] if old != new else ():
        ranges, *lines = hunk.split("\n")
        first, count, second, new_count = map(int, re.findall(r"\d+", ranges))
        rebuilt += old[at : first - bool(count)]
        at = first - bool(count) + count
        assert [line[1:] for line in lines if line[0] in " -"] == old[at - count : at]
        assert len(rebuilt) == second - bool(new_count)
        rebuilt += [line[1:] for line in lines if line[0] in " +"]
    assert [*rebuilt, *old[at:]] == new


def test_a_long_change_is_cut_with_how_much_is_missing(project: ToolProject) -> None:
    long = preview(project, "".join(f"{number}\n" for number in range(100_000)))
    assert long.count("\n") < 400
    assert long.endswith(" more lines of the diff")
    assert "… (9,000 more characters)" in preview(project, "x" * 9999 + "\n")


def test_one_line_of_a_large_file_is_found_at_once() -> None:
    lines = [f"line {number}\n" for number in range(200_000)]
    before = "".join(lines)
    lines[123_456] = "another\n"
    shown = render_diff(before, "".join(lines), "large").split("\n")
    assert shown[2] == "@@ -123454,7 +123454,7 @@"
    assert shown[6:8] == ["-line 123456", "+another"]

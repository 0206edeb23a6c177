"""Claims about the pages as a whole: their links, the files they name, their size."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from segue.cli.app import VERBS
from tests.docs.pages import HOW_TO, HOW_TO_INDEX, PAGES, README, ROOT, links, name_of

if TYPE_CHECKING:
    from pathlib import Path

ARCHITECTURE = ROOT / "docs" / "architecture.md"
TENETS = ROOT / "docs" / "tenets.md"
SOURCE = ROOT / "src" / "segue"
NO_ROOMS = {"__init__.py", "__main__.py", "_version.py", "py.typed", "__pycache__"}


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_leads_somewhere(page: Path) -> None:
    broken: list[str] = []
    for link in links(page):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_file_that_a_page_names_exists(page: Path) -> None:
    named = re.findall(r"\b((?:tests|src|docs|scripts|requirements)/[\w./-]+\.\w+)", page.read_text(encoding="utf-8"))
    assert [name for name in named if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_page_can_be_reached_from_the_readme(page: Path) -> None:
    reached, ahead = set[str](), [README]
    while ahead:
        here = ahead.pop()
        if name_of(here) not in reached:
            reached.add(name_of(here))
            linked = [(here.parent / link.partition("#")[0]).resolve() for link in links(here) if "://" not in link]
            ahead += [target for target in linked if target.suffix == ".md" and target.exists()]
    assert name_of(page) in reached


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_has_one_title_and_no_trailing_blanks(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# ")
    assert [line for line in text.splitlines() if line != line.rstrip()] == []


def broken_tables(text: str) -> list[str]:
    """Rows that do not render: tables without header and separator, rows with more or fewer cells than the header."""
    broken: list[str] = []
    lines = [*text.split("\n"), ""]
    for at, line in enumerate(lines):
        if not line.startswith("|") or (at and lines[at - 1].startswith("|")):
            continue
        rows = lines[at : next(end for end in range(at, len(lines)) if not lines[end].startswith("|"))]
        if len(rows) < 2 or not re.fullmatch(r"\|(?: ?:?-+:? ?\|)+", rows[1]):
            broken.append(line)
        broken += [row for row in rows if not row.endswith("|") or cells(row) != cells(rows[0])]
        broken += [lines[at - 1]] if at and lines[at - 1].strip() else []  # else it is a part of that paragraph
    return broken


def cells(row: str) -> int:
    """As Markdown counts them: a bar within code divides cells as well, unless it is escaped."""
    return len(re.findall(r"(?<!\\)\|", row)) - 1


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=name_of)
def test_every_table_renders(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert broken_tables(re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)) == []


@pytest.mark.parametrize(
    ("table", "broken"),
    [
        ("\n| a | b |\n|---|---|\n| c | `d \\| e` |\n", 0),
        ("| a | b |\n|---|---|\n| c | `d | e` |\n", 1),
        ("| a | b |\n|---|\n", 1),
        ("| a | b |\n| c | d |\n", 1),
        ("| a |\n", 1),
        ("| a |\n|---|\n| b\n", 1),
        ("text\n| a |\n|---|\n", 1),
    ],
)
def test_a_table_that_does_not_render_is_found(table: str, broken: int) -> None:
    assert len(broken_tables(table)) == broken


def test_the_readme_is_short() -> None:
    assert README.read_text(encoding="utf-8").count("\n") <= 150


def test_the_readme_says_that_there_is_no_chat_as_long_as_there_is_none() -> None:
    assert ("There is no chat yet" in README.read_text(encoding="utf-8")) == ("chat" not in VERBS)


def test_the_tenets_fit_on_a_screen() -> None:
    assert TENETS.read_text(encoding="utf-8").count("\n") <= 20


def test_there_is_a_page_for_what_people_do_every_day() -> None:
    wanted = {"clean", "export", "follow", "fork", "list", "record", "script", "show", "verify-and-recover"}
    assert wanted <= {page.stem for page in HOW_TO}


def test_the_index_names_every_how_to_page() -> None:
    assert {page.name for page in HOW_TO} <= set(links(HOW_TO_INDEX))


def test_the_layer_picture_shows_every_room_and_marks_those_that_are_planned() -> None:
    picture = ARCHITECTURE.read_text(encoding="utf-8").partition("```text\n")[2].partition("```")[0]
    built, planned = set[str](), set[str]()
    for line in picture.splitlines():
        rooms = re.match(r"(?:\w+(?:/|\.py)\s+)+", line)
        names = {name.rstrip("/") for name in (rooms.group().split() if rooms else [])}
        (planned if "(planned)" in line else built).update(names)
    there = {path.name for path in SOURCE.iterdir() if path.name not in NO_ROOMS}
    assert built == there
    assert planned & there == set()

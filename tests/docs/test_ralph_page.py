"""The format page is held against files that Segue really writes, and its reader is run on them."""

from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from segue.dialects.ralph.format.document import LEARNING, PATTERN, TOP
from segue.dialects.ralph.store.claims import Claim
from tests.docs.pages import blocks
from tests.docs.ralph_examples import PAGE, refreshed, written
from tests.docs.readers import branch_out, told_by_reader, told_by_segue

if TYPE_CHECKING:
    from pathlib import Path

TEXT = PAGE.read_text(encoding="utf-8")
(READER,) = (block.text for block in blocks(PAGE) if block.language == "python")
JQ = [block.text.strip() for block in blocks(PAGE) if block.language == "sh"]


def section(title: str) -> str:
    return TEXT.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "sessions"


def test_the_file_on_the_page_is_what_is_written(root: Path) -> None:
    assert refreshed(TEXT, root) == TEXT  # if not: python -m tests.docs.ralph_examples


def test_the_page_names_every_field_that_is_shown() -> None:
    assert {*TOP, *LEARNING, *PATTERN} <= set(re.findall(r"`(\w+)`", section("What is shown")))


def test_the_page_names_every_field_of_ours(root: Path) -> None:
    named = re.findall(r"^\| `(\w+)` \|", section("What is under segue"), re.MULTILINE)
    assert list(json.loads(written(root))["segue"]) == named


def test_the_page_names_every_field_of_a_claim() -> None:
    assert set(Claim.__struct_fields__) <= set(re.findall(r"`(\w+)`", section("Claims")))


def test_the_reader_has_ten_lines() -> None:
    assert READER.count("\n") == 10


@pytest.mark.parametrize("branch", [None, "main", "second", "third", "unused", "empty"])
def test_the_reader_reads_every_branch_as_segue_does(root: Path, branch: str | None) -> None:
    branch_out(f"ralph:{root}")
    told = told_by_reader(READER, root / "odd.json", *filter(None, [branch]))
    assert told == told_by_segue(f"ralph:{root}", "odd", branch)


def test_the_reader_reads_a_file_of_ralph_itself(tmp_path: Path) -> None:
    (tmp_path / "s1.json").write_text('{"session_id": "s1", "change_name": "login", "learnings": []}')
    assert told_by_reader(READER, tmp_path / "s1.json") == []


@pytest.mark.needs("jq")
def test_jq_reads_what_was_learned_and_done(root: Path) -> None:
    whole = written(root)
    said = [
        subprocess.run(["sh", "-c", command], cwd=root, check=True, capture_output=True, text=True).stdout
        for command in [*JQ, "jq . s1.json"]
    ]
    assert said == ["Tokens last an hour\n", "1.1\n", whole]

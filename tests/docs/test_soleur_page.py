"""The format page is held against files that Segue really writes, and its reader is run on them."""

from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING

import pytest

import segue
from segue.dialects.soleur.format.document import DECISION, MESSAGE, TOP
from segue.formats.records import ROLE_SYNONYMS
from tests.docs.pages import blocks
from tests.docs.readers import branch_out, told_by_reader, told_by_segue
from tests.docs.soleur_examples import PAGE, refreshed, written

if TYPE_CHECKING:
    from pathlib import Path

TEXT = PAGE.read_text(encoding="utf-8")
(READER,) = (block.text for block in blocks(PAGE) if block.language == "python")
(SHOWN,) = (block.text for block in blocks(PAGE) if block.language == "json")
JQ = [block.text.strip() for block in blocks(PAGE) if block.language == "sh"]


def section(title: str) -> str:
    return TEXT.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_the_file_on_the_page_is_what_is_written(tmp_path: Path) -> None:
    assert refreshed(TEXT, tmp_path) == TEXT  # if not: python -m tests.docs.soleur_examples


def test_the_page_names_every_field_that_is_shown() -> None:
    assert {*TOP, *MESSAGE, *DECISION} <= set(re.findall(r"`(\w+)`", section("What is shown")))


def test_the_page_names_every_field_of_ours(tmp_path: Path) -> None:
    with segue.open(f"soleur:{tmp_path}").create(id="s1") as session:
        session.attach("README.md", b"# Login\n")
    found = json.loads((tmp_path / "s1.json").read_bytes())
    named = re.findall(r"^\| `(\w+)` \|", section("What is under segue"), re.MULTILINE)
    assert list(found["segue"]) == named[: len(found["segue"])]


def test_the_page_names_every_other_role() -> None:
    assert all(f"`{role}`" in section("What others write") for role in ROLE_SYNONYMS)


def test_the_sum_on_the_page_has_the_form_of_a_real_one() -> None:
    (example,) = re.findall(r'^    ("sum": "[0-9a-f-]+")$', section("One changed byte"), re.MULTILINE)
    (real,) = re.findall(r'^ +("sum": "[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{16}")$', SHOWN, re.MULTILINE)
    assert len(example) == len(real)


# ── The independent reader ───────────────────────────────────────────────────────────────────────────────────────────


def test_the_reader_has_ten_lines() -> None:
    assert READER.count("\n") == 10


@pytest.mark.parametrize("branch", [None, "main", "second", "third", "unused", "empty"])
def test_the_reader_reads_every_branch_as_segue_does(tmp_path: Path, branch: str | None) -> None:
    branch_out(f"soleur:{tmp_path}")
    told = told_by_reader(READER, tmp_path / "odd.json", *filter(None, [branch]))
    assert told == told_by_segue(f"soleur:{tmp_path}", "odd", branch)


def test_the_reader_reads_a_file_of_soleur_itself(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "Hello", "timestamp": "2026-01-05T09:30:00"}]
    (tmp_path / "s1.json").write_text(json.dumps({"id": "s1", "messages": messages}))
    told = told_by_reader(READER, tmp_path / "s1.json")
    assert told == told_by_segue(f"soleur:{tmp_path}", "s1") == [["user", "Hello"]]


@pytest.mark.needs("jq")
def test_jq_reads_the_conversation(tmp_path: Path) -> None:
    written(tmp_path)
    messages, decisions = (
        subprocess.run(["sh", "-c", command], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
        for command in JQ
    )
    assert messages == "user: Why does login fail?\nassistant: The clock is wrong.\n"
    assert decisions == "Refresh five minutes early\n"


@pytest.mark.needs("jq")
def test_jq_prints_the_file_as_it_is(tmp_path: Path) -> None:
    whole = written(tmp_path)
    (file,) = tmp_path.glob("*.json")
    assert subprocess.run(["jq", ".", file], check=True, capture_output=True, text=True).stdout == whole

"""The format page is held against files that Segue really writes, and its reader is run on them."""

from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING

import pytest

import segue
from segue.dialects.cortext.format.document import CONFIG, TOP
from segue.dialects.cortext.format.lines import SHOWN
from tests.docs.cortext_examples import PAGE, refreshed, written
from tests.docs.pages import blocks
from tests.docs.readers import branch_out, told_by_reader, told_by_segue

if TYPE_CHECKING:
    from pathlib import Path

TEXT = PAGE.read_text(encoding="utf-8")
(READER,) = (block.text for block in blocks(PAGE) if block.language == "python")
JQ = [block.text.strip() for block in blocks(PAGE) if block.language == "sh"]


def section(title: str) -> str:
    return TEXT.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_the_files_on_the_page_are_what_is_written(tmp_path: Path) -> None:
    assert refreshed(TEXT, tmp_path) == TEXT  # if not: python -m tests.docs.cortext_examples


def test_the_page_names_every_field_that_is_shown() -> None:
    assert {*TOP, *CONFIG} <= set(re.findall(r"`(\w+)`", section("session.json")))
    assert set(SHOWN) <= set(re.findall(r"`(\w+)`", section("messages.jsonl")))


def test_the_page_names_every_field_of_ours(tmp_path: Path) -> None:
    hidden = written(tmp_path)
    named = set(re.findall(r"`(\w+)`", section("session.json")))
    assert json.loads((hidden / "session.json").read_bytes())["segue"].keys() <= named
    named = set(re.findall(r"`(\w+)`", section("messages.jsonl")))
    for line in (hidden / "messages.jsonl").read_text().splitlines():
        assert json.loads(line)["segue"].keys() <= named


# ── The independent reader ───────────────────────────────────────────────────────────────────────────────────────────


def test_the_reader_has_ten_lines() -> None:
    assert READER.count("\n") == 10


@pytest.mark.parametrize("branch", [None, "main", "second", "third", "unused", "empty"])
def test_the_reader_reads_every_branch_as_segue_does(tmp_path: Path, branch: str | None) -> None:
    branch_out(f"cortext:{tmp_path}")
    hidden = tmp_path / "conversations" / "other" / "odd" / ".session"
    told = told_by_reader(READER, hidden, *filter(None, [branch]))
    assert told == told_by_segue(f"cortext:{tmp_path}", "odd", branch)


def test_the_reader_reads_a_conversation_of_cortext_itself_that_segue_went_on_with(tmp_path: Path) -> None:
    hidden = tmp_path / "conversations" / "2026-01-05" / "001-plan-x" / ".session"
    hidden.mkdir(parents=True)
    (hidden / "session.json").write_text(json.dumps({"conversation_id": "001-plan-x", "title": "X"}))
    message = {"role": "user", "content": "Hello", "timestamp": "2026-01-05T09:30:00"}
    (hidden / "messages.jsonl").write_text(json.dumps(message) + "\n")
    assert told_by_reader(READER, hidden) == [["user", "Hello"]]
    with segue.open(f"cortext:{tmp_path}").resume("2026-01-05-001-plan-x") as session:
        session.add("assistant", "Hi")
    told = told_by_reader(READER, hidden)
    assert (
        told
        == told_by_segue(f"cortext:{tmp_path}", "2026-01-05-001-plan-x")
        == [["user", "Hello"], ["assistant", "Hi"]]
    )


@pytest.mark.needs("jq")
def test_jq_reads_the_conversation(tmp_path: Path) -> None:
    written(tmp_path)
    messages, resumable = (
        subprocess.run(["sh", "-c", command], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
        for command in JQ
    )
    assert messages == "user: Why does login fail?\nassistant: The token expires.\nassistant: The clock is wrong.\n"
    assert resumable == "001-debug-login Login bug\n"

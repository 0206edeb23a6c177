"""The golden journals are what Segue writes, and read as what they were written from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from segue.model import Turn, Unknown
from segue.stores.journal import JournalStore
from tests.promises.make_golden import NAMES, make
from tests.support.journals import CORPUS, ODD_TEXT, lay

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def corpus(tmp_path: Path) -> JournalStore:
    for golden in CORPUS.glob("*.jsonl"):
        lay(tmp_path, golden.stem, golden.read_bytes())
    return JournalStore(str(tmp_path))


@pytest.mark.parametrize("name", NAMES)
def test_segue_writes_the_golden_journals_byte_for_byte(tmp_path: Path, name: str) -> None:
    make(tmp_path)
    assert (tmp_path / f"{name}.jsonl").read_bytes() == (CORPUS / f"{name}.jsonl").read_bytes()


def test_branches_decisions_and_odd_text_come_back(corpus: JournalStore) -> None:
    session = corpus.load("branches")
    assert session.branch == "main"
    assert [turn.id for turn in session.turns] == ["t-1", "t-2", "t-3", "t-6", "t-20", "t-21"]
    assert [turn.id for turn in session.path("other-idea")][:3] == ["t-1", "t-4", "t-5"]
    assert session.turns[2].content == ODD_TEXT
    assert [decision.content for decision in session.decisions] == ["Refresh five minutes early"]
    assert corpus.tail("branches", 3, branch="other-idea") == session.path("other-idea")[-3:]


def test_the_lines_of_another_tool_are_read(corpus: JournalStore) -> None:
    session = corpus.load("aurora")
    assert [turn.content for turn in session.turns] == [
        "Why does login fail?",
        "The token expires.\nRefresh it — \u2028early\x85.",
        "Fine.",
    ]
    assert session.status == "completed"
    assert [turn.tokens for turn in session.turns] == [None, 7, None]


def test_fields_and_types_of_a_newer_version_are_kept(corpus: JournalStore) -> None:
    known, unknown = corpus.load("newer").turns[0], corpus.load("newer").unknown
    assert isinstance(known, Turn)
    assert known.extra["nested"] == {"deep": [1, 2.5, None, True, ODD_TEXT]}
    assert [(event.type, event.id) for event in unknown] == [("hologram", "h-1"), ("", "h-2")]
    assert isinstance(unknown[0], Unknown)
    assert unknown[0].data["width"] == 3

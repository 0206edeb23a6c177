"""What happened in sessions that real tools wrote, and comes out of them: the table in the documentation."""

from __future__ import annotations

from pathlib import Path

from tests.support.corpus_events import render_table, replace_table

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "integrations.md"


def test_the_table_of_events_says_what_comes_out_of_the_corpus(tmp_path: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == replace_table(page, render_table(tmp_path)), "run .venv/bin/python scripts/events"

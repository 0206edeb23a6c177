"""The files that the format page shows, as Segue really writes them.

Where the format changed, `python -m tests.docs.cortext_examples` brings the page up to date.
"""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory

from segue.dialects.cortext.format import HIDDEN, split_id
from segue.dialects.cortext.store import CortextStore
from tests.docs.journal_examples import LOGIN_BUG, metadata
from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "formats" / "cortext.md"
SESSION_ID = "2026-01-05-001-debug-login"


def written(root: Path) -> Path:
    with CortextStore(str(root)).create(SESSION_ID, [metadata(SESSION_ID)]) as writer:
        for events in LOGIN_BUG:
            writer.append(*events)
    return root.joinpath("conversations", *split_id(SESSION_ID), HIDDEN)


def refreshed(page: str, root: Path) -> str:
    """The page with the files as they are written now."""
    hidden = written(root)
    for language, name in (("jsonl", "messages.jsonl"), ("json", "session.json")):
        shown = re.search(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
        assert shown is not None
        start, end = shown.span(1)
        page = page[:start] + (hidden / name).read_text(encoding="utf-8") + page[end:]
    return page


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8"), Path(folder)), encoding="utf-8")

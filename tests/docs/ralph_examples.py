"""The file that the format page shows, as Segue really writes it.

Where the format changed, `python -m tests.docs.ralph_examples` brings the page up to date.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from segue.dialects.ralph.store import RalphStore
from segue.model import Learning, Metadata, OverridesChanged, TaskDone
from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "formats" / "ralph.md"
_SHOWN = re.compile(r"^```json\n\{\n.*?^```$", re.MULTILINE | re.DOTALL)
_START = datetime(2026, 1, 5, 9, 30, tzinfo=UTC)


def _at(seconds: int) -> datetime:
    return _START + timedelta(seconds=seconds)


def written(root: Path) -> str:
    first = Metadata(
        session_id="s1",
        agent="ralph",
        title="login",
        created_at=_START,
        status="paused",
        version=1,
        id="e01",
        extra={"change_name": "login", "project": "/home/me/shop"},
    )
    learned = "Tokens last an hour"
    with RalphStore(str(root)).create("s1", [first]) as writer:
        writer.append(OverridesChanged(values={"story": "1"}, timestamp=_at(1), id="e02"))
        writer.append(TaskDone(task_id="1.1", story_id="1", timestamp=_at(2), id="e03"))
        writer.append(Learning(description=learned, task_id="1.1", story_id="1", timestamp=_at(3), id="e04"))
    return (root / "s1.json").read_text(encoding="utf-8")


def refreshed(page: str, root: Path) -> str:
    """The page with the file as it is written now."""
    shown = f"```json\n{written(root)}```"
    return _SHOWN.sub(lambda _: shown, page, count=1)


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8"), Path(folder)), encoding="utf-8")

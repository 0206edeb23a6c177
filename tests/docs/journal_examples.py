"""The lines that the format page shows, as Segue really writes them.

Where the format changed, `python -m tests.docs.journal_examples` brings the page up to date.
"""

from __future__ import annotations

import hashlib
import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from segue.model import (
    Attachment,
    BranchCreated,
    BranchSwitched,
    Decision,
    Event,
    Learning,
    Metadata,
    OverridesChanged,
    Pattern,
    PresetChosen,
    Record,
    ScopeChanged,
    StatusChanged,
    SummaryWritten,
    TagsChanged,
    TaskDone,
    TitleChanged,
    Turn,
    Unknown,
)
from segue.stores.journal import JournalStore
from tests.docs.pages import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable

PAGE = ROOT / "docs" / "formats" / "journal.md"


def at(second: int) -> datetime:
    return datetime(2026, 1, 5, 9, 30, tzinfo=UTC) + timedelta(seconds=second)


def metadata(session_id: str) -> Metadata:
    return Metadata(
        session_id=session_id,
        agent="qa-test",
        created_at=at(0),
        status="active",
        version=1,
        title="Login bug",
        tags=("auth",),
        id="e01",
    )


LOGIN_BUG: list[tuple[Event, ...]] = [
    (Turn(role="user", content="Why does login fail?", timestamp=at(1), tokens=None, id="e02"),),
    (
        Turn(role="assistant", content="The token expires.", timestamp=at(2), tokens=7, id="e03"),
        Decision(content="Refresh five minutes early", timestamp=at(3), tags=("auth",), source="user", id="e04"),
    ),
    (BranchCreated(name="other-idea", parent="main", at=1, timestamp=at(4), id="e05"),),
    (Turn(role="assistant", content="The clock is wrong.", timestamp=at(5), tokens=5, branch="other-idea", id="e06"),),
    (StatusChanged(status="paused", timestamp=at(6), id="e07"),),
]
ATTACHED = b"# Login\n"
OTHERS: list[tuple[Event, ...]] = [
    (
        Turn(
            role="assistant",
            content="Let me look at the",
            timestamp=at(1),
            tokens=5,
            tokens_by="provider",
            model="small-2",
            partial=True,
            parts=({"type": "tool_call", "id": "c1", "name": "grep"},),
            native={"stop_reason": "cancelled"},
            id="r02",
        ),
    ),
    (TitleChanged(title="Login and logout", timestamp=at(2), id="r03"),),
    (TagsChanged(tags=("auth", "urgent"), timestamp=at(3), id="r04"),),
    (SummaryWritten(content="The token expires too early.", timestamp=at(4), id="r05"),),
    (Learning(description="Run the tests first", timestamp=at(5), task_id="1.2", story_id="1", id="r06"),),
    (Pattern(name="retry", description="Every call is tried twice", timestamp=at(6), id="r07"),),
    (
        Attachment(
            path="README.md",
            hash=f"sha256:{hashlib.sha256(ATTACHED).hexdigest()}",
            size_bytes=len(ATTACHED),
            timestamp=at(7),
            id="r08",
        ),
    ),
    (ScopeChanged(scope={"read": ["src/**"], "deny": [".env"]}, timestamp=at(8), id="r09"),),
    (PresetChosen(name="careful", timestamp=at(9), hash="sha256:9f86d081", id="r10"),),
    (OverridesChanged(values={"temperature": 0.2}, timestamp=at(10), id="r11"),),
    (BranchCreated(name="aside", parent="main", at=0, timestamp=at(11), switch=False, id="r12"),),
    (BranchSwitched(branch="aside", timestamp=at(12), id="r13"),),
    (TaskDone(task_id="1.2", timestamp=at(13), story_id="1", id="r14"),),
    (
        Record(
            kind="checkpoint",
            data={"id": "1f0", "step": 2, "next": ["tools"]},
            blobs=(f"sha256:{hashlib.sha256(ATTACHED).hexdigest()}",),
            name="latest",
            timestamp=at(14),
            id="r15",
        ),
    ),
    (Unknown(type="mood", data={"value": "calm"}, id="r16"),),
]


def written(root: Path, session_id: str, appends: Iterable[tuple[Event, ...]]) -> list[bytes]:
    """The lines of the file, checkpoints included."""
    with JournalStore(str(root)).create(session_id, [metadata(session_id)]) as writer:
        for events in appends:
            writer.append(*events)
    return (root / f"{session_id}.jsonl").read_bytes().splitlines()


def refreshed(page: str, root: Path) -> str:
    """The page with each of its lines as it is written now; a line is known by its type and its id."""
    lines = [*written(root, "login-bug", LOGIN_BUG), *written(root, "every-record", OTHERS)[1:]]
    by_name = {_name(line): line.decode() for line in lines}
    return re.sub(r'^\{"type":.*$', lambda shown: by_name.get(_name(shown[0]), shown[0]), page, flags=re.MULTILINE)


def _name(line: str | bytes) -> tuple[str, str]:
    record = json.loads(line)
    return record["type"], record.get("id", "")


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8"), Path(folder)), encoding="utf-8")

"""A session with as much as one likes of all that is kept in lists."""

from __future__ import annotations

from datetime import UTC, datetime

from segue.model import BranchCreated, Decision, Event, Learning, Metadata, Pattern, TaskDone, Turn

NOW = datetime(2026, 11, 15, tzinfo=UTC)


def events(count: int) -> list[Event]:
    found: list[Event] = [Metadata(session_id="s", agent="", created_at=NOW, status="active", id="m")]
    for number in range(count):
        found += (
            Decision(content="x", timestamp=NOW, id=f"d{number}"),
            Learning(description="x", timestamp=NOW, id=f"l{number}"),
            Pattern(name="p", description="x", timestamp=NOW, id=f"p{number}"),
            TaskDone(task_id="1.1", timestamp=NOW, id=f"t{number}"),
            BranchCreated(name=f"b{number}", parent="main", at=0, timestamp=NOW, switch=False, id=f"b{number}"),
            Turn(role="user", content="x", timestamp=NOW, tokens=None, branch=f"b{number}", id=f"u{number}"),
        )
    return found

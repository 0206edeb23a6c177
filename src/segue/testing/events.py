"""Events for tests of stores: the same call gives the same event, so that claims can be exact."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from segue.model import (
    MAIN,
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
from segue.store import FORMAT_VERSION

if TYPE_CHECKING:
    from segue.model import JsonObject, Status

START = datetime(2026, 1, 2, 3, 4, 5, 678900, tzinfo=UTC)


class Clock:
    """Starts at START and advances by one second per call."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


def moment(number: int) -> datetime:
    return START + timedelta(seconds=number)


def metadata(session_id: str, *, version: int = FORMAT_VERSION, status: Status = "active") -> Metadata:
    return Metadata(
        session_id=session_id,
        agent="qa-test",
        created_at=START,
        status=status,
        version=version,
        title="Login bug",
        tags=("auth", "urgent"),
        id=f"{session_id}-begins",
    )


def turn(number: int, content: str | None = None, *, branch: str = MAIN, native: JsonObject | None = None) -> Turn:
    return Turn(
        role=("user", "assistant")[number % 2],
        content=f"This is what was said in turn {number}." if content is None else content,
        timestamp=moment(number),
        tokens=number,
        branch=branch,
        native=native,
        id=f"turn-{number}",
    )


def turns(first: int, last: int, *, branch: str = MAIN) -> list[Turn]:
    return [turn(number, branch=branch) for number in range(first, last + 1)]


def status(word: Status, number: int = 0) -> StatusChanged:
    return StatusChanged(status=word, timestamp=moment(number), id=f"{word}-{number}")


def fork(name: str, at: int, *, parent: str = MAIN, switch: bool = True) -> BranchCreated:
    return BranchCreated(name=name, parent=parent, at=at, switch=switch, timestamp=moment(at), id=f"fork-{name}")


def switched(branch: str, number: int = 0) -> BranchSwitched:
    return BranchSwitched(branch=branch, timestamp=moment(number), id=f"switch-{branch}-{number}")


def every_kind() -> list[Event]:
    """One event of every kind except the metadata, each with every field set, in a valid order."""
    when, extra = moment(1), _unknown_fields()
    return [
        Turn(
            role="tool",
            content="42",
            timestamp=when,
            tokens=7,
            tokens_by="tool",
            model="gpt-4o",
            partial=True,
            parts=({"type": "tool_result", "call": "c1", "ok": True, "value": [1, 2.5, None]},),
            native={"uuid": "u-1", "nested": {"list": [[], {}]}},
            id="e-turn",
            extra=extra,
        ),
        TitleChanged(title="Logout bug", timestamp=when, id="e-title", extra=extra),
        TagsChanged(tags=("ux", "later"), timestamp=when, id="e-tags", extra=extra),
        SummaryWritten(content="The token expires.", timestamp=when, id="e-summary", extra=extra),
        Decision(content="Refresh early", tags=("d",), source="user", timestamp=when, id="e-decision", extra=extra),
        Learning(description="It is cached", task_id="1.1", story_id="1", timestamp=when, id="e-learning", extra=extra),
        Pattern(name="retry", description="with backoff", timestamp=when, id="e-pattern", extra=extra),
        Attachment(path="README.md", hash="sha256:00", size_bytes=3, timestamp=when, id="e-attachment", extra=extra),
        ScopeChanged(scope={"read": ["src/**"], "deny": [".env"]}, timestamp=when, id="e-scope", extra=extra),
        PresetChosen(name="coder", hash="sha256:11", timestamp=when, id="e-preset", extra=extra),
        OverridesChanged(values={"temperature": 0.5, "model": None}, timestamp=when, id="e-overrides", extra=extra),
        BranchCreated(name="idea", parent=MAIN, at=1, switch=False, timestamp=when, id="e-branch", extra=extra),
        BranchSwitched(branch="idea", timestamp=when, id="e-switch", extra=extra),
        TaskDone(task_id="1.1", story_id="1", timestamp=when, id="e-task", extra=extra),
        Record(
            kind="weather",
            data={"id": "x", "seq": 1, "type": "turn", "sky": ["grey", None, 0.5]},
            blobs=("sha256:22",),
            name="sky",
            timestamp=when,
            id="e-record",
            extra=extra,
        ),
        Unknown(type="weather", data={"sky": "grey", "timestamp": "soon", "role": 3, "x": [None]}, id="e-unknown"),
        StatusChanged(status="paused", timestamp=when, id="e-status", extra=extra),
    ]


def _unknown_fields() -> JsonObject:
    return {"later_field": {"deep": [1, "two", None, True]}, "": "", "x-y z": 0}

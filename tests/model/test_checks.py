from __future__ import annotations

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from segue.errors import ConflictError, InvalidIdError, NotFoundError, SegueError, UsageError
from segue.model import (
    Attachment,
    BranchCreated,
    BranchSwitched,
    Decision,
    Event,
    Metadata,
    OverridesChanged,
    StatusChanged,
    TagsChanged,
    Turn,
    Unknown,
    check_event,
    initial_overview,
)
from segue.model.checks import DEPTH

NOW = datetime(2026, 11, 15, tzinfo=UTC)
META = Metadata(session_id="s", agent="", created_at=NOW, status="active", id="m", seq=1)
OVERVIEW = initial_overview(META)
TURN = Turn(role="user", content="", timestamp=NOW, tokens=None, id="t")
DEEP: dict[str, object] = {}
for _ in range(300):
    DEEP = {"x": DEEP}
CIRCLE: list[object] = []
CIRCLE += [CIRCLE, CIRCLE]

BAD: list[tuple[Event, type[SegueError]]] = [
    (replace(TURN, role="robot"), UsageError),
    (replace(TURN, content=None), UsageError),
    (replace(TURN, content=b"bytes"), UsageError),
    (replace(TURN, tokens=-1), UsageError),
    (replace(TURN, tokens=True), UsageError),
    (replace(TURN, tokens=2**63), UsageError),
    (replace(TURN, tokens=1.5), UsageError),
    (replace(TURN, timestamp=datetime(2026, 1, 1)), UsageError),  # noqa: DTZ001 - that is the claim
    (replace(TURN, timestamp="now"), UsageError),
    (replace(TURN, id=""), UsageError),
    (replace(TURN, id="x" * 201), UsageError),
    (replace(TURN, id=7), UsageError),
    (replace(TURN, branch="other"), ConflictError),
    (replace(TURN, parts=("text",)), UsageError),
    (replace(TURN, parts=[{}]), UsageError),
    (replace(TURN, native={"x": float("nan")}), UsageError),
    (replace(TURN, native={"x": float("inf")}), UsageError),
    (replace(TURN, native={"x": (1, 2)}), UsageError),
    (replace(TURN, native={1: 2}), UsageError),
    (replace(TURN, native={"x": {1, 2}}), UsageError),
    (replace(TURN, native=DEEP), UsageError),
    (replace(TURN, native={"x": CIRCLE}), UsageError),
    (replace(TURN, native={"x": 2**5000}), UsageError),
    (replace(TURN, extra={"role": "x"}), UsageError),
    (replace(TURN, extra={"sum": "x"}), UsageError),
    (StatusChanged(status="asleep", timestamp=NOW, id="a"), UsageError),  # type: ignore[arg-type]
    (TagsChanged(tags=("a", 1), timestamp=NOW, id="a"), UsageError),  # type: ignore[arg-type]
    (Decision(content=1.5, timestamp=NOW, id="a"), UsageError),  # type: ignore[arg-type]
    (OverridesChanged(values={"x": object()}, timestamp=NOW, id="a"), UsageError),
    (Attachment(path="x", hash="y", size_bytes=-1, timestamp=NOW, id="a"), UsageError),
    (BranchCreated(name="main", parent="main", at=0, timestamp=NOW, id="a"), ConflictError),
    (BranchCreated(name="../x", parent="main", at=0, timestamp=NOW, id="a"), InvalidIdError),
    (BranchCreated(name="b", parent="main", at=1, timestamp=NOW, id="a"), UsageError),
    (BranchCreated(name="b", parent="main", at=-1, timestamp=NOW, id="a"), UsageError),
    (BranchCreated(name="b", parent="c", at=0, timestamp=NOW, id="a"), NotFoundError),
    (BranchSwitched(branch="b", timestamp=NOW, id="a"), NotFoundError),
    (Unknown(type="turn", data={}, id="a"), UsageError),
    (Unknown(type="checkpoint", data={}, id="a"), UsageError),
    (Unknown(type="x", data={"seq": 1}, id="a"), UsageError),
    (META, UsageError),
]


@pytest.mark.parametrize(("event", "error"), BAD)
def test_what_could_not_come_back_as_it_went_in_is_refused(event: Event, error: type[SegueError]) -> None:
    with pytest.raises(error):
        check_event(event, OVERVIEW)


@pytest.mark.parametrize(
    "event",
    [
        TURN,
        replace(TURN, content="\ud800\0\u2028", tokens=0),
        replace(TURN, native={"a": [1, 2.5, None, True, {"b": 2**70}]}),
        replace(TURN, extra={"mood": "good"}),
        Unknown(type="poem", data={"lines": ["a"]}, id="u"),
        BranchCreated(name="b", parent="main", at=0, timestamp=NOW, id="a"),
    ],
)
def test_what_can_be_recorded_passes(event: Event) -> None:
    check_event(event, OVERVIEW)


def test_json_may_nest_as_deep_as_it_says_and_no_deeper() -> None:
    deep: object = 1
    for _ in range(DEPTH - 1):
        deep = [deep]
    check_event(replace(TURN, native={"x": deep}), OVERVIEW)
    with pytest.raises(UsageError, match="nested too deeply"):
        check_event(replace(TURN, native={"x": [deep]}), OVERVIEW)

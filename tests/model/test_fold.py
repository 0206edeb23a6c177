from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from segue.errors import NotFoundError, UsageError
from segue.model import (
    BranchCreated,
    BranchSwitched,
    Event,
    Metadata,
    StatusChanged,
    TagsChanged,
    TitleChanged,
    Turn,
    Unknown,
    apply,
    fold,
    initial_overview,
    overview_of,
)

NOW = datetime(2026, 11, 15, tzinfo=UTC)


def metadata() -> Metadata:
    return Metadata(session_id="s", agent="qa", created_at=NOW, status="active", id="m", seq=1)


def turn(content: str, branch: str = "main", minutes: int = 0) -> Turn:
    when = NOW + timedelta(minutes=minutes)
    return Turn(role="user", content=content, timestamp=when, tokens=None, branch=branch, id=content)


def branch(name: str, parent: str, at: int, *, switch: bool = True) -> BranchCreated:
    return BranchCreated(name=name, parent=parent, at=at, switch=switch, timestamp=NOW, id=f"b-{name}")


def numbered(*events: Event) -> list[Event]:
    return [replace(event, seq=seq) for seq, event in enumerate([metadata(), *events], start=1)]


def contents(events: list[Event], name: str) -> list[str]:
    return [item.content for item in fold(events).path(name)]


def test_a_session_is_the_fold_of_its_events() -> None:
    title = TitleChanged(title="Login", timestamp=NOW, id="t")
    tags = TagsChanged(tags=("a", "b"), timestamp=NOW, id="g")
    paused = StatusChanged(status="paused", timestamp=NOW, id="p")
    session = fold(numbered(turn("one"), title, tags, turn("two"), paused))
    assert [item.content for item in session.turns] == ["one", "two"]
    assert (session.title, session.tags, session.status, session.seq) == ("Login", ("a", "b"), "paused", 6)


def test_a_branch_shares_the_turns_before_its_fork_and_no_others() -> None:
    events = numbered(turn("1"), turn("2"), turn("3"), branch("b", "main", 2), turn("4b", "b"), turn("4", "main"))
    assert contents(events, "b") == ["1", "2", "4b"]
    assert contents(events, "main") == ["1", "2", "3", "4"]
    assert fold(events).branch == "b"


def test_a_branch_of_a_branch_cut_above_its_own_fork_keeps_only_what_lies_before_the_cut() -> None:
    events = numbered(
        turn("1"), turn("2"), branch("b", "main", 2), turn("3b", "b"), branch("c", "b", 1), turn("2c", "c")
    )
    assert contents(events, "c") == ["1", "2c"]
    assert fold(events).branches["c"].turn_count == 2


def test_a_fork_may_stay_where_it_is() -> None:
    assert fold(numbered(turn("1"), branch("b", "main", 0, switch=False))).branch == "main"


def test_switching_changes_the_active_branch_and_nothing_else() -> None:
    events = numbered(turn("1"), branch("b", "main", 1), BranchSwitched(branch="main", timestamp=NOW, id="s"))
    assert fold(events).branch == "main"


def test_turns_of_a_branch_whose_beginning_was_lost_are_still_there() -> None:
    assert contents(numbered(turn("1"), turn("x", "lost")), "lost") == ["x"]


def test_a_switch_to_a_lost_branch_is_no_switch() -> None:
    assert fold(numbered(turn("1"), BranchSwitched(branch="lost", timestamp=NOW, id="s"))).branch == "main"


def test_the_last_activity_is_the_latest_time_however_the_clock_jumped() -> None:
    session = fold(numbered(turn("1", minutes=50), turn("2", minutes=10)))
    assert session.updated_at == NOW + timedelta(minutes=50)


def test_unknown_events_are_kept_in_order() -> None:
    unknown = Unknown(type="poem", data={"text": "…"}, id="u")
    session = fold(numbered(turn("1"), unknown, turn("2")))
    assert [item.type for item in session.unknown] == ["poem"]
    assert session.seq == 4


def test_what_does_not_begin_with_metadata_is_no_session() -> None:
    with pytest.raises(UsageError):
        fold([turn("1")])
    with pytest.raises(UsageError):
        fold([])


def test_a_branch_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(NotFoundError) as caught:
        fold(numbered(branch("b", "main", 0))).path("c")
    assert caught.value.hint == "it has b, main"


@given(st.lists(st.sampled_from(["main", "b", "c", "fork", "title", "unknown"]), max_size=30))
def test_folding_at_once_and_one_by_one_agree(steps: list[str]) -> None:
    events: list[Event] = []
    for at, step in enumerate(steps):
        match step:
            case "fork":
                events.append(branch(f"f{at}", "main", 0))
            case "title":
                events.append(TitleChanged(title=str(at), timestamp=NOW, id=str(at)))
            case "unknown":
                events.append(Unknown(type="x", data={}, id=str(at)))
            case name:
                events.append(turn(str(at), name, minutes=at))
    events = numbered(*events)
    first = events[0]
    assert isinstance(first, Metadata)
    overview = initial_overview(first)
    for event in events[1:]:
        overview = apply(overview, event)
    whole = fold(events)
    assert overview_of(whole) == overview
    for name, item in whole.branches.items():
        assert len(whole.path(name)) == item.turn_count

from __future__ import annotations

import pytest

from segue.errors import TransitionError, UsageError
from segue.model import STATUSES, Status, check_transition

ALLOWED = {
    ("active", "paused"),
    ("active", "completed"),
    ("active", "interrupted"),
    ("paused", "active"),
    ("paused", "completed"),
    ("interrupted", "active"),
    ("interrupted", "completed"),
}


@pytest.mark.parametrize("current", STATUSES)
@pytest.mark.parametrize("wanted", STATUSES)
def test_only_the_transitions_of_the_table_are_allowed(current: Status, wanted: Status) -> None:
    if current == wanted or (current, wanted) in ALLOWED:
        check_transition("s", current, wanted)
        return
    with pytest.raises(TransitionError) as caught:
        check_transition("s", current, wanted)
    assert (caught.value.current, caught.value.wanted) == (current, wanted)
    assert caught.value.hint


def test_a_completed_session_becomes_active_only_on_purpose() -> None:
    check_transition("s", "completed", "active", force=True)
    with pytest.raises(TransitionError):
        check_transition("s", "completed", "paused", force=True)


def test_a_status_that_does_not_exist_is_a_mistake_of_the_call() -> None:
    with pytest.raises(UsageError):
        check_transition("s", "active", "asleep")  # type: ignore[arg-type]

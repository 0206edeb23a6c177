"""What is derived from the events of a session and stored beside them, compared with the events themselves.

Listings read columns, and opening a session reads its checkpoint: if one of them is wrong, the events are still right,
and what users see is not. Loading a session needs neither of them, so only an examination pays for this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from psycopg.types.json import Jsonb

from segue.errors import Damage
from segue.model import Turn, fold, overview_of, total_usage
from segue.stores.postgres.columns import event_columns, listed_columns
from segue.stores.postgres.reading import read_checkpoint

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from segue.model import Event, Overview, Session

COLUMNS = (
    *("agent", "title", "tags", "status", "branch", "turn_count", "tool", "project", "folder", "git_branch"),
    *("summary", "usage", "updated_at", "recent_at", "created_at", "version"),
)
"""Those of a row in `sessions` that follow from the events, in the order of `Statements.derived`."""


class Derived(NamedTuple):
    """What `Statements.derived` found, all at one moment."""

    columns: dict[str, Any]
    checkpoint_seq: int | None
    checkpoint: bytes | None
    last_seq: int | None
    """The number of the last event there is, recorded or not."""


def derived_of_row(row: Sequence[Any]) -> Derived:
    return Derived(dict(zip(COLUMNS, row, strict=False)), *row[len(COLUMNS) :])


def derived_damages(
    derived: Derived, session: Session, events: Sequence[Event], columns: Sequence[tuple[int, str, str | None]]
) -> list[Damage]:
    """Every difference. The events are without damage; `columns` are the seq, the kind and the branch of each."""
    return [
        *_listed(derived.columns, overview_of(session), events),
        *_events(events, columns, derived.last_seq),
        *_checkpoint(derived, session.id, events),
    ]


def _listed(found: dict[str, Any], overview: Overview, events: Sequence[Event]) -> Iterator[Damage]:
    usage = total_usage(event for event in events if isinstance(event, Turn))
    expected: dict[str, Any] = {
        **listed_columns(overview, usage),
        "created_at": overview.created_at,
        "version": overview.version,
    }
    for name in COLUMNS:
        value = expected[name].obj if isinstance(expected[name], Jsonb) else expected[name]
        if found[name] != value:
            reason = f"it is {_shown(found[name])} in the table of sessions, and {_shown(value)} by the events"
            yield Damage(f"column {name}", reason)


def _events(
    events: Sequence[Event], columns: Sequence[tuple[int, str, str | None]], last: int | None
) -> Iterator[Damage]:
    expected = event_columns(events, ())
    for (seq, *found), *values in zip(columns, expected["kinds"], expected["branches"], strict=False):  # type: ignore[call-overload]
        if found != values:
            reason = f"its columns are {_shown(found)}, and by its body they are {_shown(values)}"
            yield Damage(f"event {seq}", reason, line=seq)
    if last is not None and last > len(events):
        yield Damage(f"event {last}", "it comes after the last event that was recorded", line=last)


def _checkpoint(derived: Derived, session_id: str, events: Sequence[Event]) -> Iterator[Damage]:
    seq, body = derived.checkpoint_seq, derived.checkpoint
    if seq is None or body is None:
        return
    overview = read_checkpoint(body, session_id)
    if overview is None:
        yield Damage("checkpoint", "it cannot be read: some of its bytes changed", size_bytes=len(body))
    elif overview.seq != seq or not 1 <= seq <= len(events) or overview != overview_of(fold(events[:seq])):
        yield Damage("checkpoint", "it does not match the events", size_bytes=len(body))


def _shown(value: object) -> str:
    return f"{value!r:.60}" if isinstance(value, str | list | dict) else str(value)

"""The door of every store: events are checked, compared with what is recorded, numbered and copied."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from segue.errors import ConflictError, UsageError
from segue.model.checks import check_event
from segue.model.events import Metadata, Record, Turn
from segue.model.fold import OverviewBuilder, initial_overview

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from segue.model.events import Event
    from segue.model.session import Overview


class Accepted(NamedTuple):
    """The result of an append, before anything is written."""

    new: list[Event]
    """Numbered, and copied, since the caller may change the originals later."""
    seqs: tuple[int, ...]
    """The number of every event that was given, new or recorded already."""
    overview: Overview
    """The session after the append."""


def accept_first(session_id: str, events: Sequence[Event]) -> Accepted:
    """Accept the first events of a session. Raises UsageError unless the first one is its metadata."""
    first = events[0] if events else None
    if not isinstance(first, Metadata) or first.session_id != session_id:
        raise UsageError(f"the first event of a session must be its metadata and must name it {session_id!r}")
    if len({event.id for event in events}) < len(events):
        raise UsageError("two events have the same id")
    check_event(first, None)
    metadata = replace(deepcopy(first), seq=1)
    new: list[Event] = [metadata]
    builder = OverviewBuilder(initial_overview(metadata))
    for event in events[1:]:
        check_event(event, builder)
        own = replace(deepcopy(event), seq=builder.seq + 1)
        builder.add(own)
        new.append(own)
    return Accepted(new, tuple(range(1, len(new) + 1)), builder.overview)


def accept(
    events: Iterable[Event],
    overview: Overview,
    recorded: Mapping[str, tuple[int, object]],
    digest: Callable[[Event], object],
    *,
    copy: Callable[[Event], Event] = deepcopy,
) -> Accepted:
    """Accept more events, one after the other. `recorded` maps the id of each known event to its seq and digest.

    Two events with the same content have equal digests. UsageError and ConflictError as in `check_event`;
    ConflictError also for a known id with other content.
    """
    new: dict[str, Event] = {}
    seqs: list[int] = []
    builder = OverviewBuilder(overview)
    for event in events:
        known = recorded.get(event.id)
        if known is None and (earlier := new.get(event.id)) is not None:
            known = (earlier.seq, digest(earlier))
        if known is None:
            check_event(event, builder)
            new[event.id] = own = replace(copy(event), seq=builder.seq + 1)
            builder.add(own)
            seqs.append(own.seq)
        elif known[1] == digest(event):
            seqs.append(known[0])
        else:
            raise ConflictError(f"session {overview.id} already has another event with the id {event.id}")
    return Accepted(list(new.values()), tuple(seqs), builder.overview)


def copy_for_overview(event: Event) -> Event:
    """Copy the event if it may become part of the overview, for stores that keep nothing else in memory."""
    is_unnamed = isinstance(event, Record) and not event.name
    return event if isinstance(event, Turn) or is_unnamed else deepcopy(event)

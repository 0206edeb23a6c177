"""What an append brings: which of its events are new, and what comes of them."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from segue.errors import ConflictError
from segue.model.checks import check_event
from segue.model.fold import OverviewBuilder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from segue.model.events import Event
    from segue.model.session import Overview


class Accepted(NamedTuple):
    new: list[Event]
    """Numbered, and values of our own: the caller may change what was given."""
    seqs: tuple[int, ...]
    """Of each of all, new or known."""
    overview: Overview


def accept(
    events: Iterable[Event],
    overview: Overview,
    recorded: Mapping[str, tuple[int, object]],
    mark: Callable[[Event], object],
) -> Accepted:
    """Take the events in, one after the other; `recorded` has the seq and the mark of what is there, by id.

    Marks are equal for events that say the same. UsageError and ConflictError as in `check_event`; ConflictError for a
    known id with other content.
    """
    new: list[Event] = []
    seqs: list[int] = []
    coming: dict[str, tuple[int, object]] = {}
    folding = OverviewBuilder(overview)
    for event in events:
        known = recorded.get(event.id) or coming.get(event.id)
        if known is None:
            check_event(event, folding)
            own = replace(deepcopy(event), seq=folding.seq + 1)
            folding.add(own)
            new.append(own)
            coming[event.id] = known = (own.seq, mark(event))
        elif known[1] != mark(event):
            raise ConflictError(f"session {overview.id} holds another event with the id {event.id}")
        seqs.append(known[0])
    return Accepted(new, tuple(seqs), folding.overview)

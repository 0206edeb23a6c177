"""A store as a source of the index."""

from __future__ import annotations

from itertools import starmap
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace

from segue.errors import DamagedError, NotFoundError, SegueError
from segue.formats.search_texts import event_texts, overview_texts
from segue.index.source import IndexedSession, ReadPosition, SessionRef
from segue.model import (
    Record,
    Turn,
    head_of,
    is_redaction,
    last_activity,
    overview_of,
    redacted_seqs,
    total_usage,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from segue.model import Event, Head, Overview
    from segue.queries import IndexedText, Queries
    from segue.store import Store


class StoreSource:
    """The sessions of a store."""

    can_preview: ClassVar[bool] = True

    def __init__(self, store: Store) -> None:
        self._store = store

    @property
    def name(self) -> str:
        return self._store.url

    @property
    def queries(self) -> Queries | None:
        return self._store.queries

    def scan(self) -> Iterator[SessionRef]:
        return starmap(SessionRef, self._store.revisions())

    def find(self, id: str) -> SessionRef | None:
        try:
            return SessionRef(id, self._store.revision(id))
        except NotFoundError:
            return None  # deleted meanwhile
        except SegueError as error:  # it exists but cannot be read
            return SessionRef(id, f"{error}")

    def read(self, id: str, *, known: ReadPosition | None = None) -> IndexedSession:
        try:
            overview = self._store.overview(id)
            new = self._events_since(id, known)
            events = new if new is not None else list(self._store.read(id))
        except NotFoundError:
            raise
        except DamagedError:
            return self._salvage(id)
        except SegueError as error:
            return IndexedSession(head=self._unreadable(id, str(error)))
        if events:
            known = ReadPosition(events[-1].seq, events[-1].id)
        texts = (*overview_texts(overview.title, overview.summary), *_event_texts(events, overview))
        indexed = _indexed(self._head_of(overview), overview, texts)
        usage = total_usage(event for event in events if isinstance(event, Turn))
        return replace(
            indexed,
            position=known or ReadPosition(),
            is_update=new is not None,
            usage=usage,
            records=tuple((event.id, event.seq) for event in events if isinstance(event, Record)),
        )

    def preview(self, id: str) -> IndexedSession:
        try:
            overview = self._store.overview(id)
        except NotFoundError:
            raise
        except SegueError as error:
            return IndexedSession(head=self._unreadable(id, str(error)))
        return _indexed(self._head_of(overview), overview, ())

    def is_alive(self, id: str) -> bool:
        try:
            return self._store.owner(id) is not None
        except SegueError:
            return False  # reading it raises the reason

    def _events_since(self, id: str, known: ReadPosition | None) -> list[Event] | None:
        """The events after the known position; None where recorded events may have changed, or are hidden now."""
        if known is None or known.seq == 0 or not self._store.capabilities.append_only:
            return None
        events = list(self._store.read(id, after=known.seq - 1))
        is_there = bool(events) and (events[0].seq, events[0].id) == (known.seq, known.id)
        return events[1:] if is_there and not any(map(is_redaction, events[1:])) else None

    def _salvage(self, id: str) -> IndexedSession:
        examination = self._store.examine(id)
        reason = str(examination.damages[0]) if examination.damages else "it cannot be read"
        session = examination.session
        if session is None:
            return IndexedSession(head=self._unreadable(id, reason))
        turns = [turn for own in session.own_turns.values() for turn in own]
        events: tuple[Event, ...] = (*turns, *session.decisions, *session.learnings, *session.patterns)
        texts = (*overview_texts(session.title, session.summary), *_event_texts(events, session))
        return _indexed(replace(self._head_of(overview_of(session)), damage=reason), session, texts)

    def _head_of(self, overview: Overview) -> Head:
        active = last_activity(overview.updated_at, self._store.changed_at(overview.id))
        return replace(head_of(overview), updated_at=active)

    def _unreadable(self, id: str, reason: str) -> Head:
        head = self._store.head(id)
        return head if head.damage else replace(head, damage=reason)


def _indexed(head: Head, overview: Overview, texts: tuple[IndexedText, ...]) -> IndexedSession:
    return IndexedSession(
        head=head,
        tool=overview.tool,
        project=overview.get_setting("project"),
        folder=overview.get_setting("cwd"),
        git_branch=overview.get_setting("git_branch"),
        summary=overview.summary,
        texts=texts,
    )


def _turn_numbers(events: Sequence[Event], overview: Overview) -> dict[int, int]:
    """By seq, the number of each turn on its branch: the events are all of them, or the last ones."""
    counts = {name: branch.turn_count for name, branch in overview.branches.items()}
    numbers: dict[int, int] = {}
    for event in reversed(events):
        if isinstance(event, Turn) and counts.get(event.branch, 0) > 0:
            numbers[event.seq] = counts[event.branch]
            counts[event.branch] -= 1
    return numbers


def _event_texts(events: Sequence[Event], overview: Overview) -> Iterator[IndexedText]:
    numbers = _turn_numbers(events, overview)
    hidden = redacted_seqs(overview)
    for event in events:
        if event.seq not in hidden:
            yield from event_texts(event, numbers.get(event.seq, 0))

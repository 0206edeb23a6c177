"""A store as a source."""

from __future__ import annotations

from itertools import starmap
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace

from segue.errors import DamagedError, NotFoundError, SegueError
from segue.index.source import IndexedSession, IndexedText, ReadPosition, SessionRef
from segue.model import Decision, Learning, Pattern, Turn, head_of, last_activity, overview_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from segue.model import Event, Head, Overview
    from segue.store import Store


class StoreSource:
    """The sessions of a store."""

    can_preview: ClassVar[bool] = True

    def __init__(self, store: Store) -> None:
        self._store = store

    @property
    def name(self) -> str:
        return self._store.url

    def scan(self) -> Iterator[SessionRef]:
        return starmap(SessionRef, self._store.revisions())

    def look(self, id: str) -> SessionRef | None:
        try:
            return SessionRef(id, self._store.revision(id))
        except NotFoundError:
            return None  # deleted while we looked
        except SegueError as error:  # it is there, and nobody can say more of it
            return SessionRef(id, f"{error}")

    def read(self, id: str, *, known: ReadPosition | None = None) -> IndexedSession:
        try:
            about = self._store.overview(id)
            rest = self._rest(id, known)
            events = rest if rest is not None else list(self._store.read(id))
        except NotFoundError:
            raise
        except DamagedError:
            return self._salvage(id)
        except SegueError as error:
            return IndexedSession(head=self._unreadable(id, str(error)))
        if events:
            known = ReadPosition(events[-1].seq, events[-1].id)
        record = _record(self._head_of(about), about, (*_of_session(about), *_of_events(events)))
        return replace(record, mark=known or ReadPosition(), is_rest=rest is not None)

    def preview(self, id: str) -> IndexedSession:
        try:
            about = self._store.overview(id)
        except NotFoundError:
            raise
        except SegueError as error:
            return IndexedSession(head=self._unreadable(id, str(error)))
        return _record(self._head_of(about), about, ())

    def is_alive(self, id: str) -> bool:
        try:
            return self._store.owner(id) is not None
        except SegueError:
            return False  # whoever reads it hears why nobody can tell

    def _rest(self, id: str, known: ReadPosition | None) -> list[Event] | None:
        """What was recorded beyond the mark; None where recorded events may have changed."""
        if known is None or known.seq == 0 or not self._store.capabilities.append_only:
            return None
        events = list(self._store.read(id, after=known.seq - 1))
        is_there = bool(events) and (events[0].seq, events[0].id) == (known.seq, known.id)
        return events[1:] if is_there else None

    def _salvage(self, id: str) -> IndexedSession:
        examination = self._store.examine(id)
        reason = str(examination.damages[0]) if examination.damages else "it cannot be read"
        session = examination.session
        if session is None:
            return IndexedSession(head=self._unreadable(id, reason))
        turns = [turn for own in session.own_turns.values() for turn in own]
        kept: tuple[Event, ...] = (*turns, *session.decisions, *session.learnings, *session.patterns)
        pieces = (*_of_session(session), *_of_events(kept))
        return _record(replace(self._head_of(overview_of(session)), damage=reason), session, pieces)

    def _head_of(self, about: Overview) -> Head:
        active = last_activity(about.updated_at, self._store.changed_at(about.id))
        return replace(head_of(about), updated_at=active)

    def _unreadable(self, id: str, reason: str) -> Head:
        head = self._store.head(id)
        return head if head.damage else replace(head, damage=reason)


def _record(head: Head, about: Overview, pieces: tuple[IndexedText, ...]) -> IndexedSession:
    return IndexedSession(
        head=head,
        tool=_text(about, "tool"),
        project=_text(about, "project"),
        folder=_text(about, "cwd"),
        summary=about.summary,
        # A tool's session that held other things before is one of its own.
        handed_to="" if "tool_since" in about.overrides else _text(about, "tool_session"),
        pieces=pieces,
    )


def _text(about: Overview, name: str) -> str:
    """As it was said last: a session may go on in another tool, and its folder may move."""
    value = about.overrides.get(name, about.extra.get(name))
    return value if isinstance(value, str) else ""


def _of_session(about: Overview) -> Iterator[IndexedText]:
    if about.title:
        yield IndexedText(kind="title", text=about.title)
    if about.summary:
        yield IndexedText(kind="summary", text=about.summary)


def _of_events(events: Iterable[Event]) -> Iterator[IndexedText]:
    for event in events:
        match event:
            case Turn() if event.content:
                yield IndexedText(kind="turn", text=event.content, seq=event.seq, branch=event.branch, role=event.role)
            case Decision():
                yield IndexedText(kind="decision", text=event.content, seq=event.seq)
            case Learning():
                yield IndexedText(kind="learning", text=event.description, seq=event.seq)
            case Pattern():
                yield IndexedText(kind="learning", text=f"{event.name}: {event.description}", seq=event.seq)

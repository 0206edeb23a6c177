"""Entries by their ids alone. Several conversations may have the same one: forks share the beginning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.bridges.pydantic_ai.entries import EntryNotFoundError
from segue.bridges.pydantic_ai.layout import entries_in, record_id
from segue.bridges.sessions import name_of
from segue.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from segue.bridges.pydantic_ai.entries import Entry
    from segue.bridges.sessions import NamedSessions
    from segue.model import Event

_MORE_TURNS = 8
"""A message may have several turns, and somebody may have added some."""

Found = tuple[str, "Entry"]
"""An entry, its message still packed, and the session that it was found in."""


class EntryLookup:
    """The entries of all conversations, for one call. A session is read when the first of its entries is needed."""

    def __init__(self, sessions: NamedSessions, homes: Mapping[str, str]) -> None:
        self._sessions = sessions
        self._homes = homes
        self._read: dict[str, dict[str, Entry]] = {}

    def add(self, session_id: str, events: Iterable[Event]) -> dict[str, Entry]:
        """Let it know the entries of these events, and look there first; the entries."""
        entries = {entry.id: entry for entry in entries_in(events)}
        self._read.pop(session_id, None)
        self._read = {session_id: entries, **self._read}
        return entries

    def find(self, entry_id: str) -> Found | None:
        for session_id, entries in self._read.items():
            if entry_id in entries:
                return session_id, entries[entry_id]
        for session_id in self._candidates(entry_id):
            if session_id in self._read:
                continue
            try:
                events = self._sessions.store.read(session_id)
                entries = self._read[session_id] = {entry.id: entry for entry in entries_in(events)}
            except NotFoundError:
                continue  # deleted meanwhile
            if entry_id in entries:
                return session_id, entries[entry_id]
        return None

    def line(self, head_id: str, *, limit: int | None = None) -> Iterator[Found]:
        """The entries from this one back to the first, or so many of them. EntryNotFoundError if one is nowhere."""
        entry_id: str | None = head_id
        seen: set[str] = set()
        while entry_id is not None and (limit is None or len(seen) < limit):
            found = self.find(entry_id)
            if found is None or entry_id in seen:  # a circle, which only a file can claim
                raise EntryNotFoundError(entry_id)
            seen.add(entry_id)
            yield found
            entry_id = found[1].parent_id

    def end_of_line(self, head_id: str, *, limit: int) -> list[Found]:
        """Like `line`, at the cost of that many entries where the head is the end of a conversation."""
        home = self._homes.get(head_id)
        if home is not None:
            end = EntryLookup(self._sessions, {})
            try:
                end.add(home, self._sessions.store.tail(home, 2 * limit + _MORE_TURNS))
                return list(end.line(head_id, limit=limit))
            except NotFoundError:
                pass  # it is not there, or not all of it
        return list(self.line(head_id, limit=limit))

    def _candidates(self, entry_id: str) -> Iterator[str]:
        if (home := self._homes.get(entry_id)) is not None:
            yield home
        found = self._sessions.library.find_record(record_id(entry_id), agent=self._sessions.framework)
        if found is None:
            return
        if self._is_whole(found[0]):
            yield found[0]
        for overview in self._sessions.all():  # it is a copy under another name: the original may be here too
            if self._is_whole(overview.id):
                yield overview.id

    def _is_whole(self, session_id: str) -> bool:
        """Whether the session is a conversation: a copy under another name is none."""
        try:
            overview = self._sessions.store.overview(session_id)
        except NotFoundError:
            return False
        return self._sessions.id_of(name_of(overview)) == session_id

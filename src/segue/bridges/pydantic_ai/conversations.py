"""The conversations in a store of Segue: what a session is as a conversation, read, written and deleted."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from pydantic_ai.conversation_store import ConversationConflict

from segue.bridges.packing import pack, unpack
from segue.bridges.pydantic_ai.entries import (
    EntryNotFoundError,
    is_made_after,
    load_entries,
    load_record,
    misshapen,
    unpack_entry,
)
from segue.bridges.pydantic_ai.layout import Line, continue_line, lay_out, records_of
from segue.bridges.pydantic_ai.lookup import EntryLookup
from segue.bridges.pydantic_ai.turns import title_of
from segue.bridges.sessions import new_record
from segue.errors import ConflictError, NotFoundError, SessionLockedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pydantic_ai.conversation_store import ConversationEntry, ConversationRecord

    from segue.bridges.pydantic_ai.entries import Entry
    from segue.bridges.sessions import NamedSessions
    from segue.model import JsonObject, Overview, Record
    from segue.session import LiveSession

STATE = "conversation"
"""The name of the record with what a session is as a conversation."""

_MOST_REMEMBERED = 10_000
"""How many records, and how many ends of histories, are remembered from call to call."""


class Conversations:
    """The conversations of all scopes, by their ids."""

    def __init__(self, sessions: NamedSessions) -> None:
        self._sessions = sessions
        self._listed: dict[str, tuple[str, JsonObject | None]] = {}  # by session: its revision, and its record then
        self._homes: dict[str, str] = {}  # by entry: the session that had it as an end of its history

    def read(self, conversation_id: str) -> ConversationRecord | None:
        overview = self._sessions.overview(conversation_id)
        data = None if overview is None else self._record_in(overview)
        if overview is None or data is None:
            return None
        record = load_record(data, overview.id)
        if record.conversation_id != conversation_id:
            raise misshapen(overview.id, "the conversation", f"it is of {record.conversation_id!r:.80}")
        self._remember(record, overview.id)
        return record

    def records(self, scope: str | None, limit: int | None) -> list[ConversationRecord]:
        found: list[ConversationRecord] = []
        for session_id, data in self._all_records():
            record = load_record(data, session_id)
            if self._sessions.id_of(record.conversation_id) != session_id:
                continue  # a copy of a conversation, under another name
            if scope is None or record.scope == scope:
                self._remember(record, session_id)
                found.append(record)
        found.sort(key=lambda record: record.updated_at, reverse=True)
        return found[:limit]

    def _all_records(self) -> Iterator[tuple[str, JsonObject]]:
        """The record of each conversation, in the order in which they were created."""
        store = self._sessions.store
        heads = self._sessions.library.list(agent=self._sessions.framework)
        revisions = dict(store.revisions())
        for head in sorted(heads, key=lambda head: head.created_at):
            revision = revisions.get(head.id, "")
            known, data = self._listed.get(head.id, ("", None))
            if not revision or known != revision:
                try:
                    data = self._record_in(store.overview(head.id))
                except NotFoundError:
                    continue  # deleted meanwhile
                if len(self._listed) < _MOST_REMEMBERED or head.id in self._listed:
                    self._listed[head.id] = (revision, data)
            if data is not None:
                yield head.id, data

    def write(
        self, record: ConversationRecord, data: JsonObject, entries: Sequence[Entry], expected_revision: str | None
    ) -> None:
        name = record.conversation_id
        lookup = self._lookup()
        if expected_revision is None and not self._has_head(lookup, record, entries):
            raise ConversationConflict(name)  # before there is a session
        with ExitStack() as stack:
            try:
                title = title_of(entry.message for entry in entries)
                writing = self._sessions.writing(name, create=expected_revision is None, title=title)
                session = stack.enter_context(writing)
            except NotFoundError:
                raise ConversationConflict(name) from None
            stored = self._record_in(session.overview)
            if (None if stored is None else stored.get("revision")) != expected_revision:
                raise ConversationConflict(name)
            if self._is_next(session, stored, data, entries):
                line = continue_line(session, entries)
            else:
                line = self._lay_out(session, lookup, record, entries)
            session.record(*line.events, self._state(session, data, line), ids_are_new=True)
            self._remember(record, session.id)

    def _has_head(self, lookup: EntryLookup, record: ConversationRecord, entries: Sequence[Entry]) -> bool:
        head = record.head_id
        return head is None or any(entry.id == head for entry in entries) or lookup.find(head) is not None

    def _is_next(
        self, session: LiveSession, stored: JsonObject | None, data: JsonObject, entries: Sequence[Entry]
    ) -> bool:
        """Whether the entries, which are new, continue one after the other the history that the active branch has."""
        overview = session.overview
        head: object = None
        branches: object = []
        if stored is not None:
            state = overview.records[STATE]
            if (state.data.get("branch"), state.data.get("turns")) != (overview.branch, overview.turn_count):
                return False  # somebody switched, or added turns
            if not all(is_made_after(entry.id, state.timestamp) for entry in entries):
                return False  # it may be there already
            head, branches = stored.get("head_id"), stored.get("branches")
        elif overview.seq > 1:
            return False
        ids = [head, *(entry.id for entry in entries)]
        is_chain = [entry.parent_id for entry in entries] == ids[:-1] and len(set(ids)) == len(ids)
        return is_chain and data["head_id"] == ids[-1] and data["branches"] == branches

    def _lay_out(
        self, session: LiveSession, lookup: EntryLookup, record: ConversationRecord, entries: Sequence[Entry]
    ) -> Line:
        """Bring the session to the line of the head, with entries of this call, of the session and of others."""
        events = list(self._sessions.store.read(session.id))
        own = lookup.add(session.id, events)
        own.update({entry.id: entry for entry in entries})
        line = self._available(lookup, session.id, record.head_id)
        if record.head_id is not None and not line:
            raise ConversationConflict(record.conversation_id)
        laid = lay_out(session, events, line)
        on_line = {entry.id for entry in line}
        # What only a branch that was left needs, or nothing: it is stored all the same.
        more = {entry.id: entry for tip in record.branches for entry in self._available(lookup, session.id, tip)}
        more |= {entry.id: entry for entry in entries}
        apart = [entry for entry in more.values() if not entry.is_packed and entry.id not in on_line]
        records = records_of(session, [*events, *laid.events], apart)
        return Line([*laid.events, *records], laid.branch, laid.turn_count)

    def _available(self, lookup: EntryLookup, session_id: str, head_id: str | None) -> list[Entry]:
        """The line up to an entry, as far back as it is stored: those of other sessions with their messages."""
        found: list[Entry] = []
        try:
            for home, entry in lookup.line(head_id) if head_id is not None else ():
                is_elsewhere = entry.is_packed and home != session_id
                found.append(self._unpacked(home, entry) if is_elsewhere else entry)
        except EntryNotFoundError:
            pass  # nobody has the one before: the history begins here
        return found[::-1]

    def delete(self, conversation_id: str, expected_revision: str) -> None:
        while True:
            overview = self._sessions.overview(conversation_id)
            if overview is None:
                raise ConversationConflict(conversation_id)
            try:
                revision = self._sessions.store.revision(overview.id)
                stored = self._record_in(self._sessions.store.overview(overview.id))
                if stored is None or stored.get("revision") != expected_revision:
                    raise ConversationConflict(conversation_id)
                if self._sessions.remove(conversation_id, revision=revision):
                    return
            except SessionLockedError:
                raise
            except (ConflictError, NotFoundError):
                continue  # changed or deleted meanwhile

    def history(self, head_id: str | None, limit: int | None) -> list[ConversationEntry]:
        if head_id is None or (limit is not None and limit <= 0):
            return []
        lookup = self._lookup()
        found = list(lookup.line(head_id)) if limit is None else lookup.end_of_line(head_id, limit=limit)
        entries = [self._unpacked(home, entry) for home, entry in reversed(found)]
        return load_entries(entries, found[0][0])

    def _lookup(self) -> EntryLookup:
        return EntryLookup(self._sessions, self._homes)

    def _unpacked(self, session_id: str, entry: Entry) -> Entry:
        store = self._sessions.store
        return unpack_entry(entry, session_id, lambda name: store.get_blob(session_id, name))

    def _record_in(self, overview: Overview) -> JsonObject | None:
        """The record of the conversation as JSON; None if the session has none yet."""
        state = overview.records.get(STATE)
        if state is None:
            return None
        packed = state.data.get("record")
        store = self._sessions.store
        try:
            data = unpack(packed, lambda name: store.get_blob(overview.id, name)) if isinstance(packed, dict) else None
        except NotFoundError:
            data = None
        if data is None:
            raise misshapen(overview.id, "the conversation", "it has no record")
        return data

    def _state(self, session: LiveSession, data: JsonObject, line: Line) -> Record:
        packed = pack(data, session.put_blob, what="the conversation")
        return new_record(STATE, {"record": packed, "branch": line.branch, "turns": line.turn_count}, name=STATE)

    def _remember(self, record: ConversationRecord, session_id: str) -> None:
        """Which session has the ends of its history: what is asked for next begins there."""
        if len(self._homes) > _MOST_REMEMBERED:
            self._homes.clear()
        for entry_id in (record.head_id, *record.branches):
            if entry_id is not None:
                self._homes[entry_id] = session_id

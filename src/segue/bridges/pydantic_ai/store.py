"""The conversation store of Pydantic AI, on any store of Segue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic_ai.conversation_store import ConversationStore

from segue.bridges.pydantic_ai.conversations import Conversations
from segue.bridges.pydantic_ai.entries import dump_entries, dump_record
from segue.bridges.sessions import WAIT_SECONDS, NamedSessions, in_thread
from segue.closing import Closing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic_ai.conversation_store import ConversationEntry, ConversationRecord

    from segue.library import Library


class SegueConversationStore(Closing, ConversationStore):
    """Conversations as sessions: `store` is the URL of a store, or a library; None means the user's own store.

    A conversation is a session, and each entry a turn of it, or a few. A fork has the entries that it shares as turns
    of its own, so that it stays whole when the other conversation is deleted. A deleted conversation goes to the trash
    of the store, where there is one, with its entries.
    """

    def __init__(self, store: str | Library | None = None, *, wait_seconds: float = WAIT_SECONDS) -> None:
        self._sessions = NamedSessions("pydantic-ai", store, wait_seconds=wait_seconds)
        self._conversations = Conversations(self._sessions)

    def __repr__(self) -> str:
        return f"<SegueConversationStore {self._sessions.store.url}>"

    def close(self) -> None:
        self._sessions.close()

    async def read_record(self, conversation_id: str) -> ConversationRecord | None:
        return await in_thread(self._conversations.read, conversation_id)

    async def read_records(self, *, scope: str | None = None, limit: int | None = None) -> Sequence[ConversationRecord]:
        return await in_thread(self._conversations.records, scope, limit)

    async def write_record(
        self,
        record: ConversationRecord,
        *,
        new_entries: Sequence[ConversationEntry] = (),
        expected_revision: str | None,
    ) -> None:
        # As JSON at once: the caller may change the messages while the store writes.
        data, entries = dump_record(record), dump_entries(new_entries)
        await in_thread(self._conversations.write, record, data, entries, expected_revision)

    async def delete_record(self, conversation_id: str, *, expected_revision: str) -> None:
        await in_thread(self._conversations.delete, conversation_id, expected_revision)

    async def read_entry(self, entry_id: str) -> ConversationEntry:
        return (await in_thread(self._conversations.history, entry_id, 1))[0]

    async def read_history(self, head_id: str | None, *, limit: int | None = None) -> list[ConversationEntry]:
        return await in_thread(self._conversations.history, head_id, limit)

"""Stores of the bridge for tests: each with a world of its own, also where they share a server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.bridges import NamedSessions
from segue.bridges.pydantic_ai import SegueConversationStore
from segue.bridges.pydantic_ai.conversations import Conversations

if TYPE_CHECKING:
    from segue.model import Session


def store_in(url: str, world: str) -> SegueConversationStore:
    """A store whose conversations no store of another world sees."""
    store = SegueConversationStore(url)
    store._sessions = NamedSessions(f"pydantic-ai-{world}", store._sessions.library)
    store._conversations = Conversations(store._sessions)
    return store


def session_of(store: SegueConversationStore, conversation_id: str) -> Session:
    return store._sessions.store.load(store._sessions.id_of(conversation_id))


def entries_shown(session: Session) -> list[object]:
    """The ids of the entries of which the active branch has turns."""
    return [turn.native["id"] for turn in session.turns if turn.native is not None]

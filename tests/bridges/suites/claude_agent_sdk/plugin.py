"""Puts our session store in the place of the SDK's own one in memory."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import claude_agent_sdk
from claude_agent_sdk._internal import session_store

import segue
from segue.bridges import NamedSessions, new_id
from segue.bridges.claude_agent_sdk import SegueSessionStore
from segue.bridges.claude_agent_sdk.store import FRAMEWORK, _Place

if TYPE_CHECKING:
    from claude_agent_sdk import SessionKey, SessionStoreEntry, SessionStoreListEntry

_LIBRARY = segue.open(os.environ["SEGUE_SUITE_STORE"])
"""One for all, with one pool of connections."""


class SuiteStore(SegueSessionStore):
    """A store in which no other has appended, with what the SDK's own one has for tests."""

    def __init__(self) -> None:
        super().__init__(_LIBRARY)
        self._mtimes: dict[str, int] = {}
        self.clear()

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        """With the times that a test has set."""
        found = await super().list_sessions(project_key)
        times = {one["session_id"]: self._mtimes.get(f"{project_key}/{one['session_id']}") for one in found}
        return [{**one, "mtime": times[one["session_id"]] or one["mtime"]} for one in found]

    def clear(self) -> None:
        self._sessions = NamedSessions(f"{FRAMEWORK}-{new_id()}", self._sessions.library)

    def get_entries(self, key: SessionKey) -> list[SessionStoreEntry]:
        return self._load(_Place(key, None)) or []

    @property
    def size(self) -> int:
        return sum(not overview.tags for overview in self._sessions.all())


claude_agent_sdk.InMemorySessionStore = SuiteStore  # type: ignore[misc,assignment]
session_store.InMemorySessionStore = SuiteStore  # type: ignore[misc,assignment]

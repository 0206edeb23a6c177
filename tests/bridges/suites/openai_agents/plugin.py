"""Puts SegueSession in the place of the SDK's sessions, with their constructors; each database is apart."""

from __future__ import annotations

import hashlib
import os
import secrets
from typing import TYPE_CHECKING, Any

import agents
import agents.extensions.memory
import agents.memory
import pytest

from segue.bridges.openai_agents import SegueSession
from segue.bridges.sessions import NamedSessions
from segue.library import open as open_library

if TYPE_CHECKING:
    from agents import SessionSettings
    from agents.items import TResponseInputItem

LIBRARY = open_library(os.environ["SEGUE_SUITE_STORE"])
IN_MEMORY = ":memory:"


def world(*names: object) -> NamedSessions:
    """The sessions of a database: those in memory are alone, the others are shared by all that name the same file."""
    is_shared = bool(names) and str(names[0]) != IN_MEMORY
    whole = repr([str(name) for name in names]) if is_shared else secrets.token_hex(8)
    return NamedSessions(f"openai-agents-{hashlib.sha256(whole.encode()).hexdigest()[:12]}", LIBRARY)


class SQLiteSession(SegueSession):
    def __init__(
        self,
        session_id: str,
        db_path: object = IN_MEMORY,
        sessions_table: str = "agent_sessions",
        messages_table: str = "agent_messages",
        session_settings: SessionSettings | None = None,
    ) -> None:
        super().__init__(session_id, LIBRARY, session_settings=session_settings)
        self._history.sessions = world(db_path, sessions_table, messages_table)


class AdvancedSQLiteSession(SegueSession):
    def __init__(
        self,
        *,
        session_id: str,
        db_path: object = IN_MEMORY,
        session_settings: SessionSettings | None = None,
        **options: object,
    ) -> None:
        super().__init__(session_id, LIBRARY, session_settings=session_settings)
        self._history.sessions = world(db_path, [options.get(name) for name in ("sessions_table", "messages_table")])

    @property
    def _current_branch_id(self) -> str:
        """Which branch the object is on: the tests ask for it."""
        branches = self._history.branches()
        choice = self._history.choice
        return "main" if branches is None else branches.name_of(branches.current(choice.generation, choice.branch))


class SimpleListSession(SegueSession):
    """A session of a user, who knows only the protocol."""

    _get_compaction_snapshot = None  # type: ignore[assignment]
    _atomic_replace_items = None  # type: ignore[assignment]

    def __init__(self, session_id: str = "test", history: list[TResponseInputItem] | None = None) -> None:
        super().__init__(session_id, LIBRARY)
        self.session_settings = None
        self._history.sessions = world()
        self._ignore_ids_for_matching = False
        if history:
            self._history.add(history, self._history.choice)

    @property
    def _items(self) -> list[Any]:
        return self._history.items(None)

    @property
    def saved_items(self) -> list[Any]:
        return self._items


class CountingSession(SimpleListSession):
    def __init__(self, session_id: str = "test", history: list[TResponseInputItem] | None = None) -> None:
        super().__init__(session_id, history)
        self.pop_calls = 0

    async def pop_item(self, **options: object) -> TResponseInputItem | None:
        self.pop_calls += 1
        return await super().pop_item(**options)


class IdStrippingSession(CountingSession):
    def __init__(self, session_id: str = "test", history: list[TResponseInputItem] | None = None) -> None:
        super().__init__(session_id, history)
        self._ignore_ids_for_matching = True

    async def add_items(self, items: list[TResponseInputItem], **options: object) -> None:
        await super().add_items([{key: item[key] for key in item if key != "id"} for item in items], **options)


agents.SQLiteSession = agents.memory.SQLiteSession = SQLiteSession  # type: ignore[assignment,misc]
agents.extensions.memory.AdvancedSQLiteSession = AdvancedSQLiteSession  # type: ignore[assignment,misc]


@pytest.hookimpl(trylast=True)
def pytest_configure() -> None:
    from tests.utils import simple_session

    simple_session.SimpleListSession = SimpleListSession
    simple_session.CountingSession = CountingSession
    simple_session.IdStrippingSession = IdStrippingSession

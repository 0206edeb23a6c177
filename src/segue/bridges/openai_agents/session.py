"""A session of the OpenAI Agents SDK in a store of Segue."""

from __future__ import annotations

import asyncio
import copy
import logging
import os
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from agents.memory.session import SessionABC, _CompactionSnapshot
from agents.memory.session_settings import SessionSettings, coerce_session_settings, resolve_session_limit

from segue.bridges.openai_agents.branching import BranchedHistory
from segue.bridges.openai_agents.conversation import (
    by_turns,
    entries_of,
    find_user_turns,
    sum_usage,
    tool_usage,
    user_turns,
)
from segue.bridges.openai_agents.items import items_of
from segue.bridges.openai_agents.usage import cost_since, stored_usage
from segue.bridges.sessions import WAIT_SECONDS, NamedSessions, in_thread, name_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from agents import RunContextWrapper
    from agents.items import TResponseInputItem
    from agents.result import RunResultBase

    from segue.bridges.openai_agents.conversation import Entry
    from segue.library import Library
    from segue.model import JsonObject

P = ParamSpec("P")
T = TypeVar("T")

FRAMEWORK = "openai-agents"
_LOG = logging.getLogger("segue.bridges.openai_agents")
_opened: dict[tuple[str | None, float], NamedSessions] = {}
"""The stores that were opened by their URL: sessions are made for each request of a server, and share them."""
os.register_at_fork(after_in_child=_opened.clear)


def _sessions(store: str | Library | None, wait_seconds: float) -> NamedSessions:
    if (store is not None and not isinstance(store, str)) or store == "memory:":
        return NamedSessions(FRAMEWORK, store, wait_seconds=wait_seconds)
    key = (store, wait_seconds)
    if key not in _opened:
        _opened[key] = NamedSessions(FRAMEWORK, store, wait_seconds=wait_seconds)
    return _opened[key]


class SegueSession(SessionABC):
    """The history of an agent, in any store of Segue: `SegueSession("user-123", "journal:~/agents")`.

    It has the methods of `SQLiteSession` and of `AdvancedSQLiteSession`. Nothing is destroyed: to pop an item or to
    clear the session begins a new version of its branch, and the others stay. An object stays on the branch that it was
    on at its first use; a new one begins on the branch that was switched to last.

    `store` is the URL of a store, or a library that is open already; None means the user's own store. `turn_limit`
    limits what a run gets to the last messages of the user, each with everything that followed it.
    """

    session_settings: SessionSettings | None = None

    def __init__(
        self,
        session_id: str,
        store: str | Library | None = None,
        *,
        session_settings: SessionSettings | dict[str, Any] | None = None,
        turn_limit: int | None = None,
        wait_seconds: float = WAIT_SECONDS,
    ) -> None:
        self.session_id = session_id
        settings = SessionSettings() if session_settings is None else coerce_session_settings(session_settings)
        self.session_settings = settings
        self.turn_limit = turn_limit
        self._wait_seconds = wait_seconds
        self._history = BranchedHistory(_sessions(store, wait_seconds), session_id)
        self._is_closed = False

    def __repr__(self) -> str:
        return f"<SegueSession {self.session_id!r} in {self._sessions.store.url}>"

    @property
    def _sessions(self) -> NamedSessions:
        return self._history.sessions

    @property
    def segue_id(self) -> str:
        """The id of the session for the commands: `segue show ID`."""
        return self._sessions.id_of(self.session_id)

    # ── The protocol ─────────────────────────────────────────────────────────────────────────────────────────────────

    async def get_items(
        self,
        limit: int | None = None,
        branch_id: str | None = None,
        *,
        offset: int = 0,
        turns: int | None = None,
        wrapper: RunContextWrapper[Any] | None = None,
    ) -> list[TResponseInputItem]:
        """The last `limit` items of the branch before the `offset` newest, oldest first.

        With `turns`, the last messages of the user instead, each with everything that followed it.
        """
        cost_since(wrapper)
        limit = resolve_session_limit(limit, self.session_settings)
        turns = self.turn_limit if turns is None and limit is None else turns
        if turns is not None:
            found = await self._read(partial(self._history.items_of_turns, turns, branch=branch_id))
        else:
            found = await self._read(partial(self._history.items, limit, offset=offset, branch=branch_id))
        return cast("list[TResponseInputItem]", found)

    async def add_items(
        self, items: list[TResponseInputItem], *, wrapper: RunContextWrapper[Any] | None = None
    ) -> None:
        """Record the items, all or none."""
        self._check_open()
        cost = cost_since(wrapper)
        if items:
            await self._write(self._history.add, list(items), self._history.choice, cost)

    async def pop_item(self, *, wrapper: RunContextWrapper[Any] | None = None) -> TResponseInputItem | None:  # noqa: ARG002 - all four methods take it, or none
        """Remove the last item from the branch and return it. The version of the branch that has it stays."""
        return cast("TResponseInputItem | None", await self._write(self._history.pop, self._history.choice))

    async def clear_session(self, *, wrapper: RunContextWrapper[Any] | None = None) -> None:  # noqa: ARG002
        """Begin again with an empty branch. What there was stays in the store."""
        await self._write(self._history.clear)

    async def _get_compaction_snapshot(
        self, limit: int, *, prune_prefix: Callable[[TResponseInputItem], bool] | None = None
    ) -> _CompactionSnapshot | None:
        """The last items, which can be replaced if they are still the last ones by then.

        None if they cannot: a subclass may change what it reads or writes, and turns of other tools are not items.
        """
        own = self._has_own("get_items", "add_items")
        turns = await self._read(partial(self._history.turns, limit + 1)) if own else ()
        items = [items_of(turn, self._history.get_blob) for turn in turns[-limit:]]
        if not own or any(len(found) != 1 for found in items):
            return None
        choice, ids = self._history.choice, [turn.id for turn in turns[-limit:]]

        async def replace_suffix(start: int, output: list[TResponseInputItem]) -> bool:
            if not ids[start:]:
                return False
            is_over = cast("Callable[[JsonObject], bool] | None", prune_prefix)
            return await self._write(self._history.replace_end, ids[start:], list(output), choice, is_over)

        found = cast("list[TResponseInputItem]", [one for (one,) in items])
        return _CompactionSnapshot(found, len(turns) <= limit, replace_suffix)

    async def _atomic_replace_items(self, items: list[TResponseInputItem]) -> bool:
        """Replace the whole history of the branch at once."""
        if not self._has_own("add_items", "clear_session"):
            return False
        await self._write(self._history.replace_all, list(items), self._history.choice)
        return True

    # ── Sessions ─────────────────────────────────────────────────────────────────────────────────────────────────────

    @classmethod
    async def list_sessions(
        cls, store: str | Library | None = None, *, limit: int | None = None, offset: int = 0
    ) -> list[dict[str, Any]]:
        """The sessions of the SDK in the store, the last active first."""
        sessions = _sessions(store, WAIT_SECONDS)

        def read() -> list[dict[str, Any]]:
            stop = None if limit is None else offset + limit
            return [
                {
                    "session_id": name_of(overview),
                    "segue_id": overview.id,
                    "message_count": overview.turn_count,
                    "created_at": overview.created_at,
                    "updated_at": overview.updated_at,
                }
                for overview in islice(sessions.all(), offset, stop)
            ]

        return await in_thread(read)

    async def delete_session(self) -> bool:
        """Move the session to the trash of the store, from which `segue trash` restores it; False if there is none."""
        return await self._write(self._sessions.remove, self.session_id)

    def close(self) -> None:
        """Use the object no more. The store stays open for others."""
        self._is_closed = True

    # ── Branches ─────────────────────────────────────────────────────────────────────────────────────────────────────

    async def create_branch_from_turn(self, turn_number: int, branch_name: str | None = None) -> str:
        """Begin a branch with everything before a message of the user, and switch to it; its name."""
        if branch_name is not None and not branch_name.strip():
            raise ValueError("Branch name cannot be empty")
        history = self._history
        return await self._write(history.create_branch, branch_name, turn_number, history.choice)

    async def create_branch_from_content(self, search_term: str, branch_name: str | None = None) -> str:
        """The same, at the first message of the user with this text."""
        found = await self.find_turns_by_content(search_term)
        if not found:
            raise ValueError(f"No user turns found containing '{search_term}'")
        return await self.create_branch_from_turn(found[0]["turn"], branch_name)

    async def switch_to_branch(self, branch_id: str) -> None:
        await self._write(self._history.switch, branch_id)

    async def delete_branch(self, branch_id: str, force: bool = False) -> None:  # noqa: FBT001, FBT002 - as in AdvancedSQLiteSession
        """Hide a branch. Its turns stay in the store, and its name is not free again."""
        if not branch_id or not branch_id.strip():
            raise ValueError("Branch ID cannot be empty")
        if branch_id == "main":
            raise ValueError("Cannot delete the 'main' branch")
        await self._write(partial(self._history.delete_branch, force=force), branch_id)

    async def list_branches(self) -> list[dict[str, Any]]:
        return await self._read(self._history.list_branches)

    # ── Turns ────────────────────────────────────────────────────────────────────────────────────────────────────────

    async def get_conversation_turns(self, branch_id: str | None = None) -> list[dict[str, Any]]:
        """The messages of the user, to choose where to branch."""
        return await self._read(lambda: user_turns(self._entries(branch_id)))

    async def find_turns_by_content(self, search_term: str, branch_id: str | None = None) -> list[dict[str, Any]]:
        return await self._read(lambda: find_user_turns(self._entries(branch_id), search_term))

    async def get_conversation_by_turns(self, branch_id: str | None = None) -> dict[int, list[dict[str, str | None]]]:
        """By the number of the user's message: the type of each item, and the tool that it calls."""
        return await self._read(lambda: by_turns(self._entries(branch_id)))

    async def get_tool_usage(self, branch_id: str | None = None) -> list[tuple[str, int, int]]:
        """For each turn and tool, its name, how often it was called, and the number of the turn."""
        return await self._read(lambda: tool_usage(self._entries(branch_id)))

    async def store_run_usage(self, result: RunResultBase) -> None:
        """Store what a run has used, for the latest turn. A failure is logged, and not raised: the run is over."""
        choice = self._history.choice
        try:
            usage = result.context_wrapper.usage
            if usage is not None:
                await self._write(self._history.store_usage, stored_usage(usage), choice)
        except Exception:  # noqa: BLE001 - as in AdvancedSQLiteSession
            _LOG.exception("the usage of a run in session %s was not stored", self.session_id)

    async def get_session_usage(self, branch_id: str | None = None) -> dict[str, int] | None:
        """The sum of what was stored for a branch, or for all of them."""
        read = partial(self._history.usage, branch_id or None, everywhere=not branch_id)
        return sum_usage(await self._read(read))

    async def get_turn_usage(
        self, user_turn_number: int | None = None, branch_id: str | None = None
    ) -> list[dict[str, Any]] | dict[str, Any]:
        found = await self._read(partial(self._history.usage, branch_id))
        if user_turn_number is None:
            return [{"user_turn_number": usage.turn, **usage.as_dict()} for usage in found]
        return next((usage.as_dict() for usage in found if usage.turn == user_turn_number), {})

    # ── Copies ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def __copy__(self) -> Self:
        return self.__deepcopy__({})

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Another object for the same session, on the same branch."""
        other = type(self).__new__(type(self))
        history = BranchedHistory(self._sessions, self.session_id, self._history.choice)
        settings = copy.deepcopy(self.session_settings, memo)
        other.__dict__.update(self.__dict__, _history=history, session_settings=settings)
        return other

    def __getstate__(self) -> dict[str, Any]:
        """A pickle names the store by its URL, and has nothing of the history."""
        url = self._sessions.store.url
        if not self._sessions.store.capabilities.shared:
            raise TypeError(f"cannot pickle a session in {url}: no other process has it")
        state = {name: value for name, value in self.__dict__.items() if name != "_history"}
        return {**state, "store": url, "choice": self._history.choice}

    def __setstate__(self, state: dict[str, Any]) -> None:
        url, choice = state.pop("store"), state.pop("choice")
        self.__dict__.update(state)
        self._history = BranchedHistory(_sessions(url, self._wait_seconds), self.session_id, choice)

    # ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _entries(self, branch_id: str | None) -> list[Entry]:
        return list(entries_of(self._history.turns(branch=branch_id), self._history.get_blob))

    def _has_own(self, *methods: str) -> bool:
        """Whether no subclass has changed what these methods do."""
        return all(getattr(type(self), name) is getattr(SegueSession, name) for name in methods)

    def _check_open(self) -> None:
        if self._is_closed:
            raise RuntimeError(f"{type(self).__name__} is closed")

    async def _read(self, call: Callable[[], T]) -> T:
        self._check_open()
        return await in_thread(call)

    async def _write(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call it in a thread, and return or raise when it is done, also if the caller is cancelled."""
        self._check_open()
        task = asyncio.ensure_future(in_thread(call, *args, **kwargs))
        cancelled: asyncio.CancelledError | None = None
        while not task.done():
            try:
                await asyncio.wait([task])
            except asyncio.CancelledError as error:
                cancelled = cancelled or error
        if cancelled is not None:
            task.exception()  # it was looked at
            raise cancelled
        return task.result()

"""A history provider of the Agent Framework on a Segue store: a session is a session, and a message is a turn."""

from __future__ import annotations

from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from agent_framework import HistoryProvider, Message
from agent_framework._sessions import filter_new_messages

from segue.bridges.agent_framework.turns import NOT_MEASURED, Measured, measured, message_of_turn, shown
from segue.bridges.packing import pack, unpack
from segue.bridges.sessions import WAIT_SECONDS, NamedSessions, in_thread, new_id
from segue.clock import utc_now
from segue.closing import Closing
from segue.errors import Damage, DamagedError, NotFoundError
from segue.model import Turn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_framework import AgentResponse, AgentSession, SessionContext, SupportsAgentRun

    from segue.library import Library
    from segue.model import Overview
    from segue.session import LiveSession

_response: ContextVar[AgentResponse[Any] | None] = ContextVar("segue_response", default=None)
"""The answer whose messages are being saved: it knows what it used."""


class SegueHistoryProvider(HistoryProvider, Closing):
    """History in a store: its URL, a library that is open, or None for the user's own store.

    As the providers that come with the framework, it leaves out messages that repeat the end of the history. A provider
    with a `source_id` of its own has sessions of its own. Threads and processes are served in turn; a call waits up to
    `wait_seconds` for another process.
    """

    DEFAULT_SOURCE_ID: ClassVar[str] = "segue_history"
    DEFAULT_SESSION: ClassVar[str] = "default"

    def __init__(
        self,
        store: str | Library | None = None,
        *,
        source_id: str = DEFAULT_SOURCE_ID,
        load_messages: bool = True,
        store_inputs: bool = True,
        store_context_messages: bool = False,
        store_context_from: set[str] | None = None,
        store_outputs: bool = True,
        skip_excluded: bool = False,
        wait_seconds: float = WAIT_SECONDS,
    ) -> None:
        super().__init__(
            source_id,
            load_messages=load_messages,
            store_inputs=store_inputs,
            store_context_messages=store_context_messages,
            store_context_from=store_context_from,
            store_outputs=store_outputs,
        )
        self.skip_excluded = skip_excluded
        self._sessions = NamedSessions("agent-framework", store, wait_seconds=wait_seconds)
        self._scope = () if source_id == self.DEFAULT_SOURCE_ID else (source_id,)

    def close(self) -> None:
        self._sessions.close()

    async def get_messages(
        self, session_id: str | None, *, state: dict[str, Any] | None = None, **_: object
    ) -> list[Message]:
        """The messages of the session, oldest first; `state` is not used."""
        del state
        messages = await in_thread(self._read, session_id or self.DEFAULT_SESSION)
        if self.skip_excluded:
            return [message for message in messages if not message.additional_properties.get("_excluded", False)]
        return messages

    async def save_messages(
        self,
        session_id: str | None,
        messages: Sequence[Message],
        *,
        state: dict[str, Any] | None = None,
        **_: object,
    ) -> None:
        """Add the messages to the session, all or none; `state` is not used."""
        del state
        if messages:
            await in_thread(self._save, session_id or self.DEFAULT_SESSION, list(messages), measured(_response.get()))

    async def after_run(
        self, *, agent: SupportsAgentRun, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        token = _response.set(context.response)
        try:
            await super().after_run(agent=agent, session=session, context=context, state=state)
        finally:
            _response.reset(token)

    def _read(self, name: str) -> list[Message]:
        overview = self._sessions.overview(name, scope=self._scope)
        return [] if overview is None else self._last(overview, overview.turn_count)

    def _save(self, name: str, messages: list[Message], answer: Measured) -> None:
        title = next((message.text for message in messages if message.role == "user" and message.text), "")
        with self._sessions.writing(name, scope=self._scope, title=title) as live:
            # Only so many can be repeated, and one more shows that there are more.
            known = self._last(live.overview, len(messages) + 1)
            new = filter_new_messages(known, messages)
            answers = [place for place, message in enumerate(new) if message.role == "assistant"]
            turns = [
                self._turn(live, message, answer if answers and place == answers[-1] else NOT_MEASURED)
                for place, message in enumerate(new)
            ]
            if turns:
                live.record(*turns, ids_are_new=True)

    def _turn(self, live: LiveSession, message: Message, answer: Measured) -> Turn:
        packed = pack(message.to_dict(), live.put_blob, what="the message")
        value = packed.get("value")
        role, content, parts = shown(message, live.put_blob)
        return Turn(
            role=role,
            content=content,
            parts=parts,
            native=value if isinstance(value, dict) else packed,
            branch=live.branch,
            tokens=answer.tokens,
            tokens_by="" if answer.tokens is None else "provider",
            model=answer.model,
            timestamp=utc_now(),
            id=new_id(),
            extra={"usage": answer.usage} if answer.usage else {},
        )

    def _last(self, overview: Overview, count: int) -> list[Message]:
        try:
            turns = self._sessions.store.tail(overview.id, count, branch=overview.branch)
        except NotFoundError:
            return []  # deleted meanwhile
        return [self._message(overview.id, turn) for turn in turns]

    def _message(self, id: str, turn: Turn) -> Message:
        native = turn.native or {}
        is_message = isinstance(native.get("contents"), list)
        value = unpack({"value": native} if is_message else native, partial(self._sessions.store.get_blob, id))
        if value is None:
            return message_of_turn(turn)
        try:
            return Message.from_dict(value)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            reason = f"it is not a message of the Agent Framework ({error})"
            raise DamagedError(id, [Damage(f"event {turn.seq}", reason)]) from error

"""A session repository of Strands on a Segue store.

A session of Strands is a session of Segue. Each of its agents has a branch of its own, so that all of them are in one
place, recorded in one order, and `segue show --branch` tells them apart; the active branch is that of the agent that
recorded last. A message is a turn. The states of agents are named records.

Strands numbers messages by itself. Where another process has recorded a message of that number meanwhile, the new one
gets the next number, which the caller finds in the message: nothing is overwritten.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

from msgspec.structs import replace
from strands.session.session_repository import SessionRepository
from strands.types.exceptions import SessionException
from strands.types.session import Session, SessionAgent, SessionMessage

from segue.bridges.packing import pack, unpack
from segue.bridges.sessions import WAIT_SECONDS, NamedSessions, new_id, new_record
from segue.bridges.strands.agents import KIND, StoredAgent, find_agent, free_branch, new_branch, record_name
from segue.bridges.strands.turns import measured, message_of_turn, moment_of, shown
from segue.bridges.strands.values import with_bytes, without_bytes
from segue.clock import utc_now
from segue.closing import Closing
from segue.errors import NotFoundError, SegueError, SessionExistsError
from segue.model import MAIN, BranchCreated, BranchSwitched, Turn, new_redaction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from strands.multiagent.base import MultiAgentBase

    from segue.library import Library
    from segue.model import Event, JsonObject, Overview
    from segue.session import LiveSession

T = TypeVar("T")

_SESSION = "session"
_MULTI_AGENT = "multi_agent"
_HIGHEST = "highest_message_id"


class SegueRepository(SessionRepository, Closing):
    """Sessions of Strands in a store: its URL, a library that is open, or None for the user's own store.

    Errors are SessionException, as those of the file session manager. Threads and processes are served in turn; a call
    waits up to `wait_seconds` for another process.
    """

    def __init__(self, store: str | Library | None = None, *, wait_seconds: float = WAIT_SECONDS) -> None:
        self._sessions = NamedSessions("strands", store, wait_seconds=wait_seconds)
        self._highest: dict[str, tuple[int, dict[str, int]]] = {}
        """By session: the number of its last event when we left it, and by branch the highest number of a message."""

    def close(self) -> None:
        self._sessions.close()

    # ── Sessions ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def create_session(self, session: Session, **_: object) -> Session:
        with _session_errors():
            packed = pack(session.to_dict(), None, what="the session")
            try:
                self._sessions.create(session.session_id, new_record(_SESSION, packed, name=_SESSION))
            except SessionExistsError:
                raise SessionException(f"Session {session.session_id} already exists") from None
        return session

    def read_session(self, session_id: str, **_: object) -> Session | None:
        with _session_errors():
            overview = self._sessions.overview(session_id)
            data = None if overview is None else self._unpacked(overview, _SESSION)
            return None if data is None else _restored(Session.from_dict, data, f"session {session_id}")

    def delete_session(self, session_id: str, **_: object) -> None:
        """Move the session to the trash, where the store has one."""
        with _session_errors():
            if not self._sessions.remove(session_id):
                raise SessionException(f"Session {session_id} does not exist")

    # ── Agents ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def create_agent(self, session_id: str, session_agent: SessionAgent, **_: object) -> None:
        agent_id = session_agent.agent_id
        with self._writing(session_id) as live:
            if find_agent(live.overview, agent_id) is not None:
                raise SessionException(f"Agent {agent_id} already exists in session {session_id}")
            branch = new_branch(live.overview, agent_id)
            agent = StoredAgent(id=agent_id, branch=branch, packed=_pack_agent(session_agent, live))
            begun = BranchCreated(name=branch, parent=MAIN, at=0, timestamp=utc_now(), id=new_id())
            self._record(live, begun, _record_of(agent))

    def read_agent(self, session_id: str, agent_id: str, **_: object) -> SessionAgent | None:
        with _session_errors():
            overview = self._sessions.overview(session_id)
            data = None if overview is None else self._unpacked(overview, record_name(agent_id))
            return None if data is None else _restored(SessionAgent.from_dict, data, f"agent {agent_id}")

    def update_agent(self, session_id: str, session_agent: SessionAgent, **_: object) -> None:
        agent_id = session_agent.agent_id
        with self._writing(session_id) as live:
            agent = find_agent(live.overview, agent_id)
            before = self._unpacked(live.overview, record_name(agent_id))
            if agent is None or before is None:
                raise SessionException(f"Agent {agent_id} in session {session_id} does not exist")
            session_agent.created_at = _restored(SessionAgent.from_dict, before, f"agent {agent_id}").created_at
            self._record(live, _record_of(replace(agent, packed=_pack_agent(session_agent, live))))

    # ── Messages ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def create_message(self, session_id: str, agent_id: str, session_message: SessionMessage, **_: object) -> None:
        _check_message_id(session_message.message_id)
        with self._writing(session_id) as live:
            agent = _agent_of(live.overview, session_id, agent_id)
            highest = self._highest_id(live.overview, agent.branch)
            if session_message.message_id <= highest:
                there = self._find(live.overview, agent.branch, session_message.message_id)
                if there is not None and _is_same(there[1], session_message):
                    return
                if there is not None:
                    session_message.message_id = highest + 1
            turn = self._turn(live, agent.branch, session_message, highest)
            self._record(live, *_events_before(live.overview, agent), turn)

    def read_message(self, session_id: str, agent_id: str, message_id: int, **_: object) -> SessionMessage | None:
        _check_message_id(message_id)
        with _session_errors():
            overview = self._sessions.overview(session_id)
            agent = None if overview is None else find_agent(overview, agent_id)
            if overview is None or agent is None:
                return None
            found = self._find(overview, agent.branch, message_id)
            return None if found is None else found[1]

    def update_message(self, session_id: str, agent_id: str, session_message: SessionMessage, **_: object) -> None:
        """Replace a message, which Strands does when a guardrail redacts it.

        The agent continues on a new branch that has the new message instead of the old one. The old one stays in the
        history of the session; it is no longer shown or found.
        """
        wanted = session_message.message_id
        _check_message_id(wanted)
        with self._writing(session_id) as live:
            overview = live.overview
            agent = _agent_of(overview, session_id, agent_id)
            found = self._find(overview, agent.branch, wanted)
            if found is None:
                raise SessionException(f"Message {wanted} does not exist")
            old, before = found
            session_message.created_at = before.created_at
            turns = self._path(overview, agent.branch)
            at = next(place for place, turn in enumerate(turns) if turn.id == old.id)
            branch = free_branch(overview, agent.branch)
            is_active = overview.branch == agent.branch
            fork = BranchCreated(
                name=branch, parent=agent.branch, at=at, switch=is_active, timestamp=utc_now(), id=new_id()
            )
            new = self._turn(live, branch, session_message, _highest_of(old, wanted))
            later = (replace(turn, branch=branch, id=new_id(), seq=0) for turn in turns[at + 1 :])
            hidden = new_redaction(old, utc_now())
            self._record(live, hidden, fork, _record_of(replace(agent, branch=branch)), new, *later, ids_are_new=False)

    def list_messages(
        self, session_id: str, agent_id: str, limit: int | None = None, offset: int = 0, **_: object
    ) -> list[SessionMessage]:
        with _session_errors():
            overview = self._sessions.overview(session_id)
            agent = None if overview is None else find_agent(overview, agent_id)
            if overview is None or agent is None:
                raise SessionException(f"Agent {agent_id} in session {session_id} does not exist")
            first = offset if offset >= 0 and (limit is None or limit >= 0) else 0
            turns = self._numbered(overview, agent.branch, first=first)
            start = offset - first  # negative numbers count from the end, as those of a list
            chosen = turns[start:] if limit is None else turns[start : start + limit]
            return [self._message(overview.id, turn, number) for number, turn in chosen]

    # ── Several agents ───────────────────────────────────────────────────────────────────────────────────────────────

    def create_multi_agent(self, session_id: str, multi_agent: MultiAgentBase, **_: object) -> None:
        with self._writing(session_id) as live:
            self._record_multi_agent(live, multi_agent)

    def read_multi_agent(self, session_id: str, multi_agent_id: str, **_: object) -> dict[str, Any] | None:
        with _session_errors():
            overview = self._sessions.overview(session_id)
            return None if overview is None else self._unpacked(overview, f"{_MULTI_AGENT}:{multi_agent_id}")

    def update_multi_agent(self, session_id: str, multi_agent: MultiAgentBase, **_: object) -> None:
        with self._writing(session_id) as live:
            if f"{_MULTI_AGENT}:{multi_agent.id}" not in live.overview.records:
                raise SessionException(f"MultiAgent state {multi_agent.id} in session {session_id} does not exist")
            self._record_multi_agent(live, multi_agent)

    def _record_multi_agent(self, live: LiveSession, multi_agent: MultiAgentBase) -> None:
        packed = _pack(multi_agent.serialize_state(), live, f"the state of {multi_agent.id}")
        self._record(live, new_record(_MULTI_AGENT, packed, name=f"{_MULTI_AGENT}:{multi_agent.id}"))

    # ── Inside a session ─────────────────────────────────────────────────────────────────────────────────────────────

    @contextmanager
    def _writing(self, session_id: str) -> Iterator[LiveSession]:
        with _session_errors(), ExitStack() as stack:
            try:
                live = stack.enter_context(self._sessions.writing(session_id, create=False))
            except NotFoundError:
                live = None
            if live is None or _SESSION not in live.overview.records:
                raise SessionException(f"Session {session_id} does not exist")
            yield live

    def _record(self, live: LiveSession, *events: Event, ids_are_new: bool = True) -> None:
        """Record the events, and remember what the next call needs to know of them."""
        known_seq, highest = self._highest.get(live.id, (0, {}))
        if known_seq != live.overview.seq:
            highest = {}
        live.record(*events, ids_are_new=ids_are_new)
        for event in events:
            if isinstance(event, Turn) and (number := _own_id(event)) is not None:
                highest[event.branch] = _highest_of(event, number)
        self._highest[live.id] = (live.overview.seq, highest)

    def _unpacked(self, overview: Overview, name: str) -> JsonObject | None:
        record = overview.records.get(name)
        return None if record is None else self._value(overview.id, record.data)

    def _value(self, id: str, packed: JsonObject) -> JsonObject | None:
        get_blob = partial(self._sessions.store.get_blob, id)
        value = unpack(packed, get_blob)
        found = None if value is None else with_bytes(value, get_blob)
        return found if isinstance(found, dict) else None

    def _turn(self, live: LiveSession, branch: str, message: SessionMessage, highest: int) -> Turn:
        packed = _pack(asdict(message), live, f"message {message.message_id}")
        shows = cast("JsonObject", message.to_message())
        value = packed.get("value")
        role, content, parts = shown(shows, live.put_blob)
        fields = measured(shows)
        if message.message_id < highest:
            fields["extra"][_HIGHEST] = highest
        return Turn(
            role=role,
            content=content,
            parts=parts,
            native=value if isinstance(value, dict) else {**packed, "message_id": message.message_id},
            branch=branch,
            timestamp=moment_of(message.created_at),
            id=new_id(),
            **fields,
        )

    def _message(self, id: str, turn: Turn, number: int) -> SessionMessage:
        """The message of a turn: what Strands recorded, or what another program added."""
        if _own_id(turn) is None or turn.native is None:
            return message_of_turn(turn, number)
        is_packed = "blob" in turn.native or "json" in turn.native
        value = self._value(id, turn.native if is_packed else {"value": turn.native})
        return _restored(SessionMessage.from_dict, value or {}, f"message {number} in session {id}")

    def _path(self, overview: Overview, branch: str, *, first: int = 0) -> tuple[Turn, ...]:
        count = overview.branches[branch].turn_count - first
        return self._sessions.store.tail(overview.id, count, branch=branch) if count > 0 else ()

    def _numbered(self, overview: Overview, branch: str, *, first: int = 0) -> list[tuple[int, Turn]]:
        """The turns of a branch from this place on, with the numbers of their messages, in the order of these."""
        turns = self._path(overview, branch, first=first)
        if first and turns and not (_own_id(turns[0]) == first and not any(_HIGHEST in turn.extra for turn in turns)):
            return self._numbered(overview, branch)[first:]  # the place is not the number
        return sorted(_numbers(turns), key=lambda one: one[0])

    def _find(self, overview: Overview, branch: str, message_id: int) -> tuple[Turn, SessionMessage] | None:
        for first in (message_id, 0):
            for number, turn in self._numbered(overview, branch, first=first) if first >= 0 else ():
                if number == message_id:
                    return turn, self._message(overview.id, turn, number)
        return None

    def _highest_id(self, overview: Overview, branch: str) -> int:
        """The highest number of a message on the branch; -1 if it has none."""
        seq, highest = self._highest.get(overview.id, (0, {}))
        if seq == overview.seq and branch in highest:
            return highest[branch]
        for turn in self._sessions.store.tail(overview.id, 1, branch=branch):
            if (number := _own_id(turn)) is not None:
                return _highest_of(turn, number)
        return max((number for number, _ in self._numbered(overview, branch)), default=-1)


def _agent_of(overview: Overview, session_id: str, agent_id: str) -> StoredAgent:
    agent = find_agent(overview, agent_id)
    if agent is None:
        raise SessionException(f"Agent {agent_id} in session {session_id} does not exist")
    return agent


def _record_of(agent: StoredAgent) -> Event:
    return new_record(KIND, agent.data, name=record_name(agent.id))


def _events_before(overview: Overview, agent: StoredAgent) -> Iterator[Event]:
    """What has to be recorded before a message of the agent: that its branch is active, and is its own."""
    if overview.branch != agent.branch:
        yield BranchSwitched(branch=agent.branch, timestamp=utc_now(), id=new_id())
    if overview.records[record_name(agent.id)].data.get("branch") != agent.branch:
        yield _record_of(agent)


def _pack_agent(agent: SessionAgent, live: LiveSession) -> JsonObject:
    return _pack(asdict(agent), live, f"the state of agent {agent.agent_id}")


def _pack(value: object, live: LiveSession, what: str) -> JsonObject:
    plain = without_bytes(value, live.put_blob)
    return pack(cast("JsonObject", plain), live.put_blob, what=what)


def _numbers(turns: Sequence[Turn]) -> Iterator[tuple[int, Turn]]:
    """Each turn with the number of its message: its own, or the next one for what another program added."""
    highest = -1
    for turn in turns:
        own = _own_id(turn)
        number = highest + 1 if own is None else own
        highest = max(highest, number)
        yield number, turn


def _own_id(turn: Turn) -> int | None:
    """The number of a message of Strands."""
    number = None if turn.native is None else turn.native.get("message_id")
    return number if isinstance(number, int) and not isinstance(number, bool) else None


def _highest_of(turn: Turn, number: int) -> int:
    """The highest number up to this turn: later messages may have lower ones."""
    highest = turn.extra.get(_HIGHEST)
    return max(highest, number) if isinstance(highest, int) else number


def _is_same(one: SessionMessage, other: SessionMessage) -> bool:
    """Whether it is the same message, recorded again after an error."""
    return (one.created_at, one.message) == (other.created_at, other.message)


def _check_message_id(message_id: object) -> None:
    if not isinstance(message_id, int):
        raise ValueError(f"message_id=<{message_id}> | message id must be an integer")  # noqa: TRY004 - as Strands does


def _restored(restore: Callable[[dict[str, Any]], T], data: JsonObject, what: str) -> T:
    """What Strands makes of the data. SessionException if it is not its own, which a file may claim."""
    try:
        return restore(data)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise SessionException(f"{what} cannot be read: {error}") from error


@contextmanager
def _session_errors() -> Iterator[None]:
    """Errors of the store as those of Strands."""
    try:
        yield
    except SegueError as error:
        raise SessionException(f"{error}; {error.hint}" if error.hint else str(error)) from error

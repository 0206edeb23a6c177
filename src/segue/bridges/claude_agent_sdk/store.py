"""The session store of the Claude Agent SDK: transcripts of sessions and of their subagents, by key."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from contextlib import contextmanager
from typing import TYPE_CHECKING, ParamSpec, TypeVar, cast

from claude_agent_sdk import SessionStore, fold_session_summary

from segue.bridges.claude_agent_sdk.entries import entries_in, source_entry
from segue.bridges.claude_agent_sdk.state import State
from segue.bridges.claude_agent_sdk.transcript import Transcript
from segue.bridges.sessions import WAIT_SECONDS, NamedSessions, in_thread, name_of, new_id, title_for
from segue.clock import utc_now
from segue.closing import Closing
from segue.errors import Damage, DamagedError, SegueError
from segue.model import TitleChanged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from claude_agent_sdk import (
        SessionKey,
        SessionListSubkeysKey,
        SessionStoreEntry,
        SessionStoreListEntry,
        SessionSummaryEntry,
    )

    from segue.library import Library
    from segue.model import Event, JsonObject, Overview
    from segue.session import LiveSession

P = ParamSpec("P")
T = TypeVar("T")

FRAMEWORK = "claude-agent-sdk"
_MOST_TRANSCRIPTS = 64
"""That are known at a time; any other is read from its session again."""


class SegueSessionStore(SessionStore, Closing):
    """Transcripts of the SDK as sessions: `ClaudeAgentOptions(session_store=SegueSessionStore("journal:~/agents"))`.

    `store` is the URL of a store, or a library that is open already; None means the user's own store. The SDK looks for
    a session in the project of the working directory. With `project`, all sessions are in that one, so that a host
    with other folders finds them as well. A subagent has a session of its own, with the id of the other one as a tag.
    """

    def __init__(
        self, store: str | Library | None = None, *, project: str | None = None, wait_seconds: float = WAIT_SECONDS
    ) -> None:
        self._sessions = NamedSessions(FRAMEWORK, store, wait_seconds=wait_seconds)
        self._project = project
        self._transcripts = _Transcripts()

    def __repr__(self) -> str:
        return f"<SegueSessionStore {self._sessions.store.url}>"

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        """Store entries, all or none of them; those with a uuid that is stored already are left out."""
        if entries:
            await _call(self._append, _Place(key, self._project), list(cast("list[JsonObject]", entries)))

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """Every entry as it was appended, in order; None if there is none."""
        return await _call(self._load, _Place(key, self._project))

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        """The sessions of a project, without subagents, each with the time of its last append."""
        return [
            {"session_id": name_of(overview), "mtime": state.mtime}
            for overview, state in await _call(self._list, project_key)
        ]

    async def list_session_summaries(self, project_key: str) -> list[SessionSummaryEntry]:
        """The same sessions, each with what the SDK shows in a listing."""
        return [
            {"session_id": name_of(overview), "mtime": state.mtime, "data": state.summary}
            for overview, state in await _call(self._list, project_key)
        ]

    async def delete(self, key: SessionKey) -> None:
        """Move a session to the trash with its subagents, or one subagent alone."""
        await _call(self._delete, _Place(key, self._project))

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        """The subagents of a session."""
        place = _Place(cast("SessionKey", key), self._project)
        return [name_of(overview) for overview, _ in await _call(self._all, place.subagents)]

    def close(self) -> None:
        self._sessions.close()

    def _append(self, place: _Place, entries: Sequence[JsonObject]) -> None:
        given = [source_entry(entry) for entry in entries]
        tags = (self._sessions.id_of(place.session, scope=[place.project]),) if place.is_subagent else ()
        with (
            self._sessions.writing(place.name, scope=place.scope, extra=_about(entries), tags=tags) as session,
            self._transcripts.of(session, is_subagent=place.is_subagent) as transcript,
        ):
            state = State.of(session.overview)
            sources = transcript.select_new(given, state.count)
            if not sources:
                return
            titled = state.titles.best
            events = transcript.events(session, sources, state)
            state.count += len(sources)
            state.mtime = _clock.after(state.mtime)
            if not place.is_subagent:
                new = cast("list[SessionStoreEntry]", [source.entry for source in sources])
                before: SessionSummaryEntry = {"session_id": place.name, "mtime": 0, "data": state.summary}
                state.summary = fold_session_summary(before, place.key, new)["data"]
            title = _title_change(session.overview, place.name, titled, state.titles.best)
            session.record(*events, *title, state.record(), ids_are_new=True)
            transcript.seq = session.overview.seq

    def _load(self, place: _Place) -> list[SessionStoreEntry] | None:
        session_id = self._sessions.id_of(place.name, scope=place.scope)

        def get_blob(name: str) -> bytes:
            return self._sessions.store.get_blob(session_id, name)

        found: list[tuple[int, JsonObject]] = []
        for event in self._sessions.read(place.name, scope=place.scope):
            try:
                found += entries_in(event, get_blob)
            except (ValueError, RecursionError) as error:
                raise _damaged(session_id, event.seq, error) from error
        found.sort(key=lambda one: one[0])
        return cast("list[SessionStoreEntry]", [entry for _, entry in found]) or None

    def _list(self, project_key: str) -> list[tuple[Overview, State]]:
        return self._all((self._project or project_key,))

    def _all(self, scope: Sequence[str]) -> list[tuple[Overview, State]]:
        """The sessions in a scope that have entries."""
        found = [(overview, State.of(overview)) for overview in self._sessions.all(scope=scope)]
        return [(overview, state) for overview, state in found if state.count]

    def _delete(self, place: _Place) -> None:
        if not place.is_subagent:  # the session is the last to go, so that what a crash leaves can be deleted again
            for overview in self._sessions.all(scope=place.subagents):
                self._sessions.remove(name_of(overview), scope=place.subagents)
        self._sessions.remove(place.name, scope=place.scope)


class _Place:
    """Where the transcript of a key is."""

    def __init__(self, key: SessionKey, project: str | None) -> None:
        self.key = key
        self.project = project or key["project_key"]
        self.session = key["session_id"]
        subpath = key.get("subpath")
        self.is_subagent = bool(subpath)
        self.subagents = (self.project, self.session)
        self.name = subpath or self.session
        self.scope = self.subagents if subpath else (self.project,)


class _Transcripts:
    """What this process knows of transcripts; each is brought up to date when its session is opened."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, datetime], Transcript] = OrderedDict()

    @contextmanager
    def of(self, session: LiveSession, *, is_subagent: bool) -> Iterator[Transcript]:
        """The transcript as of now; it is forgotten if what is done with it fails."""
        overview = session.overview
        key = (overview.id, overview.created_at)
        with self._lock:
            found = self._known.pop(key, None)
        if found is None or found.seq > overview.seq or not session.store.capabilities.append_only:
            found = Transcript(is_subagent=is_subagent)
        if found.seq < overview.seq:
            try:
                found.read(session.store.read(overview.id, after=found.seq))
            except (ValueError, RecursionError) as error:
                raise _damaged(overview.id, found.seq, error) from error
        yield found
        with self._lock:
            self._known[key] = found
            while len(self._known) > _MOST_TRANSCRIPTS:
                self._known.popitem(last=False)


async def _call(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call it in a thread. The SDK shows only the text of an error, so the text says what to do as well."""
    try:
        return await in_thread(call, *args, **kwargs)
    except SegueError as error:
        if error.hint and error.args:
            error.args = (f"{error} ({error.hint})", *error.args[1:])
        raise


def _damaged(session_id: str, seq: int, error: Exception) -> DamagedError:
    """An event that says that it is an entry, and has none."""
    return DamagedError(session_id, [Damage(f"event {seq}", str(error))])


def _about(entries: Sequence[JsonObject]) -> JsonObject:
    """The fields with which a session begins: the folder in which the agent works."""
    folders = (entry.get("cwd") for entry in entries)
    cwd = next((folder for folder in folders if isinstance(folder, str) and folder), "")
    return {"cwd": cwd} if cwd else {}


def _title_change(overview: Overview, name: str, before: str, now: str) -> list[Event]:
    """The event if the transcript has another title, unless the user has named the session."""
    is_chosen = overview.title not in {before, title_for(name)}
    if is_chosen or not now or now == overview.title:
        return []
    return [TitleChanged(title=now, timestamp=utc_now(), id=new_id())]


class _Clock:
    """Times in milliseconds, each later than the one before."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._latest = 0

    def after(self, before: int) -> int:
        """Now, and in any case later than `before`."""
        with self._lock:
            self._latest = max(time.time_ns() // 1_000_000, before + 1, self._latest + 1)
            return self._latest


_clock = _Clock()

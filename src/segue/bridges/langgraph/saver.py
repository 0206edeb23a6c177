"""The checkpointer. A thread is a session; its checkpoints, writes and values are records of the session."""

from __future__ import annotations

import heapq
import random
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    CheckpointTuple,
    get_checkpoint_id,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from msgspec import UNSET
from msgspec.structs import replace

from segue.bridges.langgraph.cache import ThreadCache
from segue.bridges.langgraph.copies import copy_session
from segue.bridges.langgraph.draft import Drafting
from segue.bridges.langgraph.needs import needs_chain, needs_latest, needs_one, needs_parent
from segue.bridges.langgraph.records import DropData, LatestData, TaskWrite, WritesData, latest_record, record_of
from segue.bridges.langgraph.values import Stored, decode, encode
from segue.bridges.sessions import WAIT_SECONDS, NamedSessions, in_thread, name_of
from segue.closing import Closing
from segue.errors import Damage, DamagedError, SegueError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence

    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata, DeltaChannelHistory
    from langgraph.checkpoint.serde.base import SerializerProtocol

    from segue.bridges.langgraph.thread import Entry, Thread
    from segue.library import Library
    from segue.model import Event
    from segue.session import LiveSession

_Writes = dict[str, list[tuple[str, str, Any]]]
"""By channel."""

_AT_ONCE = 64
"""How many checkpoints are read in one step of an asynchronous listing."""


class SegueSaver(BaseCheckpointSaver[str], Closing):
    """A checkpointer on any store of Segue, for synchronous and asynchronous graphs.

    `store` is the URL of a store, or a library that is open already; None means the user's own store. `serde` is the
    serializer of what is not JSON. By default it is LangGraph's own in its strict form: it creates no objects but those
    of types that LangGraph knows to be safe, or that are named to it (`allowed_msgpack_modules`).
    """

    def __init__(
        self,
        store: str | Library | None = None,
        *,
        serde: SerializerProtocol | None = None,
        wait_seconds: float = WAIT_SECONDS,
    ) -> None:
        super().__init__(serde=serde or JsonPlusSerializer(allowed_msgpack_modules=None))
        self._use(NamedSessions("langgraph", store, wait_seconds=wait_seconds))

    def _use(self, sessions: NamedSessions) -> None:
        self._sessions = sessions
        self._cache = ThreadCache(sessions)

    def close(self) -> None:
        """Release the resources of the store."""
        self._sessions.close()

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        thread_id, ns, checkpoint_id = _place(config)
        parents = config["configurable"].get("checkpoint_map") or {}
        with self._cache.reading(thread_id, needs_one(ns, checkpoint_id, parents)) as thread:
            entry = None if thread is None else thread.find(ns, checkpoint_id)
            return None if thread is None or entry is None or entry.is_hidden else self._tuple(config, thread, entry)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """The checkpoints that match, the newest first."""
        names = [name_of(one) for one in self._sessions.all()] if config is None else [_place(config)[0]]
        given = config["configurable"] if config is not None else {}
        until = get_checkpoint_id(before) if before is not None else None
        found: list[tuple[str, str, str]] = []
        for name in names:
            with self._cache.reading(name) as thread:
                for entry in thread.entries(given.get("checkpoint_ns")) if thread is not None else ():
                    data = entry.data
                    if given.get("checkpoint_id") not in {None, data.id} or (until and data.id >= until):
                        continue
                    metadata = self._decode(thread, data.metadata) if filter and thread is not None else {}
                    if all(metadata.get(key) == value for key, value in (filter or {}).items()):
                        found.append((data.id, data.ns, name))
        newest = sorted(found, reverse=True) if limit is None else heapq.nlargest(max(limit, 0), found)
        for checkpoint_id, ns, name in newest:
            place: RunnableConfig = {
                "configurable": {
                    "thread_id": given.get("thread_id", name),
                    "checkpoint_ns": ns,
                    "checkpoint_id": checkpoint_id,
                }
            }
            if (one := self.get_tuple(place)) is not None:  # unless it was removed meanwhile
                yield one

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        thread_id, ns, parent = _place(config)
        unchanged = {
            channel: version
            for channel, version in checkpoint["channel_versions"].items()
            if channel not in new_versions and channel not in checkpoint["channel_values"]
        }
        needed = needs_parent(ns, parent, unchanged, lambda thread, one: self._decode(thread, one)["channel_versions"])
        with self._cache.reading(thread_id, needed) as thread:
            drafting = Drafting(self.serde, thread, partial(self._decode, thread))
            draft = drafting.draft(
                checkpoint,
                get_checkpoint_metadata(config, metadata),
                new_versions,
                ns=ns,
                parent=parent or "",
                base=None if thread is None else _base(thread, ns, parent, checkpoint["id"]),
            )
        with self._sessions.writing(thread_id) as session, self._cache.writing(session, thread_id, needed) as thread:
            base = _base(thread, ns, parent, checkpoint["id"])
            self._record(session, thread, draft.events(session, thread, base))
        return _config(config, ns, checkpoint["id"])

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        thread_id, ns, checkpoint_id = _place(config)
        encoded = [
            (WRITES_IDX_MAP.get(channel, index), channel, encode(self.serde, value))
            for index, (channel, value) in enumerate(writes)
        ]
        with (
            self._sessions.writing(thread_id) as session,
            self._cache.writing(session, thread_id, needs_latest(ns, {})) as thread,
        ):
            blobs: list[str] = []

            def put_blob(data: bytes) -> str:
                blobs.append(session.put_blob(data))
                return blobs[-1]

            stored = [TaskWrite(index, channel, value.stored(put_blob)) for index, channel, value in encoded]
            data = WritesData(checkpoint_id or "", task_id, stored, ns, task_path)
            self._record(session, thread, [record_of(data, tuple(blobs))])

    def delete_thread(self, thread_id: str) -> None:
        """Move the session of the thread to the trash of the store."""
        self._sessions.remove(str(thread_id))
        self._cache.forget(str(thread_id))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Hide the checkpoints of these runs, in all threads. They stay in the session."""
        runs = set(map(str, run_ids))
        for overview in self._sessions.all() if runs else ():
            self._drop(name_of(overview), lambda thread, entry: self._run_of(thread, entry) in runs)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy the whole session: checkpoints, writes, values and turns."""
        copy_session(self._sessions, str(source_thread_id), str(target_thread_id))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Hide all checkpoints, or all but the latest of each namespace. They stay in the session."""
        if strategy not in {"keep_latest", "delete"}:
            raise ValueError(f"unknown strategy {strategy!r}; use 'keep_latest' or 'delete'")

        def is_old(thread: Thread, entry: Entry) -> bool:
            return strategy == "delete" or thread.get_latest(entry.data.ns) is not entry

        for thread_id in thread_ids:
            self._drop(str(thread_id), is_old)

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """For each channel the last stored value before a checkpoint, and the writes since then, the oldest first."""
        thread_id, ns, checkpoint_id = _place(config)
        writes: _Writes = {channel: [] for channel in channels}
        seeds: dict[str, Any] = {}
        with self._cache.reading(thread_id, needs_chain(ns, checkpoint_id, channels)) as thread:
            if thread is not None:
                self._collect(thread, (ns, checkpoint_id), writes, seeds)
        return {
            channel: {"writes": found[::-1], **({"seed": seeds[channel]} if channel in seeds else {})}  # type: ignore[typeddict-item]
            for channel, found in writes.items()
        }

    def get_next_version(self, current: str | None, channel: None) -> str:  # noqa: ARG002 - as in the base class
        """A number that grows, and a random one after it: two branches never give two values the same version."""
        number = 0 if current is None else int(str(current).split(".", 1)[0])
        return f"{number + 1:032}.{random.random():016}"  # noqa: S311 - not a secret

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return await in_thread(self.get_tuple, config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        found = self.list(config, filter=filter, before=before, limit=limit)
        while some := await in_thread(lambda: tuple(islice(found, _AT_ONCE))):
            for one in some:
                yield one

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        return await in_thread(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        await in_thread(self.put_writes, config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        await in_thread(self.delete_thread, thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        await in_thread(self.delete_for_runs, run_ids)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        await in_thread(self.copy_thread, source_thread_id, target_thread_id)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        await in_thread(self.prune, thread_ids, strategy=strategy)

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        return await in_thread(self.get_delta_channel_history, config=config, channels=channels)

    def _collect(
        self,
        thread: Thread,
        place: tuple[str, str | None],
        writes: _Writes,
        seeds: dict[str, Any],
    ) -> None:
        """Go back from a checkpoint until every channel has a stored value; the writes on the way, the newest first."""
        for entry in thread.before(*place):
            if len(seeds) == len(writes):
                return
            for write in reversed(thread.writes(place[0], entry.data.id)):
                if write.channel in writes and write.channel not in seeds:
                    value = self._decode(thread, write.value)
                    writes[write.channel].append((write.task, write.channel, value))
            for channel in writes.keys() & entry.data.values.keys() - seeds.keys():
                seeds[channel] = self._decode(thread, entry.data.values[channel].value)

    def _record(self, session: LiveSession, thread: Thread, events: Sequence[Event]) -> None:
        receipt = session.record(*events, ids_are_new=True)
        thread.apply(replace(event, seq=seq) for event, seq in zip(events, receipt.seqs, strict=True))
        thread.revision = self._sessions.store.revision(session.id)  # no other process can have changed it

    def _drop(self, name: str, is_dropped: Callable[[Thread, Entry], bool]) -> None:
        """Hide checkpoints; the ones that are left may still need their writes and values."""
        with self._cache.reading(name) as thread:
            if thread is None or not any(is_dropped(thread, entry) for entry in thread.entries()):
                return
        with self._sessions.writing(name) as session, self._cache.writing(session, name) as thread:
            gone = [entry for entry in thread.entries() if is_dropped(thread, entry)]
            events: list[Event] = [record_of(DropData([[one.data.ns, one.data.id] for one in gone]))]
            for ns in {entry.data.ns for entry in gone} & thread.latest.keys():
                left = [entry for entry in thread.entries(ns) if entry not in gone]
                latest = max(left, key=lambda entry: entry.data.id) if left else None
                found = LatestData(latest.data.id, latest.data.floor) if latest else LatestData("")
                events.append(latest_record(ns, found))
            self._record(session, thread, events)

    def _run_of(self, thread: Thread, entry: Entry) -> str:
        return str(self._decode(thread, entry.data.metadata).get("run_id", ""))

    def _decode(self, thread: Thread | None, stored: Stored) -> Any:  # noqa: ANN401
        """The value of what is stored; None if there is no thread."""
        if thread is None:
            return None
        if stored.parts is not UNSET:
            return [item for part in stored.parts for item in self._decode(thread, part.value)]
        if stored.key is not UNSET:
            stored = thread.value(stored.key)
        try:
            return decode(self.serde, stored, partial(self._sessions.store.get_blob, thread.session_id))
        except SegueError:
            raise
        except Exception as error:  # whichever the serializer raises for bytes that are not its own
            reason = f"a value of LangGraph cannot be read: {type(error).__name__}: {error!s:.200}"
            place = Damage(f"session {thread.session_id}", reason)
            raise DamagedError(thread.session_id, [place]) from error

    def _tuple(self, config: RunnableConfig, thread: Thread, entry: Entry) -> CheckpointTuple:
        data = entry.data
        values = {channel: self._decode(thread, one.value) for channel, one in data.values.items()}
        return CheckpointTuple(
            config=config if get_checkpoint_id(config) else _config(config, data.ns, data.id),
            checkpoint=self._decode(thread, data.checkpoint) | {"channel_values": values},
            metadata=self._decode(thread, data.metadata),
            parent_config=_config(config, data.ns, data.parent) if data.parent else None,
            pending_writes=[
                (write.task, write.channel, self._decode(thread, write.value))
                for write in thread.writes(data.ns, data.id)
            ],
        )


def _place(config: RunnableConfig) -> tuple[str, str, str | None]:
    """Thread, namespace and checkpoint; None for the latest one."""
    given = config["configurable"]
    return str(given["thread_id"]), str(given.get("checkpoint_ns", "")), get_checkpoint_id(config) or None


def _config(config: RunnableConfig, ns: str, checkpoint_id: str) -> RunnableConfig:
    thread_id = config["configurable"]["thread_id"]
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": ns, "checkpoint_id": checkpoint_id}}


def _base(thread: Thread, ns: str, parent: str | None, checkpoint_id: str) -> Entry | None:
    """The checkpoint that a new one follows, or that it replaces."""
    return thread.get(ns, checkpoint_id) or (thread.get(ns, parent) if parent else None)

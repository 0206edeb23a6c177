"""A thread as the fold of its records: checkpoints, writes and values, whole or from some event on."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from langgraph.checkpoint.base import writes_sort_key
from msgspec import Struct, ValidationError

from segue.bridges.langgraph.records import (
    KINDS,
    LATEST_NAME,
    CheckpointData,
    DropData,
    LatestData,
    WritesData,
    parse,
)
from segue.bridges.langgraph.values import Stored
from segue.errors import Damage, DamagedError
from segue.model import Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from segue.model import Event, Overview

POINTERS = 16
"""How many namespaces have a record of their latest checkpoint: every call of a subgraph has a namespace of its own."""


EARLY = 100
"""A graph may record writes before the checkpoint that they follow: so many events before it are read with it."""


class Entry(Struct):
    """A checkpoint of the thread."""

    data: CheckpointData
    seq: int
    is_hidden: bool = False


class Write(Struct, frozen=True):
    task: str
    path: str
    index: int
    channel: str
    value: Stored


class MessageCopies(Struct):
    """The messages that a stored list holds, to find out what a new list has in common with it."""

    value: Stored
    messages: list[Any]
    """Pairs of type and fields."""


class Thread:
    """What is known of a thread: everything that was recorded after the event `since`."""

    def __init__(self, session_id: str, created_at: datetime, since: int) -> None:
        self.session_id = session_id
        self.created_at = created_at
        self.since = since
        self.seq = since
        self.revision = ""
        self.has_read = False
        """Whether the events were read, and not only what the overview holds of them."""
        self.size = 0
        """How many records are in memory."""
        self.latest: dict[str, LatestData] = {}
        """By namespace; the last in it were recorded last."""
        self.copies: dict[tuple[str, str], MessageCopies] = {}
        """By namespace and channel."""
        self.tips: dict[str, str] = {}
        """By branch: the last checkpoint that was recorded on it."""
        self._entries: dict[str, dict[str, Entry]] = {}
        self._writes: dict[tuple[str, str], dict[tuple[str, int], Write]] = {}
        self._first_writes: dict[tuple[str, str], int] = {}
        self._values: dict[str, tuple[Stored, int]] = {}
        self._versions: dict[tuple[str, str, str | int | float], Stored] = {}

    @property
    def is_whole(self) -> bool:
        return self.since == 0

    def get(self, ns: str, checkpoint_id: str) -> Entry | None:
        return self._entries.get(ns, {}).get(checkpoint_id)

    def get_latest(self, ns: str) -> Entry | None:
        if ns in self.latest and (entry := self.get(ns, self.latest[ns].id)) is not None and not entry.is_hidden:
            return entry
        found = [entry for entry in self._entries.get(ns, {}).values() if not entry.is_hidden]
        return max(found, key=lambda entry: entry.data.id) if found else None

    def find(self, ns: str, checkpoint_id: str | None) -> Entry | None:
        """The checkpoint with this id, or the latest one."""
        return self.get(ns, checkpoint_id) if checkpoint_id else self.get_latest(ns)

    def before(self, ns: str, checkpoint_id: str | None) -> Iterator[Entry]:
        """The checkpoints before this one (or the latest), one after the other, hidden ones too."""
        entry = self.find(ns, checkpoint_id)
        seen = set[str]()
        while entry is not None and entry.data.parent not in seen:  # a file may claim a circle
            seen.add(entry.data.parent)
            entry = self.get(ns, entry.data.parent)
            if entry is not None:
                yield entry

    def entries(self, ns: str | None = None) -> Iterator[Entry]:
        """The checkpoints that are not hidden."""
        for name, found in self._entries.items():
            if ns is None or name == ns:
                yield from (entry for entry in found.values() if not entry.is_hidden)

    def writes(self, ns: str, checkpoint_id: str) -> list[Write]:
        """The writes after a checkpoint, in the order in which the graph applies them."""
        found = self._writes.get((ns, checkpoint_id), {}).values()
        return sorted(found, key=lambda write: writes_sort_key(write.path, write.task, write.index))

    def value(self, key: str) -> Stored:
        """The value that a record holds under this key. DamagedError if there is no such record."""
        try:
            return self._values[key][0]
        except KeyError:
            reason = f"the value {key} is missing"
            raise DamagedError(self.session_id, [Damage(f"session {self.session_id}", reason)]) from None

    def has_all_of(self, entry: Entry) -> bool:
        """Whether everything is known that is needed to read the checkpoint."""
        keys = (key for one in entry.data.values.values() for key in one.value.referenced())
        return entry.data.floor > self.since and all(key in self._values for key in keys)

    def seq_of(self, key: str) -> int:
        """The event that holds the value; 0 if it is not known."""
        return self._values[key][1] if key in self._values else 0

    def version(self, ns: str, channel: str, version: str | float) -> Stored | None:
        """The value that a channel had in this version."""
        return self._versions.get((ns, channel, version))

    def floor_at(self, data: CheckpointData, seq: int) -> int:
        """The first event that is needed to read a checkpoint."""
        keys = [key for one in data.values.values() for key in one.value.referenced() if key not in data.new]
        early = self._first_writes.get((data.ns, data.id), seq)
        return max(1, min([seq - EARLY, early, *map(self.seq_of, keys)]))

    def points_at(self, overview: Overview) -> None:
        """Take over what the overview holds."""
        found = [record for name, record in overview.records.items() if name.startswith(LATEST_NAME)]
        for record in sorted(found, key=lambda record: record.seq):
            with self._reading(record):
                self._point(record)

    def apply(self, events: Iterable[Event]) -> None:
        self.has_read = True
        for event in events:
            if isinstance(event, Record) and event.kind in KINDS:
                self.size += 1
                with self._reading(event):
                    self._apply(event)
            self.seq = event.seq

    @contextmanager
    def _reading(self, event: Record) -> Iterator[None]:
        """DamagedError if it was not the saver that wrote the record."""
        try:
            yield
        except (ValidationError, UnicodeEncodeError) as error:  # or half a character
            reason = f"record {event.id} of LangGraph cannot be read: {error}"
            raise DamagedError(self.session_id, [Damage(f"event {event.seq}", reason)]) from None

    def _apply(self, event: Record) -> None:
        kind = KINDS[event.kind]
        if kind is LatestData:
            self._point(event)
            return
        match parse(kind, event.data):
            case CheckpointData() as data:
                self._put(data, event.seq)
            case WritesData() as data:
                self._write(data, event.seq)
            case DropData() as data:
                for ns, checkpoint_id in data.checkpoints:
                    if (entry := self.get(ns, checkpoint_id)) is not None:
                        entry.is_hidden = True

    def _point(self, event: Record) -> None:
        ns = event.name.removeprefix(LATEST_NAME)
        self.latest.pop(ns, None)
        if event.data:
            self.latest[ns] = parse(LatestData, event.data)

    def _put(self, data: CheckpointData, seq: int) -> None:
        entries = self._entries.setdefault(data.ns, {})
        if (before := entries.get(data.id)) is not None and before.is_hidden:
            self._writes.pop((data.ns, data.id), None)
        entries[data.id] = Entry(data, seq)
        for key, value in data.new.items():
            self._values[key] = (value, seq)
        for channel, one in data.values.items():
            self._versions[data.ns, channel, one.version] = one.value
        if not data.ns:
            self.tips[data.position.branch] = data.id

    def _write(self, data: WritesData, seq: int) -> None:
        """Of two writes with the same number the first counts; those with a negative one replace each other."""
        writes = self._writes.setdefault((data.ns, data.checkpoint), {})
        self._first_writes.setdefault((data.ns, data.checkpoint), seq)
        for one in data.writes:
            if one.index < 0 or (data.task, one.index) not in writes:
                writes[data.task, one.index] = Write(data.task, data.path, one.index, one.channel, one.value)

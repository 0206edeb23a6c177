"""A session as Soleur's file shows it, and what the file has no field for, under the key `segue`.

`messages` are the turns of the active branch, `decisions` all decisions. Under `segue`, `events` is everything that
happened, in order: what is shown above is left out there and has a `sum` instead, the rest stands there in full.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from zlib import crc32

from msgspec.structs import replace

from segue.formats.records import BadRecordError, encode_indented, event_to_object, parse_moment
from segue.formats.sealed import Layout, render_file, render_list, render_value
from segue.model import ROLES as KNOWN_ROLES
from segue.model import BranchCreated, BranchSwitched, Decision, Turn, fold, overview_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from segue.model import Event, JsonObject, Overview

LAYOUT_VERSION = 1
"""The version of what is under `segue`; the version of the session itself is in its metadata."""

TOP = ("id", "agent_type", "project_name", "project_context", "messages", "decisions", "created_at", "updated_at")
LAYOUT = Layout(TOP, ("messages", "decisions"))
MESSAGE = ("role", "content", "timestamp")
DECISION = ("content", "timestamp", "session_id", "tags", "source")
ROLES = ("user", "assistant", "system")
"""The roles that Soleur knows; any other is shown as `system`."""
NATIVE = "native"

_SHOWN = {"turn": {"content", "timestamp"}, "decision": {"content", "timestamp", "tags", "source"}}


class SoleurRecord:
    """One event, and its object among the messages or decisions as the file has it; rendered once."""

    __slots__ = ("_below", "_full", "_piece", "event", "visible")

    def __init__(self, event: Event, visible: JsonObject) -> None:
        self.event = event
        self.visible = visible
        self._piece = b""
        self._below = b""
        self._full = b""

    def piece(self) -> bytes:
        """The object among the messages or decisions."""
        self._piece = self._piece or render_value(self.visible, 4)
        return self._piece

    def below(self) -> bytes:
        """The rest of an event that is shown above."""
        self._below = self._below or render_value(self._rest(), 6)
        return self._below

    def full(self) -> bytes:
        """The whole of an event that is not shown above."""
        self._full = self._full or render_value(event_to_object(self.event), 6)
        return self._full

    def _rest(self) -> JsonObject:
        plain = event_to_object(self.event)
        left_out = set(_SHOWN[str(plain["type"])])
        if plain.get("role") == self.visible.get("role"):
            left_out.add("role")
        if is_malformed(self.visible) and plain.get(NATIVE) == self.visible:
            left_out.add(NATIVE)  # the reader sees that the object is malformed, and uses it
        return {
            **{key: value for key, value in plain.items() if key not in left_out},
            "sum": message_checksum(self.visible),
        }


class SoleurDocument:
    """The content of a whole file: immutable, and cheap to extend."""

    def __init__(
        self,
        records: Sequence[SoleurRecord],
        *,
        top: JsonObject,
        context: object = None,
        version: int = LAYOUT_VERSION,
        overview: Overview | None = None,
        path: Sequence[SoleurRecord] | None = None,
    ) -> None:
        self.records = tuple(records)
        self.top = top
        """The fields of the file as they were found, except the messages, the decisions and ours."""
        self.context = context
        self.version = version
        if overview is None or path is None:
            session = fold(self.events)
            by_seq = {record.event.seq: record for record in self.records}
            overview, path = overview_of(session), [by_seq[turn.seq] for turn in session.turns]
        self.overview = overview
        self.path = tuple(path)
        """The records that `messages` shows."""

    @property
    def events(self) -> list[Event]:
        return [record.event for record in self.records]

    def extended(self, events: Sequence[Event], overview: Overview, context: object) -> SoleurDocument:
        """The document with more events; `overview` is the session after them."""
        session_id = self.overview.id
        new = [SoleurRecord(event, shown_message(event, session_id)) for event in events]
        stays = not any(isinstance(event, BranchCreated | BranchSwitched) for event in events)
        more = [one for one in new if isinstance(one.event, Turn) and one.event.branch == overview.branch]
        return SoleurDocument(
            (*self.records, *new),
            top=self.top,
            context=context,
            version=self.version,
            overview=overview,
            path=(*self.path, *more) if stays else None,
        )

    def renumbered(self) -> SoleurDocument:
        """The document without the gaps that lost events left in the numbers."""
        events = [replace(event, seq=seq) for seq, event in enumerate(self.events, start=1)]
        records = [SoleurRecord(event, record.visible) for event, record in zip(events, self.records, strict=True)]
        return SoleurDocument(records, top=self.top, context=self.context, version=self.version)

    def encode(self) -> bytes:
        """The bytes of the file."""
        decisions = [record for record in self.records if isinstance(record.event, Decision)]
        shown = {id(record) for record in (*self.path, *decisions)}
        entries = [_metadata(self.records[0].event, self.top)]
        entries += [record.below() if id(record) in shown else record.full() for record in self.records[1:]]
        lines = [(name, render_value(value, 2)[2:]) for name, value in self._fields().items()]
        lists = {"messages": self.path, "decisions": decisions}
        for at, (name, _) in enumerate(lines):
            if name in lists:
                lines[at] = name, render_list([record.piece() for record in lists[name]], 4)
        ours = [("version", b"%d" % self.version)]
        if self.context is not None:
            ours.append(("context", b'"%08x"' % crc32(encode_indented(self.context))))
        ours.append(("events", render_list(entries, 6)))
        return render_file(lines, ours, self.overview)

    def _fields(self) -> JsonObject:
        """The fields above, in order; what another program wrote stays unchanged as long as it means the same."""
        known, top = self.overview, self.top
        project = known.extra.get("project_name")
        found: JsonObject = dict.fromkeys(TOP)
        found["id"] = known.id
        found["agent_type"] = _unless_changed(top, "agent_type", known.agent, text_value)
        found["project_name"] = project if isinstance(project, str) else top.get("project_name")
        found["project_context"] = self.context
        found["created_at"] = _unless_changed(top, "created_at", known.created_at, _moment)
        found["updated_at"] = _unless_changed(top, "updated_at", known.updated_at, _moment)
        return {**found, **{name: value for name, value in top.items() if name not in found}}


def new_document(session_id: str, events: Iterable[Event], context: object = None) -> SoleurDocument:
    """The document of a new session with these events."""
    return SoleurDocument(
        [SoleurRecord(event, shown_message(event, session_id)) for event in events], top={}, context=context
    )


def shown_message(event: Event, session_id: str) -> JsonObject:
    """The message or decision of an event; empty for other events."""
    plain = event_to_object(event)
    if isinstance(event, Turn):
        return {**{name: plain[name] for name in MESSAGE}, "role": event.role if event.role in ROLES else "system"}
    if isinstance(event, Decision):
        shown = {"tags": list(event.tags), "source": event.source, "session_id": session_id}
        return {name: shown.get(name, plain.get(name)) for name in DECISION}
    return {}


def message_checksum(visible: JsonObject) -> str:
    """A checksum of role and content, which changes when they are edited."""
    return f"{crc32(encode_indented([visible.get('role'), visible.get('content')])):08x}"


def is_malformed(visible: JsonObject) -> bool:
    """Whether another program wrote more than a turn or decision can hold, so that its object must be stored."""
    tags, source = visible.get("tags", []), visible.get("source", "")
    return not (
        visible.keys() <= {*MESSAGE, *DECISION}
        and visible.get("role", "user") in KNOWN_ROLES
        and isinstance(visible.get("content"), str)
        and isinstance(source, str)
        and isinstance(tags, list)
        and all(isinstance(tag, str) for tag in tags)
    )


def text_value(value: object) -> str:
    return value if isinstance(value, str) else ""


def _metadata(event: Event, top: JsonObject) -> bytes:
    """The first event without the fields that are shown above."""
    plain = event_to_object(event)
    shown = {"session_id", "agent", "created_at"}
    if isinstance(plain.get("project_name"), str):
        shown.add("project_name")
    shown.update(name for name, value in top.items() if name not in TOP and name in plain and plain[name] == value)
    return render_value({name: value for name, value in plain.items() if name not in shown}, 6)


def _unless_changed(top: JsonObject, name: str, now: object, read: Callable[[object], object]) -> object:
    """The value in the file if it means the same as the current one; else the current one."""
    return top[name] if name in top and read(top[name]) == now else now


def _moment(value: object) -> datetime | None:
    try:
        return parse_moment(value)
    except BadRecordError:
        return None

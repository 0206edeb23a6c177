"""`session.json`: the fields of Cortext, and under `segue` every event that is not a turn."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from segue.dialects.cortext.format.names import conversation_type
from segue.formats.records import BadRecordError, convert_to, event_to_object, parse_event, parse_moment
from segue.formats.sealed import Layout, render_file, render_list, render_value
from segue.model import Count, Event, JsonObject, Metadata, Overview, Turn, fold, overview_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

LAYOUT_VERSION = 1
"""The version of what is under `segue`; the version of the session itself is in its metadata."""

TOP = (
    "version",
    "conversation_id",
    "conversation_type",
    "title",
    "status",
    "created_at",
    "last_active",
    "message_count",
    "agent_config",
    "context_summary",
)
CONFIG = ("command", "system_prompt_hash", "model", "tools", "tool")
LAYOUT = Layout(TOP, ())
VERSION = "1.0"
WORDS = ("active", "paused", "completed")
"""The status names of Cortext; `interrupted` is shown as paused."""

_BYTES = re.compile(rb'\n    "bytes": ([0-9]{1,18}),\n    "head": ')


Gap = tuple[int, int]
"""The first and last of a range of numbers without events."""


class CortextDocument(Struct, frozen=True, kw_only=True):
    """The content of a whole file: immutable, and cheap to extend."""

    folder: str
    """The name of the conversation's folder, which is its conversation_id."""
    overview: Overview
    """The session after all events, including the turns."""
    events: tuple[Event, ...]
    """All events except the turns."""
    pieces: tuple[bytes, ...]
    """The same events as they are encoded in the file."""
    size: int = 0
    """How many bytes of messages.jsonl are accounted for."""
    top: JsonObject = {}
    """The fields of the file as they were found, except ours."""
    model: str = ""
    """The last model that a turn names."""
    missing: tuple[Gap, ...] = ()
    """The numbers of events that another program removed."""
    turns: tuple[bytes, ...] = ()
    """The turns while messages.jsonl is being replaced: as long as they are here, that file is ignored."""
    version: int = LAYOUT_VERSION

    def extended(self, events: Sequence[Event], overview: Overview, size: int) -> CortextDocument:
        """The document with more events; `overview` is the session after them."""
        others = [event for event in events if not isinstance(event, Turn)]
        models = [event.model for event in events if isinstance(event, Turn) and event.model]
        return replace(
            self,
            events=(*self.events, *others),
            pieces=(*self.pieces, *map(encode_entry, others)),
            overview=overview,
            size=size,
            model=models[-1] if models else self.model,
        )

    def shown(self) -> JsonObject:
        """The fields of Cortext; what another program wrote stays unchanged as long as it means the same."""
        known, top = self.overview, self.top
        found: JsonObject = {
            "version": top.get("version", VERSION),
            "conversation_id": self.folder,
            "conversation_type": conversation_type(known.extra, self.folder),
            "title": known.title,
            "status": known.status if known.status in WORDS else "paused",
            "created_at": _unless_changed(top.get("created_at"), known.created_at),
            "last_active": _unless_changed(top.get("last_active"), known.updated_at),
            "message_count": sum(branch.own for branch in known.branches.values()),
            "agent_config": self._config(),
            "context_summary": known.summary,
        }
        return {**found, **{name: value for name, value in top.items() if name not in found}}

    def encode(self) -> bytes:
        """The bytes of the file."""
        counts = {branch.name: branch.own for branch in self.overview.branches.values() if branch.own}
        ours = [("version", b"%d" % self.version), ("seq", b"%d" % self.overview.seq)]
        ours.append(("turns", render_value(counts, 4)[4:]))
        if self.model:
            ours.append(("model", render_value(self.model, 0)))
        if self.missing:
            ours.append(("missing", render_value(self.missing, 4)[4:]))
        if self.turns:
            ours.append(("whole", b"true"))
        ours.append(("events", render_list([*self.pieces, *self.turns], 6)))
        ours.append(("bytes", b"%d" % self.size))
        return render_file(
            [(name, render_value(value, 2)[2:]) for name, value in self.shown().items()], ours, self.overview
        )

    def _config(self) -> JsonObject:
        known, top = self.overview, self.top.get("agent_config")
        values = known.overrides
        command = values.get("command") or known.extra.get("command")
        ours: JsonObject = {
            "command": command or f"/workspace.{conversation_type(known.extra, self.folder)}",
            "system_prompt_hash": (known.preset.hash if known.preset else "") or values.get("prompt_hash") or "",
            "model": values.get("model") or self.model,
            "tools": values.get("mcp_tools") or [],
            "tool": values.get("tool") or "",
        }
        return {**ours, **{name: value for name, value in _object(top).items() if name not in ours}}


def new_document(folder: str, events: Sequence[Event], overview: Overview, size: int) -> CortextDocument:
    """The document of a new session with these events."""
    return CortextDocument(folder=folder, overview=overview, events=(), pieces=()).extended(events, overview, size)


def restore_document(found: JsonObject, session_id: str, folder: str) -> CortextDocument | None:
    """The document of a sealed file, without reading the turns; None if they are needed."""
    ours = _object(found.get("segue"))
    head = _object(ours.get("head"))
    try:
        events = [parse_entry(entry) for entry in convert_to(ours["events"], list[JsonObject])]
        counts = convert_to(ours["turns"], dict[str, Count])
        seq, size, version = (convert_to(ours[name], Count) for name in ("seq", "bytes", "version"))
        first, updated_at = events[0], parse_moment(head.get("updated_at"))
    except (BadRecordError, LookupError):
        return None
    if "whole" in ours or not isinstance(first, Metadata):
        return None
    events[0] = replace(first, session_id=session_id)
    known = overview_of(fold(events))
    if not counts.keys() <= known.branches.keys():
        return None
    branches = {name: replace(branch, own=counts.get(name, 0)) for name, branch in known.branches.items()}
    return CortextDocument(
        folder=folder,
        overview=replace(known, branches=branches, seq=seq, updated_at=updated_at),
        events=tuple(events),
        pieces=tuple(map(encode_entry, events)),
        size=size,
        top={name: value for name, value in found.items() if name != "segue"},
        model=str(ours.get("model", "")),
        missing=parse_gaps(ours),
        version=version,
    )


def parse_messages_size(data: bytes) -> int:
    """How many bytes of messages.jsonl a sealed file accounts for; -1 if unknown."""
    found = _BYTES.match(data, max(0, data.rfind(b'\n    "bytes": ')))
    return int(found[1]) if found else -1


def parse_gaps(ours: JsonObject) -> tuple[Gap, ...]:
    try:
        return convert_to(ours.get("missing", ()), tuple[Gap, ...])
    except BadRecordError:
        return ()


def encode_entry(event: Event) -> bytes:
    return render_value({**event_to_object(event), "seq": event.seq}, 6)


def parse_entry(plain: JsonObject) -> Event:
    """The event of an entry. BadRecordError with the reason."""
    seq = plain.get("seq")
    if not isinstance(seq, int) or seq < 1:
        raise BadRecordError("it has no number")
    return parse_event({name: value for name, value in plain.items() if name != "seq"}, seq)


def _object(value: object) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _unless_changed(found: object, now: datetime) -> object:
    try:
        return found if found is not None and parse_moment(found) == now else now
    except BadRecordError:
        return now

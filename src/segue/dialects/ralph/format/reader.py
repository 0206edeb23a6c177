"""Reads the session of a file, whichever program wrote it last, and reports every damage with its place.

What is shown is the truth: what stands there and is no event of ours is a new one, and an event of ours that is no
longer shown is no longer part of the session. Both are noted in an event of the type `edited`.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from msgspec.structs import fields, replace

from segue.dialects.ralph.format.document import CHANGE, LAYOUT, LAYOUT_VERSION, STORY, TOP, RalphDocument, shown_key
from segue.errors import Damage
from segue.formats.records import BadRecordError, encode_indented, event_to_object, parse_event
from segue.formats.sealed import EVENTS, read_sealed
from segue.model import EPOCH, Metadata, TaskDone, Unknown, fold

if TYPE_CHECKING:
    from segue.formats.sealed import FieldPosition
    from segue.model import Event, JsonObject

_OURS = {item.encode_name for item in fields(Metadata)} | {"type", "sum", "segue", *TOP}
_RESERVED = {"type", "id", "seq", "sum", " extra"}


class ParsedRalphFile(NamedTuple):
    """What can be read of a file, and what cannot."""

    document: RalphDocument | None
    damages: tuple[Damage, ...] = ()


def read(data: bytes, session_id: str, place: str) -> ParsedRalphFile:
    """Parse a file. An event with a changed byte is dropped, and the rest is kept."""
    opened = read_sealed(LAYOUT, data, place, needs="change_name")
    if opened.found is None:
        return ParsedRalphFile(None, opened.damages)
    assembly = _Assembly(opened.found, session_id, place, list(opened.damages))
    assembly.build()
    version = assembly.ours.get("version")
    document = RalphDocument(
        _without(assembly.events, opened.changed),
        top={name: value for name, value in opened.found.items() if name not in {*TOP, "segue"}},
        version=version if isinstance(version, int) else LAYOUT_VERSION,
    )
    return ParsedRalphFile(document, tuple(assembly.damages))


def _without(events: list[Event], changed: FieldPosition | None) -> list[Event]:
    """All events except the one with the changed byte; the first is needed, and known from the fields above."""
    if changed is None or changed.name != EVENTS:
        return events
    return [event for at, event in enumerate(events) if at == 0 or at != changed.item]


class _Assembly:
    """Puts the events in order: ours, and what other programs and users have added since."""

    def __init__(self, found: JsonObject, session_id: str, place: str, damages: list[Damage]) -> None:
        ours = found.get("segue")
        self.ours: JsonObject = ours if isinstance(ours, dict) else {}
        self.events: list[Event] = []
        self.damages = damages
        self._names: set[str] = set()
        self._found = found
        self._session_id = session_id
        self._place = place

    def build(self) -> None:
        entries = self._objects("events", self.ours.get("events"))
        first = entries.pop(0) if entries and entries[0].get("type") == "metadata" else None
        self._begin(first)
        for entry in entries:
            self._add(entry)
        shown = [event for plain in self._shown() if (event := self._event(plain)) is not None]
        removed = self._drop_what_is_gone(shown) if not self.damages else []
        added = [self._keep(event) for event in self._missing(shown)]
        if (story := self._story()) is not None:
            added.append(self._keep(story))
        if self.ours and not self.damages and (added or removed):
            name = f"edited-{crc32(encode_indented([added, removed])):08x}"
            self._keep(Unknown(type="edited", data={"added": added, "removed": removed}, id=name))

    def _begin(self, entry: JsonObject | None) -> None:
        found = self._found
        change = found["change_name"]
        plain: JsonObject = entry or {"type": "metadata", "id": "metadata", "agent": "", "status": "paused"}
        if entry is None and isinstance(change, str):
            plain["title"] = change
        plain |= {name: value for name, value in found.items() if name not in _OURS}
        if isinstance(change, str) and (change or CHANGE in plain):
            plain[CHANGE] = change
        elif not isinstance(change, str):
            self.damages.append(Damage(f"{self._place} change_name", "it is not a text"))
        plain |= {"session_id": self._session_id, "created_at": found.get("created_at", plain.get("created_at"))}
        self._add(plain)
        if not self.events:  # the reason is among the damages; the session starts anyway
            first = Metadata(session_id=self._session_id, agent="", created_at=EPOCH, status="paused", id="metadata")
            self._keep(first)

    def _shown(self) -> list[JsonObject]:
        """The fields above as events without ids."""
        first = self.events[0]
        born = {"timestamp": first.created_at.isoformat()} if isinstance(first, Metadata) else {}
        plains = [
            {"type": kind, **born, **{key: value for key, value in one.items() if key not in _RESERVED}}
            for kind, name in (("learning", "learnings"), ("pattern", "patterns"))
            for one in self._objects(name, self._found.get(name))
        ]
        tasks = self._found.get("completed_tasks", [])
        if isinstance(tasks, list) and all(isinstance(task, str) for task in tasks):
            return [*plains, *[{"type": "task", **born, "task_id": task} for task in dict.fromkeys(tasks)]]
        self.damages.append(Damage(f"{self._place} completed_tasks", "it is not a list of texts"))
        return plains

    def _drop_what_is_gone(self, shown: list[Event]) -> list[JsonObject]:
        """Remove the events that are no longer shown, and return what is new. A task may have been done twice."""
        left = Counter(shown_key(event) for event in shown)
        remaining: list[Event] = []
        gone: list[JsonObject] = []
        for event in self.events:
            key = shown_key(event)
            if key is not None and left[key] <= 0:
                gone.append(event_to_object(event))
                continue
            if not isinstance(event, TaskDone):
                left[key] -= 1
            remaining.append(replace(event, seq=len(remaining) + 1))
        self.events = remaining
        return gone

    def _missing(self, shown: list[Event]) -> list[Event]:
        known = Counter(shown_key(event) for event in self.events)
        missing: list[Event] = []
        for event in shown:
            key = shown_key(event)
            if known[key] > 0:
                known[key] -= 1
            else:
                missing.append(event)
        return missing

    def _story(self) -> Event | None:
        """Record the story that is shown, if it is not the one that we wrote."""
        story = self._found.get("current_story_id")
        known = fold(self.events)
        current = known.overrides.get(STORY)
        if "current_story_id" not in self._found or story == (current if isinstance(current, str) else None):
            return None
        others = {name: value for name, value in known.overrides.items() if name != STORY}
        plain: JsonObject = {"type": "overrides", "timestamp": known.updated_at.isoformat()}
        if story is None:
            return self._event({**plain, "values": others})
        if isinstance(story, str):
            return self._event({**plain, "values": {**others, STORY: story}})
        self.damages.append(Damage(f"{self._place} current_story_id", "it is neither text nor null"))
        return None

    def _event(self, plain: JsonObject) -> Event | None:
        """Add an event of another program, with an id made from its content."""
        kind = plain["type"]
        try:
            return parse_event({**plain, "id": f"{kind}-{crc32(encode_indented(plain)):08x}"}, 0)
        except BadRecordError as error:
            self.damages.append(Damage(f"{self._place} {kind}", str(error)))
            return None

    def _add(self, plain: JsonObject) -> None:
        if not plain.get("id"):
            plain = {**plain, "id": f"event-{len(self.events) + 1}"}
        try:
            event = parse_event(plain, len(self.events) + 1)
        except BadRecordError as error:
            self.damages.append(Damage(f"{self._place} {plain.get('type', 'event')} {plain['id']}", str(error)))
        else:
            self._names.add(event.id)
            self.events.append(event)

    def _keep(self, event: Event) -> str:
        """Number the event and give it a unique id; returns the id."""
        number, name = 1, event.id
        while name in self._names:
            number += 1
            name = f"{event.id}-{number}"
        self._names.add(name)
        self.events.append(replace(event, id=name, seq=len(self.events) + 1))
        return name

    def _objects(self, name: str, value: object) -> list[JsonObject]:
        """The items of a list that are objects; for each other one, a damage."""
        if not isinstance(value, list):
            if value is not None:
                self.damages.append(Damage(f"{self._place} {name}", "it is not a list"))
            return []
        for at, item in enumerate(value):
            if not isinstance(item, dict):
                self.damages.append(Damage(f"{self._place} {name}[{at}]", "it is not an object"))
        return [item for item in value if isinstance(item, dict)]

"""A session as Ralph's file shows it: the change, the story, and what was learned and done.

Under `segue`, `events` is everything that happened, in order and in full: what is shown above is a view of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from segue.formats.records import event_to_object
from segue.formats.sealed import Layout, render_file, render_value
from segue.model import Learning, Pattern, TaskDone, fold, overview_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segue.model import Event, JsonObject, Overview

LAYOUT_VERSION = 1
"""The version of what is under `segue`; the version of the session itself is in its metadata."""

TOP = ("session_id", "change_name", "current_story_id", "created_at", "learnings", "patterns", "completed_tasks")
LAYOUT = Layout(TOP, ("learnings", "patterns"))
LEARNING = ("description", "task_id", "story_id", "timestamp")
PATTERN = ("name", "description")

CHANGE = "change_name"
"""The extra field of the metadata with the change."""
STORY = "story"
"""The override with the story that the agent works on."""


class RalphDocument:
    """The content of a whole file; immutable."""

    def __init__(
        self,
        events: Sequence[Event],
        *,
        top: JsonObject,
        version: int = LAYOUT_VERSION,
        overview: Overview | None = None,
    ) -> None:
        self.events = list(events)
        self.top = top
        """The unknown fields of the file, as they were found."""
        self.version = version
        self.overview = overview or overview_of(fold(self.events))

    def extended(self, events: Sequence[Event], overview: Overview) -> RalphDocument:
        """The document with more events; `overview` is the session after them."""
        return RalphDocument([*self.events, *events], top=self.top, version=self.version, overview=overview)

    def renumbered(self) -> RalphDocument:
        """The document without the gaps that lost events left in the numbers."""
        events = [replace(event, seq=seq) for seq, event in enumerate(self.events, start=1)]
        return RalphDocument(events, top=self.top, version=self.version)

    def encode(self) -> bytes:
        """The bytes of the file."""
        lines = [(name, render_value(value, 2)[2:]) for name, value in {**self._shown(), **self.top}.items()]
        entries = [event_to_object(event) for event in self.events]
        ours = [("version", b"%d" % self.version), ("events", render_value(entries, 4)[4:])]
        return render_file(lines, ours, self.overview)

    def _shown(self) -> JsonObject:
        known = self.overview
        return {
            "session_id": known.id,
            "change_name": _text(known.extra.get(CHANGE)) or "",
            "current_story_id": _text(known.overrides.get(STORY)),
            "created_at": msgspec.to_builtins(known.created_at),
            "learnings": [shown_object(event) for event in known.learnings],
            "patterns": [shown_object(event) for event in known.patterns],
            "completed_tasks": list(dict.fromkeys(task.task_id for task in known.tasks_done)),
        }


def new_document(events: Sequence[Event]) -> RalphDocument:
    """The document of a new session with these events."""
    return RalphDocument(events, top={})


def shown_object(event: Learning | Pattern) -> JsonObject:
    """How a learning or pattern is shown; additional fields of other programs stay."""
    names = LEARNING if isinstance(event, Learning) else PATTERN
    plain = event_to_object(event)
    return {**{name: plain.get(name) for name in names}, **event.extra}


def shown_key(event: Event) -> tuple[object, ...] | None:
    """The identity of an event that is shown; None for other events."""
    match event:
        case Learning():
            return "learning", event.description, event.task_id, event.story_id, event.timestamp
        case Pattern():
            return "pattern", event.name, event.description
        case TaskDone():
            return "task", event.task_id
        case _:
            return None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None

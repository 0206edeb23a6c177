"""What can happen to a session. A session is the fold of these, in the order of their `seq`.

Every event has an `id` (appending the same id twice records it once) and, once a store has recorded it, a `seq` (1, 2,
3, … within its session; 0 before that). `extra` holds fields that this version does not know: they are kept and
written back unchanged.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from msgspec import Meta, Struct, field
from msgspec.structs import replace

from segue.model.status import Status

JsonObject = dict[str, object]
"""A JSON object as Python values; `check_event` defines what may be in it."""

Moment = Annotated[datetime, Meta(tz=True)]
"""A time with a zone. No decoder can check that it also exists in UTC: see `is_moment`."""

Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
"""A whole number that every database and every language can hold."""

EXTRA = " extra"
"""The encoded name of the field `extra`. No file uses it: on disk, its contents are fields like the others."""

ROLES = ("user", "assistant", "system", "tool")


def _extra() -> JsonObject:
    return field(default_factory=dict, name=EXTRA)


class Metadata(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag="metadata"):
    """The start of a session; always the first event."""

    session_id: str
    agent: str
    created_at: Moment
    status: Status
    version: Count = 0
    """The major version of the format it was written in; 0 if the writer did not record it."""
    title: str = ""
    tags: tuple[str, ...] = ()
    id: str
    seq: Count = 0
    extra: JsonObject = _extra()


class Turn(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, gc=False, tag="turn"):
    """One message of the conversation."""

    role: str
    content: str
    timestamp: Moment
    tokens: Count | None
    tokens_by: str = ""
    """Who counted the tokens: `provider`, `tokenizer` or `estimate`; empty if unknown."""
    model: str = ""
    """The model that answered."""
    partial: bool = False
    """Whether the answer was cut off, so that only its beginning is here."""
    branch: str = "main"
    parts: tuple[JsonObject, ...] = ()
    """Structure beyond the text: tool calls, tool results, reasoning, images by hash."""
    native: JsonObject | None = None
    """The record of the tool that it came from, unchanged."""
    id: str
    seq: Count = 0
    extra: JsonObject = _extra()


class StatusChanged(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag="status"):
    """The status that the session has from now on."""

    status: Status
    timestamp: Moment
    id: str
    seq: Count = 0
    extra: JsonObject = _extra()


class TitleChanged(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag="title"):
    """The title that the session has from now on."""

    title: str
    timestamp: Moment
    id: str
    seq: Count = 0
    extra: JsonObject = _extra()


class TagsChanged(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag="tags"):
    """All tags of the session from now on."""

    tags: tuple[str, ...]
    timestamp: Moment
    id: str
    seq: Count = 0
    extra: JsonObject = _extra()


class SummaryWritten(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag="summary"):
    """The summary that the session has from now on."""

    content: str
    timestamp: Moment
    id: str
    seq: Count = 0
    extra: JsonObject = _extra()


class Decision(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag="decision"):
    """A decision that was made in the conversation."""

    content: str
    timestamp: Moment
    tags: tuple[str, ...] = ()
    source: str = ""
    """Where the decision comes from: a command of the user, or an answer that it was found in."""
    id: str
    seq: Count = 0
    extra: JsonObject = _extra()


class Learning(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag="learning"):
    """Something that was learned in the conversation."""

    description: str
    timestamp: Moment
    task_id: str | None = None
    story_id: str | None = None
    id: str
    seq: Count = 0
    extra: JsonObject = _extra()


class Pattern(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag="pattern"):
    """A practice with a name, to be used again."""

    name: str
    description: str
    timestamp: Moment
    id: str
    seq: Count = 0
    extra: JsonObject = _extra()


class Attachment(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag="attachment"):
    """A file that the user attached; its bytes are a blob of the session, found by `hash`."""

    path: str
    hash: str
    size_bytes: Count
    timestamp: Moment
    id: str
    seq: Count = 0
    extra: JsonObject = _extra()


class ScopeChanged(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag="scope"):
    """What the tools of the agent may access from now on."""

    scope: JsonObject
    timestamp: Moment
    id: str
    seq: Count = 0
    extra: JsonObject = _extra()


class PresetChosen(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag="preset"):
    """The preset that the session uses, by name, with the hash of its content at that time."""

    name: str
    timestamp: Moment
    hash: str = ""
    id: str
    seq: Count = 0
    extra: JsonObject = _extra()


class OverridesChanged(
    Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag="overrides"
):
    """All settings that override the preset from now on."""

    values: JsonObject
    timestamp: Moment
    id: str
    seq: Count = 0
    extra: JsonObject = _extra()


class BranchCreated(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag="branch"):
    """A new branch that shares the first `at` turns of `parent`."""

    name: str
    parent: str
    at: Count
    timestamp: Moment
    switch: bool = True
    """Whether the new branch becomes the active one."""
    id: str
    seq: Count = 0
    extra: JsonObject = _extra()


class BranchSwitched(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag="switch"):
    """The branch that is active from now on."""

    branch: str
    timestamp: Moment
    id: str
    seq: Count = 0
    extra: JsonObject = _extra()


class TaskDone(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag="task"):
    """A task of a plan that is finished."""

    task_id: str
    timestamp: Moment
    story_id: str | None = None
    id: str
    seq: Count = 0
    extra: JsonObject = _extra()


class Record(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag="record"):
    """What a program recorded for itself. Segue keeps it unchanged and does not interpret it."""

    kind: str
    """What the program calls it."""
    data: JsonObject = {}
    blobs: tuple[str, ...] = ()
    """The names of the blobs that hold its large values."""
    name: str = ""
    """If it has one, the overview holds the latest record of that name; one without data and blobs removes it."""
    timestamp: Moment
    id: str
    seq: Count = 0
    extra: JsonObject = _extra()


class Unknown(Struct, frozen=True, kw_only=True):
    """An event of a type that this version does not know, stored unchanged; `data` is everything but id and seq."""

    type: str
    data: JsonObject
    id: str
    seq: Count = 0


KnownEvent = (
    Metadata
    | Turn
    | StatusChanged
    | TitleChanged
    | TagsChanged
    | SummaryWritten
    | Decision
    | Learning
    | Pattern
    | Attachment
    | ScopeChanged
    | PresetChosen
    | OverridesChanged
    | BranchCreated
    | BranchSwitched
    | TaskDone
    | Record
)
Event = KnownEvent | Unknown

EPOCH = datetime.fromtimestamp(0, UTC)


def is_moment(value: datetime) -> bool:
    """Whether it has a zone and exists in UTC too: 9999-12-31T23:59-12:00 would be in the year 10000."""
    if value.utcoffset() is None:
        return False
    if 1 < value.year < 9999:  # noqa: PLR2004 - the first and last year that Python knows
        return True
    try:
        value.astimezone(UTC)
    except OverflowError:
        return False
    return True


def content_of(event: Event) -> Event:
    """The event without its number and time: a retry has the same content a moment later."""
    match event:
        case Unknown():
            return replace(event, seq=0)
        case Metadata():
            return replace(event, seq=0, created_at=EPOCH)
        case Turn(branch="main"):  # a default is omitted when encoded only if it is the same object, not an equal one
            return replace(event, seq=0, timestamp=EPOCH, branch="main")
        case _:
            return replace(event, seq=0, timestamp=EPOCH)


EVENT_TYPES: dict[str, type[KnownEvent]] = {
    "metadata": Metadata,
    "turn": Turn,
    "status": StatusChanged,
    "title": TitleChanged,
    "tags": TagsChanged,
    "summary": SummaryWritten,
    "decision": Decision,
    "learning": Learning,
    "pattern": Pattern,
    "attachment": Attachment,
    "scope": ScopeChanged,
    "preset": PresetChosen,
    "overrides": OverridesChanged,
    "branch": BranchCreated,
    "switch": BranchSwitched,
    "task": TaskDone,
    "record": Record,
}
"""Event types by their name on disk."""

"""What may be appended: every event is checked once, before any store writes it, so that it reads back unchanged."""

from __future__ import annotations

import math
from datetime import datetime
from typing import TYPE_CHECKING

from msgspec import ValidationError, convert, to_builtins
from msgspec.structs import replace

from segue.errors import ConflictError, UsageError
from segue.ids import check_id
from segue.model.events import (
    EVENT_TYPES,
    ROLES,
    Attachment,
    BranchCreated,
    BranchSwitched,
    Event,
    KnownEvent,
    Metadata,
    Record,
    Turn,
    Unknown,
    is_moment,
)
from segue.model.session import get_branch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.model.session import HasBranches

DEPTH = 200
"""How deep JSON may nest; every decoder we know of accepts at least this."""

BITS = 4096
"""The size of the largest whole number; Python reads no more than 4300 digits."""

ID_LENGTH = 200

_TEXTS = {str}

RESERVED_TYPES = ("checkpoint",)
"""Record types that only a store writes."""


def check_event(event: Event, overview: HasBranches | None) -> None:
    """Raise UsageError if the event is malformed, ConflictError if it does not fit the session."""
    if not isinstance(event.id, str) or not 0 < len(event.id) <= ID_LENGTH:
        raise UsageError(f"an event id must be a text of 1 to {ID_LENGTH} characters, not {event.id!r:.40}")
    match event:
        case Turn():
            _check_turn(event)
            if overview is not None and event.branch not in overview.branches:
                raise ConflictError(f"session {overview.id} has no branch {event.branch!r}")
        case Record():
            _check_record(event)
        case Unknown():
            _check_unknown(event)
        case Metadata():
            if overview is not None:
                raise UsageError("a session has only one metadata event, its first")
            check_id(event.session_id)
            _check_fields(event)
        case _:
            _check_fields(event)
            if overview is not None:
                _check_branches(event, overview)


def _check_turn(turn: Turn) -> None:
    """Without msgspec, since every append of a turn goes through here."""
    if turn.role not in ROLES:
        raise UsageError(f"unknown role {turn.role!r}", hint=f"use one of {', '.join(ROLES)}")
    if type(turn.branch) is not str:
        raise UsageError(f"the branch of a turn must be a name, not {type(turn.branch).__name__}")
    if type(turn.content) is not str:
        raise UsageError(f"the content of a turn must be text, not {type(turn.content).__name__}")
    tokens = turn.tokens
    if tokens is not None and (not isinstance(tokens, int) or isinstance(tokens, bool) or not 0 <= tokens < 2**63):
        raise UsageError(f"tokens must be a count or None, not {tokens!r}")
    if not isinstance(turn.tokens_by, str) or not isinstance(turn.model, str) or not isinstance(turn.partial, bool):
        raise UsageError("tokens_by and model must be texts, partial must be true or false")
    _check_time(turn.timestamp)
    if turn.parts:
        if not isinstance(turn.parts, tuple) or not all(isinstance(part, dict) for part in turn.parts):
            raise UsageError("parts must be a tuple of JSON objects")
        for part in turn.parts:
            check_json(part, "parts")
    if turn.native is not None:
        check_json(turn.native, "native")
    if turn.extra:
        _check_extra(turn)


def _check_record(record: Record) -> None:
    """Without msgspec too: programs append records as often as turns."""
    if not isinstance(record.kind, str) or not record.kind:
        raise UsageError(f"the kind of a record must be a text, not {record.kind!r:.40}")
    if not isinstance(record.name, str):
        raise UsageError(f"the name of a record must be a text, not {type(record.name).__name__}")
    if not isinstance(record.blobs, tuple) or not all(isinstance(name, str) for name in record.blobs):
        raise UsageError("the blobs of a record must be a tuple of names")
    if not isinstance(record.data, dict):
        raise UsageError(f"the data of a record must be a JSON object, not {type(record.data).__name__}")
    check_json(record.data, "data")
    _check_time(record.timestamp)
    if record.extra:
        _check_extra(record)


def _check_fields(event: KnownEvent) -> None:
    kind = type(event).__struct_config__.tag
    for name in event.__struct_fields__:
        value = getattr(event, name)
        if isinstance(value, datetime):
            _check_time(value)
        elif name == "extra":
            _check_extra(event)
        elif isinstance(value, dict):
            check_json(value, name)
    known = replace(event, extra={})
    try:
        back = convert(to_builtins(known, builtin_types=(datetime,)), type(event))
    except (ValidationError, TypeError) as error:
        raise UsageError(f"invalid {kind} event: {error}") from None
    if back != known:
        raise UsageError(f"the {kind} event could not be read back unchanged", hint="use tuples of texts, not lists")


def _check_extra(event: KnownEvent) -> None:
    check_json(event.extra, "extra")
    if clash := {*event.__struct_encode_fields__, "type", "sum"} & event.extra.keys():
        raise UsageError(f"extra repeats fields of the event: {', '.join(sorted(clash))}")


def _check_unknown(event: Unknown) -> None:
    if not isinstance(event.type, str) or event.type in EVENT_TYPES or event.type in RESERVED_TYPES:
        raise UsageError(f"{event.type!r} is not the name of an unknown event type")
    check_json(event.data, "data")
    if clash := {"type", "id", "seq", "sum"} & event.data.keys():
        raise UsageError(f"the data of an unknown event repeats its fields: {', '.join(sorted(clash))}")


def _check_branches(event: Event, overview: HasBranches) -> None:
    match event:
        case BranchCreated():
            check_id(event.name, what="branch name")
            if event.name in overview.branches:
                raise ConflictError(
                    f"session {overview.id} already has a branch {event.name!r}", hint="choose another name"
                )
            if not 0 <= event.at <= get_branch(overview, event.parent).turn_count:
                count = get_branch(overview, event.parent).turn_count
                raise UsageError(f"cannot fork at turn {event.at}: branch {event.parent} has {count} turns")
        case BranchSwitched():
            get_branch(overview, event.branch)
        case Attachment() if event.size_bytes < 0:
            raise UsageError("the size of an attachment must not be negative")


def _check_time(value: datetime) -> None:
    offset = value.utcoffset() if isinstance(value, datetime) else None
    if offset is None:
        raise UsageError("a timestamp must be a datetime with a time zone")
    if not is_moment(value):
        raise UsageError("a timestamp must be between the years 1 and 9999, also in UTC")
    if offset.seconds % 60 or offset.microseconds:
        raise UsageError("the time zone of a timestamp must be whole minutes from UTC")


def check_json(value: object, where: str) -> None:
    """Only JSON that reads back unchanged: no tuples (they would become lists), text keys alone, no NaN."""
    # Without recursion: the records of other tools have thousands of values.
    opened: list[Iterator[object]] = [iter((value,))]
    while opened:
        for item in opened[-1]:
            if len(opened) > DEPTH + 1:
                raise UsageError(f"{where} is nested too deeply")
            if type(item) is str or item is None:
                continue
            if isinstance(item, dict) and set(map(type, item)) <= _TEXTS:
                opened.append(iter(item.values()))
                break
            if isinstance(item, list):
                opened.append(iter(item))
                break
            if not _is_number(item):
                raise UsageError(f"{where} must be JSON of moderate size, and this {type(item).__name__} is not")
        else:
            opened.pop()


def _is_number(value: object) -> bool:
    """A finite number of moderate size; booleans are numbers in Python."""
    if isinstance(value, int):
        return value.bit_length() <= BITS
    return isinstance(value, float) and math.isfinite(value)

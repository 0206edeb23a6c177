"""What may be appended: checked once, at the door of every store, so that what goes in comes out."""

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
    Turn,
    Unknown,
    is_moment,
)
from segue.model.session import get_branch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.model.session import HasBranches

DEPTH = 200
"""How deep JSON may nest; every decoder we know of takes at least this."""

BITS = 4096
"""How large a whole number may be; Python reads no more than 4300 digits."""

ID_LENGTH = 200

_TEXTS = {str}

RESERVED_TYPES = ("checkpoint",)
"""Types that a store writes for itself."""


def check_event(event: Event, overview: HasBranches | None) -> None:
    """Raise UsageError if the event is malformed, ConflictError if it does not fit the session as it is."""
    if not isinstance(event.id, str) or not 0 < len(event.id) <= ID_LENGTH:
        raise UsageError(f"an event id is a text of 1 to {ID_LENGTH} characters, not {event.id!r:.40}")
    match event:
        case Turn():
            _check_turn(event)
            if overview is not None and event.branch not in overview.branches:
                raise ConflictError(f"session {overview.id} has no branch {event.branch!r}")
        case Unknown():
            _check_unknown(event)
        case Metadata():
            if overview is not None:
                raise UsageError("a session has one metadata event, its first")
            check_id(event.session_id)
            _check_fields(event)
        case _:
            _check_fields(event)
            if overview is not None:
                _check_branches(event, overview)


def _check_turn(turn: Turn) -> None:
    """By hand, since it is on the path of every append."""
    if turn.role not in ROLES:
        raise UsageError(f"unknown role {turn.role!r}", hint=f"one of {', '.join(ROLES)}")
    if type(turn.branch) is not str:
        raise UsageError(f"the branch of a turn is a name, not {type(turn.branch).__name__}")
    if type(turn.content) is not str:
        raise UsageError(f"the content of a turn is text, not {type(turn.content).__name__}")
    tokens = turn.tokens
    if tokens is not None and (not isinstance(tokens, int) or isinstance(tokens, bool) or not 0 <= tokens < 2**63):
        raise UsageError(f"tokens is a count or None, not {tokens!r}")
    if not isinstance(turn.tokens_by, str) or not isinstance(turn.model, str) or not isinstance(turn.partial, bool):
        raise UsageError("tokens_by and model are texts, partial is yes or no")
    _check_time(turn.timestamp)
    if turn.parts:
        if not isinstance(turn.parts, tuple) or not all(isinstance(part, dict) for part in turn.parts):
            raise UsageError("parts is a tuple of JSON objects")
        for part in turn.parts:
            _check_json(part, "parts")
    if turn.native is not None:
        _check_json(turn.native, "native")
    if turn.extra:
        _check_extra(turn)


def _check_fields(event: KnownEvent) -> None:
    kind = type(event).__struct_config__.tag
    for name in event.__struct_fields__:
        value = getattr(event, name)
        if isinstance(value, datetime):
            _check_time(value)
        elif name == "extra":
            _check_extra(event)
        elif isinstance(value, dict):
            _check_json(value, name)
    known = replace(event, extra={})
    try:
        back = convert(to_builtins(known, builtin_types=(datetime,)), type(event))
    except (ValidationError, TypeError) as error:
        raise UsageError(f"that is no {kind} event: {error}") from None
    if back != known:
        raise UsageError(f"that {kind} event would not come back as it is", hint="texts in a tuple, not in a list")


def _check_extra(event: KnownEvent) -> None:
    _check_json(event.extra, "extra")
    if clash := {*event.__struct_encode_fields__, "type", "sum"} & event.extra.keys():
        raise UsageError(f"extra repeats {', '.join(sorted(clash))}")


def _check_unknown(event: Unknown) -> None:
    if not isinstance(event.type, str) or event.type in EVENT_TYPES or event.type in RESERVED_TYPES:
        raise UsageError(f"{event.type!r} is not the name of a foreign event type")
    _check_json(event.data, "data")
    if clash := {"type", "id", "seq", "sum"} & event.data.keys():
        raise UsageError(f"the data of an unknown event repeats {', '.join(sorted(clash))}")


def _check_branches(event: Event, overview: HasBranches) -> None:
    match event:
        case BranchCreated():
            check_id(event.name, what="branch name")
            if event.name in overview.branches:
                raise ConflictError(
                    f"session {overview.id} has a branch {event.name!r} already", hint="choose another name"
                )
            if not 0 <= event.at <= get_branch(overview, event.parent).turn_count:
                count = get_branch(overview, event.parent).turn_count
                raise UsageError(f"cannot fork at turn {event.at}: branch {event.parent} has {count} turns")
        case BranchSwitched():
            get_branch(overview, event.branch)
        case Attachment() if event.size_bytes < 0:
            raise UsageError("the size of an attachment is a number of bytes")


def _check_time(value: datetime) -> None:
    offset = value.utcoffset() if isinstance(value, datetime) else None
    if offset is None:
        raise UsageError("a timestamp is a datetime that knows its time zone")
    if not is_moment(value):
        raise UsageError("a timestamp is between the years 1 and 9999, in UTC too")
    if offset.seconds % 60 or offset.microseconds:
        raise UsageError("the time zone of a timestamp is whole minutes from UTC")


def _check_json(value: object, where: str) -> None:
    """JSON as it comes back: no tuples (they return as lists), no keys but text, no NaN."""
    # Without a call for each value: the records of other tools have thousands.
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
                raise UsageError(f"{where} is JSON of moderate size: this {type(item).__name__} is not")
        else:
            opened.pop()


def _is_number(value: object) -> bool:
    """Or a truth value, which is a number to Python."""
    if isinstance(value, int):
        return value.bit_length() <= BITS
    return isinstance(value, float) and math.isfinite(value)

"""Reads the fields of a file, whichever program wrote it last, and reports every damage with its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec.structs import replace

from segue.errors import Damage
from segue.formats.records import BadRecordError, may_hold_invalid_time, parse_json
from segue.formats.sealed.layout import find_position, line_number, salvage_fields
from segue.formats.sealed.seal import body_size, find_changed_byte, is_sealed
from segue.model import Head
from segue.model.checks import DEPTH

if TYPE_CHECKING:
    from segue.formats.sealed.layout import FieldPosition, Layout
    from segue.model import JsonObject

_LEVELS = DEPTH + 20
"""How deep the JSON of another program may nest: a little more than an event of ours."""

_HEAD = b'\n    "head": '


class SealedFields(NamedTuple):
    """The fields of a file, and what cannot be read of them."""

    found: JsonObject | None
    """None if the file cannot be a session of any program."""
    damages: tuple[Damage, ...]
    changed: FieldPosition | None = None
    """Where the one changed byte is, if there is exactly one."""


def read_sealed_head(data: bytes, session_id: str) -> Head | None:
    """The head of a session without parsing the conversation, if every byte is as we wrote it; else None."""
    if not is_sealed(data):
        return None
    end = body_size(data)
    text = data[data.rfind(_HEAD, 0, end) + len(_HEAD) : end].rstrip(b",\n")
    if may_hold_invalid_time(text):
        return None
    try:
        head = msgspec.json.decode(text, type=Head)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return head if head.id == session_id else replace(head, id=session_id)


def read_sealed(layout: Layout, data: bytes, place: str, *, needs: str) -> SealedFields:
    """Read a file. Without the field that it `needs` (a list if the layout says so), it is not a session."""
    damages: list[Damage] = []
    changed = None
    if (byte := find_changed_byte(data)) is not None:
        line = line_number(data, byte.offset)
        was, now = bytes([byte.original]), data[byte.offset : byte.offset + 1]
        reason = f"one byte changed: {was!r} became {now!r}".replace("b'", "'")
        damages.append(Damage(f"{place} line {line}", reason, line=line, offset=byte.offset, size_bytes=1))
        data = data[: byte.offset] + was + data[byte.offset + 1 :]
        changed = find_position(layout, data, byte.offset)
    try:
        found = parse_json(data)
    except BadRecordError as error:
        found, bad = salvage_fields(layout, data, place, str(error))
        damages += bad
    reason = ""
    if not isinstance(found, dict):
        reason = "it is JSON, but not an object"
    elif needs not in found or (needs in layout.shown and not isinstance(found[needs], list)):
        reason = f"it has no {needs}"
    elif not is_sealed(data) and not _is_flat(found, _LEVELS):
        reason = "it is nested too deeply"
    if reason or not isinstance(found, dict):
        return SealedFields(None, tuple(damages) or (Damage(place, reason),))
    return SealedFields(found, tuple(damages), changed)


def _is_flat(value: object, levels: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels > 0 and all(_is_flat(one, levels - 1) for one in inner)

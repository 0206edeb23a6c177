"""From the bytes of a file to its fields, whoever wrote them last, with every damage placed."""

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
"""As deep as what others wrote may nest: a little more than an event of ours may."""

_HEAD = b'\n    "head": '


class SealedFields(NamedTuple):
    """The fields of a file, and all that cannot be read of them."""

    found: JsonObject | None
    """None where this cannot be the session of any program."""
    damages: tuple[Damage, ...]
    spot: FieldPosition | None = None
    """What the one changed byte belongs to, if there is one."""


def read_sealed_head(data: bytes, session_id: str) -> Head | None:
    """What a listing needs, without parsing the conversation, if every byte is as we wrote it; else None."""
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
    """A file without what it `needs` (a field, a list where the layout says so) is no session of this format."""
    damages: list[Damage] = []
    spot = None
    if (flip := find_changed_byte(data)) is not None:
        line = line_number(data, flip.offset)
        was, now = bytes([flip.original]), data[flip.offset : flip.offset + 1]
        reason = f"one byte changed: {was!r} became {now!r}".replace("b'", "'")
        damages.append(Damage(f"{place} line {line}", reason, line=line, offset=flip.offset, size_bytes=1))
        data = data[: flip.offset] + was + data[flip.offset + 1 :]
        spot = find_position(layout, data, flip.offset)
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
    return SealedFields(found, tuple(damages), spot)


def _is_flat(value: object, levels: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels > 0 and all(_is_flat(one, levels - 1) for one in inner)

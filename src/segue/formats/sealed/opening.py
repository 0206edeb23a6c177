"""From the bytes of a file to its fields, whoever wrote them last, with every damage placed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec.structs import replace

from segue.errors import Damage
from segue.formats.records import BadRecordError, may_be_no_moment, parse
from segue.formats.sealed.layout import line_of, salvage, spot_of
from segue.formats.sealed.seal import body_size, find_flip, is_sealed
from segue.model import Head
from segue.model.check import DEPTH

if TYPE_CHECKING:
    from segue.formats.sealed.layout import Layout, Spot
    from segue.model import JsonObject

_LEVELS = DEPTH + 20
"""As deep as what others wrote may nest: a little more than an event of ours may."""

_HEAD = b'\n    "head": '


class OpenedSeal(NamedTuple):
    """The fields of a file, and all that cannot be read of them."""

    found: JsonObject | None
    """None where this cannot be the session of any program."""
    damages: tuple[Damage, ...]
    spot: Spot | None = None
    """What the one changed byte belongs to, if there is one."""


def glance(data: bytes, session_id: str) -> Head | None:
    """What a listing needs, without parsing the conversation, if every byte is as we wrote it; else None."""
    if not is_sealed(data):
        return None
    end = body_size(data)
    text = data[data.rfind(_HEAD, 0, end) + len(_HEAD) : end].rstrip(b",\n")
    if may_be_no_moment(text):
        return None
    try:
        head = msgspec.json.decode(text, type=Head)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return head if head.id == session_id else replace(head, id=session_id)


def open_file(layout: Layout, data: bytes, place: str, *, needs: str) -> OpenedSeal:
    """A file without what it `needs` (a field, a list where the layout says so) is no session of this format."""
    damages: list[Damage] = []
    spot = None
    if (flip := find_flip(data)) is not None:
        line = line_of(data, flip.offset)
        was, now = bytes([flip.original]), data[flip.offset : flip.offset + 1]
        reason = f"one byte changed: {was!r} became {now!r}".replace("b'", "'")
        damages.append(Damage(f"{place} line {line}", reason, line=line, offset=flip.offset, size_bytes=1))
        data = data[: flip.offset] + was + data[flip.offset + 1 :]
        spot = spot_of(layout, data, flip.offset)
    try:
        found = parse(data)
    except BadRecordError as error:
        found, bad = salvage(layout, data, place, str(error))
        damages += bad
    reason = ""
    if not isinstance(found, dict):
        reason = "it is JSON, but not an object"
    elif needs not in found or (needs in layout.shown and not isinstance(found[needs], list)):
        reason = f"it has no {needs}"
    elif not is_sealed(data) and not _is_flat(found, _LEVELS):
        reason = "it is nested too deeply"
    if reason or not isinstance(found, dict):
        return OpenedSeal(None, tuple(damages) or (Damage(place, reason),))
    return OpenedSeal(found, tuple(damages), spot)


def _is_flat(value: object, levels: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels > 0 and all(_is_flat(one, levels - 1) for one in inner)

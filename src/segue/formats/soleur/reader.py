"""From the bytes of a file to its session, whoever wrote them last, with every damage placed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec.structs import replace

from segue.errors import Damage
from segue.formats.records import BadRecordError, parse
from segue.formats.soleur.assembly import Assembly
from segue.formats.soleur.document import Document
from segue.formats.soleur.layout import EVENTS, line_of, salvage, spot_of
from segue.formats.soleur.seal import body_size, find_flip, is_sealed
from segue.model import Decision, Head
from segue.model.check import DEPTH

if TYPE_CHECKING:
    from segue.formats.soleur.layout import Spot

_LEVELS = DEPTH + 20
"""As deep as what others wrote may nest: a little more than an event of ours may."""

_HEAD = b'\n    "head": '


class Reading(NamedTuple):
    """All that can be read of a file, and all that cannot."""

    document: Document | None
    damages: tuple[Damage, ...] = ()
    context: bytes = b""
    """The text of the field `project_context`, where another program filled it in."""


def glance(data: bytes, session_id: str) -> Head | None:
    """What a listing needs, without parsing the conversation, if every byte is as we wrote it; else None."""
    if not is_sealed(data):
        return None
    end = body_size(data)
    start = data.rfind(_HEAD, 0, end)
    try:
        head = msgspec.json.decode(data[start + len(_HEAD) : end].rstrip(b",\n"), type=Head)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return head if head.id == session_id else replace(head, id=session_id)


def read(data: bytes, session_id: str, place: str) -> Reading:
    """The file of this name. What one changed byte belongs to is not believed, and the rest is."""
    damages: list[Damage] = []
    spot = None
    if (flip := find_flip(data)) is not None:
        line = line_of(data, flip.offset)
        was, now = bytes([flip.original]), data[flip.offset : flip.offset + 1]
        reason = f"one byte changed: {was!r} became {now!r}".replace("b'", "'")
        damages.append(Damage(f"{place} line {line}", reason, line=line, offset=flip.offset, size_bytes=1))
        data = data[: flip.offset] + was + data[flip.offset + 1 :]
        spot = spot_of(data, flip.offset)
    try:
        found = parse(data)
    except BadRecordError as error:
        found, bad = salvage(data, place, str(error))
        damages += bad
    if reason := _refusal(found, is_ours=is_sealed(data)):
        return Reading(None, tuple(damages) or (Damage(place, reason),))
    assert isinstance(found, dict)  # noqa: S101 - or it were refused
    assembly = Assembly(found, session_id, place)
    assembly.build()
    damages += assembly.damages
    document = assembly.document(is_noted=not damages)
    if spot is not None:
        document = _without(document, spot)
    return Reading(document, tuple(damages), assembly.context)


def _refusal(found: object, *, is_ours: bool) -> str:
    """Why this cannot be the session of any program; empty if it can."""
    if not isinstance(found, dict):
        return "it is JSON, but not an object"
    if not isinstance(found.get("messages"), list):
        return "it has no messages"
    return "" if is_ours or _is_flat(found, _LEVELS) else "it is nested too deeply"


def _is_flat(value: object, levels: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels > 0 and all(_is_flat(one, levels - 1) for one in inner)


def _without(document: Document, spot: Spot) -> Document:
    """All but the event that a changed byte belongs to; the first is needed, and known from what the file said."""
    decisions = [record for record in document.records if isinstance(record.event, Decision)]
    items = {"messages": document.path, "decisions": decisions, EVENTS: document.records}.get(spot.name, ())
    hit = items[spot.item] if 0 <= spot.item < len(items) else document.records[0]
    records = [record for record in document.records if record is not hit or record is document.records[0]]
    return Document(records, top=document.top, context=document.context, version=document.version)

"""Reads the session of a file, whichever program wrote it last, and reports every damage with its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from segue.dialects.soleur.format.assembly import Assembly
from segue.dialects.soleur.format.document import LAYOUT, SoleurDocument
from segue.formats.records import BadRecordError, parse_json
from segue.formats.sealed import EVENTS, is_sealed, read_sealed
from segue.model import Decision

if TYPE_CHECKING:
    from segue.errors import Damage
    from segue.formats.sealed import FieldPosition

_MESSAGES = b'\n  "messages": ['


class ParsedSoleurFile(NamedTuple):
    """What can be read of a file, and what cannot."""

    document: SoleurDocument | None
    damages: tuple[Damage, ...] = ()
    context: bytes = b""
    """The text of the field `project_context`, if another program filled it in."""


def read(data: bytes, session_id: str, place: str) -> ParsedSoleurFile:
    """Parse a file. An event with a changed byte is dropped, and the rest is kept."""
    opened = read_sealed(LAYOUT, data, place, needs="messages")
    if opened.found is None:
        return ParsedSoleurFile(None, opened.damages)
    assembly = Assembly(opened.found, session_id, place)
    assembly.build()
    damages = (*opened.damages, *assembly.damages)
    document = assembly.document(is_noted=not damages)
    if opened.changed is not None:
        document = _without(document, opened.changed)
    return ParsedSoleurFile(document, damages, assembly.context)


def read_last_message(data: bytes) -> str | None:
    """The text of the last message, without parsing the others, if every byte is as we wrote it; else None.

    Empty if there are no messages. JSON text has no raw newlines, so the indent tells what a line belongs to.
    """
    start = data.find(_MESSAGES) + len(_MESSAGES)
    if start < len(_MESSAGES) or not is_sealed(data):
        return None
    if data.startswith(b"]", start):
        return ""
    end = data.find(b"\n  ]", start)
    try:
        found = parse_json(data[data.rfind(b"\n    {", start, end) : end])
    except BadRecordError:
        return None
    content = found.get("content") if isinstance(found, dict) else None
    return content if isinstance(content, str) else None


def _without(document: SoleurDocument, changed: FieldPosition) -> SoleurDocument:
    """All events except the one with the changed byte; the first is needed, and known from the fields above."""
    decisions = [record for record in document.records if isinstance(record.event, Decision)]
    items = {"messages": document.path, "decisions": decisions, EVENTS: document.records}.get(changed.name, ())
    hit = items[changed.item] if 0 <= changed.item < len(items) else document.records[0]
    records = [record for record in document.records if record is not hit or record is document.records[0]]
    return SoleurDocument(records, top=document.top, context=document.context, version=document.version)

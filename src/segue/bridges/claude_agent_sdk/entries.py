"""How the entries of a transcript are stored in events, and read back exactly as they were.

A message is a turn with its entries in `native`; every other entry is a record. Each entry has a position, so that
their order does not depend on how many of them make a turn. Large ones are blobs, with the fields that link them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec.structs import replace

from segue.bridges.sessions import new_record
from segue.errors import UsageError
from segue.integrations.format.native import native_records
from segue.integrations.format.values import as_text, child, objects
from segue.model import Record, Turn, check_event
from segue.transfer.stored_turn import stored_turn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from segue.model import Event, JsonObject

ENTRY = "claude-entry"
"""The kind of the records that are entries."""
LARGE_BYTES = 64 << 10
_LINKS = ("type", "uuid", "parentUuid", "logicalParentUuid", "isSidechain", "isMeta")


class SourceEntry(NamedTuple):
    """An entry to be stored."""

    entry: JsonObject
    text: str
    """The entry as JSON."""
    is_plain: bool
    """Whether all of its values are such as every store accepts; else only the text is stored."""
    position: int = 0

    @property
    def uuid(self) -> str:
        return uuid_of(self.entry)


def uuid_of(entry: JsonObject) -> str:
    """What identifies the entry; empty if nothing does."""
    uuid = entry.get("uuid")
    return uuid if isinstance(uuid, str) else ""


def message_id(entry: JsonObject) -> str:
    """The id of the message that the entry is a part of; empty if it has none."""
    return as_text(child(entry, "message").get("id"))


def source_entry(entry: JsonObject) -> SourceEntry:
    """UsageError if the entry is not a JSON object."""
    try:
        text = json.dumps(entry)
    except (TypeError, ValueError, RecursionError) as error:
        raise _not_json(str(error)) from None
    if not isinstance(entry, dict):
        raise _not_json(f"it is a {type(entry).__name__}, not an object")
    try:
        check_event(new_record(ENTRY, {"entry": entry}), None)
    except UsageError:
        return SourceEntry(entry, text, is_plain=False)
    return SourceEntry(entry, text, is_plain=True)


def _not_json(reason: str) -> UsageError:
    return UsageError(f"an entry of the transcript is not JSON: {reason}", hint="append only what json.dumps accepts")


def turn_event(turn: Turn, sources: Sequence[SourceEntry], put_blob: Callable[[bytes], str]) -> Turn | None:
    """The turn with its entries in `native`; None if it cannot be stored as a turn."""
    positions = [source.position for source in sources]
    native: JsonObject = {**(turn.native or {}), "at": positions}
    if sum(len(source.text) for source in sources) > LARGE_BYTES and _is_large(native):
        native = {
            "tool": "claude",
            "at": positions,
            "blobs": [put_blob(source.text.encode()) for source in sources],
            "links": [_links(source.entry) for source in sources],
        }
    made = replace(turn, native=native if sources else None)
    try:
        check_event(made, None)
    except UsageError:
        return None
    return stored_turn(made, put_blob)


def record_event(source: SourceEntry, event_id: str, put_blob: Callable[[bytes], str]) -> Record:
    """The entry as a record; as text if the values in it are not ones that every store accepts."""
    at: JsonObject = {"at": source.position}
    if len(source.text) > LARGE_BYTES:
        name = put_blob(source.text.encode())
        return new_record(ENTRY, {**at, "links": _links(source.entry)}, blobs=[name], id=event_id)
    stored: JsonObject = {"entry": source.entry} if source.is_plain else {"json": source.text}
    return new_record(ENTRY, {**at, **stored}, id=event_id)


def entries_in(event: Event, get_blob: Callable[[str], bytes]) -> Iterator[tuple[int, JsonObject]]:
    """The entries of an event, each with its position; none if it is not of a transcript."""
    if isinstance(event, Turn):
        positions = _positions(event)
        names = event.native.get("blobs") if positions and event.native else None
        found = (
            [_from_json(get_blob(str(name))) for name in names]
            if isinstance(names, list)
            else native_records(event, get_blob)
            if positions
            else []
        )
        yield from zip(positions, found, strict=True)
    elif isinstance(event, Record) and event.kind == ENTRY and isinstance(at := event.data.get("at"), int):
        if event.blobs:
            yield at, _from_json(get_blob(event.blobs[0]))
        elif isinstance(text := event.data.get("json"), str):
            yield at, _from_json(text)
        elif isinstance(entry := event.data.get("entry"), dict):
            yield at, entry


def links_in(event: Event) -> list[JsonObject]:
    """The entries of an event, with at least the fields that link them."""
    if isinstance(event, Turn):
        if not _positions(event) or event.native is None:
            return []
        if "links" in event.native:
            return objects(event.native["links"])
        records = objects(event.native.get("records"))
        is_plain = all(type(record.get(name)) is not dict for record in records for name in _LINKS)
        return records if is_plain else native_records(event)
    if not isinstance(event, Record) or event.kind != ENTRY:
        return []
    if isinstance(text := event.data.get("json"), str):
        return [_from_json(text)]
    return objects([event.data.get("entry") or event.data.get("links")])


def _positions(turn: Turn) -> list[int]:
    found = turn.native.get("at") if turn.native is not None else None
    return [at for at in found if isinstance(at, int)] if isinstance(found, list) else []


def _links(entry: JsonObject) -> JsonObject:
    links = {name: entry[name] for name in _LINKS if name in entry and isinstance(entry[name], str | bool | None)}
    return {**links, "message": {"id": message_id(entry)}}


def _is_large(value: JsonObject) -> bool:
    try:
        return len(msgspec.json.encode(value)) > LARGE_BYTES
    except (TypeError, ValueError, RecursionError):  # it has values that only the text keeps
        return True


def _from_json(text: str | bytes) -> JsonObject:
    found = json.loads(text)
    return found if isinstance(found, dict) else {}

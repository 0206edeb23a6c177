"""A log of changes to one JSON document: the whole document, then values that were set, added, cut off or removed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from segue.integrations.format.limits import DOCUMENT_BYTES
from segue.integrations.format.values import as_count

if TYPE_CHECKING:
    from segue.integrations.format.lines import Lines
    from segue.integrations.format.transcript import TranscriptBuilder
    from segue.model import JsonObject

_LONGEST_PATH = 50
_WHOLE, _SET, _PUSH, _DELETE = range(4)


class _BadChangeError(Exception):
    """A change that does not fit the document."""


class ChangedDocument(NamedTuple):
    """A document after all changes."""

    value: object
    removed: dict[int, list[object]]
    """What was cut off from the list `requests`, by where it was cut."""


def read_changes(lines: Lines, builder: TranscriptBuilder) -> ChangedDocument:
    """Read the log; a change that cannot be applied is a damage, and affects only itself."""
    document: object = None
    removed: dict[int, list[object]] = {}
    for at, record in builder.records(lines):
        if builder.read_bytes > DOCUMENT_BYTES:
            builder.damage(f"it is longer than {DOCUMENT_BYTES >> 20} MB, and not read any further", at=at)
            break
        if record.get("kind") == _WHOLE:
            document = record.get("v")
            continue
        try:
            index = as_count(record.get("i")) or 0
            removed.setdefault(index, []).extend(_apply(document, record))
        except _BadChangeError as error:
            builder.damage(str(error), at=at)
    return ChangedDocument(document, removed)


def _apply(document: object, record: JsonObject) -> list[object]:
    """Change the document; what was cut off from the list of requests."""
    kind, path = record.get("kind"), record.get("k")
    if kind not in (_SET, _PUSH, _DELETE) or isinstance(kind, bool):
        raise _BadChangeError(f"a change of the unknown type {kind!r:.40} is not read")
    if not isinstance(path, list) or not 0 < len(path) <= _LONGEST_PATH:
        raise _BadChangeError("it changes nothing that has a name")
    for step in path[:-1]:
        document = _child(document, step)
    name = path[-1]
    if kind == _PUSH:
        cut = _push(_child(document, name, missing=[]), record)
        return cut if path == ["requests"] else []
    if isinstance(document, dict) and isinstance(name, str):
        if kind == _DELETE:
            document.pop(name, None)
        else:
            document[name] = record.get("v")
    elif isinstance(document, list) and isinstance(name, int) and 0 <= name < len(document):
        document[name] = record.get("v") if kind == _SET else None
    else:
        raise _BadChangeError("it changes a value that is not in the document")
    return []


def _push(target: object, record: JsonObject) -> list[object]:
    if not isinstance(target, list):
        raise _BadChangeError("it adds to a value that is not a list")
    length, values = record.get("i"), record.get("v")
    cut: list[object] = []
    if isinstance(length, int) and length >= 0:
        cut = target[length:]
        del target[length:]
    if isinstance(values, list):
        target += values
    return cut


def _child(value: object, name: object, *, missing: object = None) -> object:
    if isinstance(value, dict) and isinstance(name, str):
        if value.get(name) is None and missing is not None:
            value[name] = missing
        if name in value:
            return value[name]
    elif isinstance(value, list) and isinstance(name, int) and 0 <= name < len(value):
        return value[name]
    raise _BadChangeError("it changes a value that is not in the document")

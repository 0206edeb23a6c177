"""JSON documents of AI tools, which are read whole, and with limits: a session, or what describes one."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from segue.durable.small_file import UnusableFileError, read_small_file
from segue.errors import SegueError
from segue.formats.records import BadRecordError
from segue.integrations.format.limits import DOCUMENT_BYTES
from segue.integrations.format.transcript import parse_record
from segue.integrations.shared.history import gone

if TYPE_CHECKING:
    from segue.integrations.format.transcript import TranscriptBuilder
    from segue.model import JsonObject

_ABOUT_BYTES = 4 << 20
"""In a document that only describes sessions."""


def read_document(path: str, builder: TranscriptBuilder) -> object:
    """The value in a JSON file; None if it cannot be read, which is a damage. NotFoundError if it is gone."""
    try:
        data = read_small_file(path, size_bytes=DOCUMENT_BYTES)
    except FileNotFoundError:
        raise gone(path) from None
    except UnusableFileError as error:
        builder.damage(str(error))
        return None
    builder.read_bytes += len(data)
    try:
        return parse_record(data)
    except BadRecordError as error:
        builder.damage(str(error))
    except RecursionError:
        builder.damage("it is nested too deeply")
    return None


def objects_in(document: object, name: str, builder: TranscriptBuilder) -> list[JsonObject]:
    """The objects in a list of the document; everything else in its place is a damage."""
    found = document.get(name) if isinstance(document, dict) else None
    if isinstance(found, list):
        return [item for item in found if isinstance(item, dict)]
    if document is not None:
        builder.damage(f"it is JSON, but has no list {name!r}")
    return []


def read_description(path: str) -> JsonObject:
    """The object in a small JSON file next to a session; empty without one. A link out of its folder is refused."""
    found = read_related(path)
    return found if isinstance(found, dict) else {}


def read_related(path: str) -> object:
    """The value in a small JSON file next to a session; None without one. It must not be changed."""
    try:
        state = Path(path).stat()
        return _read_unchanged(path, state.st_size, state.st_mtime_ns)
    except (OSError, UnusableFileError, BadRecordError, RecursionError, SegueError):
        return None


@lru_cache(maxsize=8)
def _read_unchanged(path: str, size: int, changed: int) -> object:  # noqa: ARG001 - by which a change is noticed
    """One file may describe all sessions of a tool, which are read one after another."""
    return parse_record(read_small_file(path, size_bytes=_ABOUT_BYTES, inside=str(Path(path).parent)))

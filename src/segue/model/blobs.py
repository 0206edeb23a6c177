"""Which blobs events refer to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from segue.model.events import Attachment, Record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.model.events import Event

_BLOB = re.compile(r"sha256:[0-9a-f]{64}")


def is_blob_name(text: str) -> bool:
    return _BLOB.fullmatch(text) is not None


def blob_names(*values: object) -> set[str]:
    """Every text in events, or in parts of them, that could be the name of a blob."""
    return {text for value in values for text in _texts(msgspec.to_builtins(value)) if is_blob_name(text)}


def needed_blobs(event: Event) -> tuple[str, ...]:
    """The blobs without which an event is not complete, whether or not they exist."""
    match event:
        case Attachment():
            return (event.hash,)
        case Record():
            return event.blobs
    return ()


def _texts(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list() | tuple():
            for item in value:
                yield from _texts(item)
        case dict():
            for item in value.values():
                yield from _texts(item)

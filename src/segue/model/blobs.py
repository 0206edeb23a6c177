"""Which blobs events refer to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator

_BLOB = re.compile(r"sha256:[0-9a-f]{64}")


def is_blob_name(text: str) -> bool:
    return _BLOB.fullmatch(text) is not None


def blob_names(*values: object) -> set[str]:
    """Every text in events, or in parts of them, that could be the name of a blob."""
    return {text for value in values for text in _texts(msgspec.to_builtins(value)) if is_blob_name(text)}


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

"""The values of Strands as JSON: its own form for bytes, with large ones as blobs."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_MARK = "__bytes_encoded__"
_SMALL = 1024
"""Bytes up to this number are in the value itself."""


def without_bytes(value: object, put_blob: Callable[[bytes], str]) -> object:
    """The value with its bytes in the form that Strands gives them in JSON, or by the name of a blob."""
    match value:
        case bytes() if len(value) > _SMALL:
            return {_MARK: True, "blob": put_blob(value)}
        case bytes():
            return {_MARK: True, "data": b64encode(value).decode()}
        case dict():
            return {key: without_bytes(item, put_blob) for key, item in value.items()}
        case list() | tuple():
            return [without_bytes(item, put_blob) for item in value]
    return value


def with_bytes(value: object, get_blob: Callable[[str], bytes]) -> object:
    """The value with the bytes of its blobs; the rest is decoded by Strands."""
    match value:
        case {"__bytes_encoded__": True, "blob": str(name)}:
            return get_blob(name)
        case dict():
            return {key: with_bytes(item, get_blob) for key, item in value.items()}
        case list():
            return [with_bytes(item, get_blob) for item in value]
    return value

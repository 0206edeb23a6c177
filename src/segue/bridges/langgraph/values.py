"""Values of a graph as records hold them: JSON where they are JSON, else the bytes of the serializer.

A stored value is an object with one of these keys; `type` is what the serializer calls its bytes.

| key | the value |
|---|---|
| `json` | as it is |
| `base64` | the bytes |
| `blob` | the bytes, if they are many: a blob of the session |
| `key` | what the record with this key in `new` holds: unchanged values are shared, not written again |
| `parts` | a list in pieces: for each piece the number of its items, and the stored value |
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from math import isfinite
from typing import TYPE_CHECKING, Any

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from msgspec import UNSET, Struct, UnsetType

if TYPE_CHECKING:
    from collections.abc import Callable

    from langgraph.checkpoint.serde.base import SerializerProtocol

INLINE_BYTES = 1 << 14
"""What is larger is a blob."""

_DEPTH = 100
_TOO_MUCH = INLINE_BYTES + 1
_LEAST, _MOST = -(2**63), 2**64 - 1


class Stored(Struct, frozen=True, omit_defaults=True):
    """A value as it is stored."""

    json: Any = UNSET
    type: str = ""
    base64: str | UnsetType = UNSET
    blob: str | UnsetType = UNSET
    key: str | UnsetType = UNSET
    parts: list[Part] | UnsetType = UNSET

    def referenced(self) -> tuple[str, ...]:
        """The values of other records that it refers to."""
        if self.key is not UNSET:
            return (self.key,)
        return tuple(key for part in self.parts or () for key in part.value.referenced())

    def replacing(self, keys: dict[str, str]) -> Stored:
        """The same with other keys."""
        if self.key is not UNSET:
            return Stored(key=keys.get(self.key, self.key))
        if self.parts is not UNSET:
            return Stored(parts=[Part(part.count, part.value.replacing(keys)) for part in self.parts])
        return self


class Part(Struct, frozen=True, array_like=True):
    """A piece of a list."""

    count: int
    value: Stored


class Encoded(Struct, frozen=True):
    """A value that is ready to be stored: either JSON or bytes."""

    json: Any = UNSET
    type: str = ""
    data: bytes = b""

    @property
    def is_large(self) -> bool:
        return len(self.data) > INLINE_BYTES

    def stored(self, put_blob: Callable[[bytes], str]) -> Stored:
        if self.json is not UNSET:
            return Stored(json=self.json)
        if self.is_large:
            return Stored(type=self.type, blob=put_blob(self.data))
        return Stored(type=self.type, base64=b64encode(self.data).decode("ascii"))


def encode(serde: SerializerProtocol, value: object) -> Encoded:
    """The value as JSON if it is that and small, else as the serializer writes it."""
    if isinstance(serde, JsonPlusSerializer) and _json_size(value, 0) <= INLINE_BYTES:
        return Encoded(json=value)
    kind, data = serde.dumps_typed(value)
    return Encoded(type=kind, data=bytes(data))


def decode(serde: SerializerProtocol, stored: Stored, get_blob: Callable[[str], bytes]) -> Any:  # noqa: ANN401
    """The value of what is JSON, bytes or a blob."""
    if stored.json is not UNSET:
        return _copied(stored.json)
    if isinstance(stored.blob, str):
        return serde.loads_typed((stored.type, get_blob(stored.blob)))
    return serde.loads_typed((stored.type, b64decode(str(stored.base64 or ""), validate=True)))


def _json_size(value: Any, depth: int) -> int:  # noqa: ANN401
    """About how long it is as JSON; too much if it is larger, or not JSON that reads back the same."""
    kind = type(value)
    if kind is str:
        return len(value)
    if kind is bool or value is None:
        return 4
    if (kind is int and _LEAST <= value <= _MOST) or (kind is float and isfinite(value)):
        return 8
    if depth > _DEPTH or (kind is not list and kind is not dict):
        return _TOO_MUCH
    if kind is dict and any(type(name) is not str for name in value):
        return _TOO_MUCH
    size = 2
    for item in value if kind is list else value.values():
        size += 1 + _json_size(item, depth + 1)
        if size > INLINE_BYTES:
            return _TOO_MUCH
    return size if kind is list else size + sum(map(len, value))


def _copied(value: Any) -> Any:  # noqa: ANN401
    """A copy that the caller may change."""
    if isinstance(value, dict):
        return {name: _copied(item) for name, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value

"""Values of a framework as JSON that a store takes unchanged: large ones as blobs, and what is not quite JSON as text.

A packed value is one of `{"value": …}` (readable JSON), `{"json": "…"}` (JSON that no store would read back, such as
NaN, as a text) and `{"blob": "sha256:…"}` (the name of the blob with the JSON).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from segue.errors import UsageError
from segue.model import check_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from segue.model import JsonObject

LARGE = 64 * 1024
"""The size from which a value is a blob."""


def pack(value: Mapping[str, object], put_blob: Callable[[bytes], str] | None, *, what: str) -> JsonObject:
    """The value packed; never as a blob without `put_blob`. UsageError if it is not JSON at all."""
    try:
        text = json.dumps(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(
            f"{what} cannot be stored as JSON: {error}", hint="use texts, numbers, lists and dicts"
        ) from None
    if put_blob is not None and len(text) >= LARGE:
        return {"blob": put_blob(text.encode())}
    plain = json.loads(text)
    try:
        check_json(plain, what)
    except UsageError:
        return {"json": text}
    return {"value": plain}


def unpack(packed: Mapping[str, object], get_blob: Callable[[str], bytes]) -> JsonObject | None:
    """The value again; None if this is not a packed value, which a file may claim."""
    match packed:
        case {"blob": str(name)}:
            found = _parse(get_blob(name))
        case {"json": str(text)}:
            found = _parse(text)
        case {"value": found}:
            pass
        case _:
            return None
    return found if isinstance(found, dict) else None


def _parse(text: str | bytes) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None

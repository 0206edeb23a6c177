"""Turns of AI tools as a store has them: an image is a blob of the session, and no text of a result is there twice."""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from hashlib import sha256
from typing import TYPE_CHECKING

from msgspec.structs import replace

from segue.errors import DamagedError, NotFoundError, UsageError
from segue.integrations.format.pairs import is_spoken
from segue.integrations.format.values import objects

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from segue.model import JsonObject, Turn

MOST_IMAGE_BYTES = 16 << 20


def stored_turn(turn: Turn, put_blob: Callable[[bytes], str]) -> Turn:
    """The turn as it is stored. A result has no text of its own where that is the text of the turn."""
    results = [part for part in turn.parts if part.get("type") == "tool_result"]
    if len(results) == 1 and turn.content and results[0].get("content") == turn.content and not is_spoken(turn):
        lean = {name: value for name, value in results[0].items() if name != "content"}
        turn = replace(turn, parts=tuple(lean if part is results[0] else part for part in turn.parts))
    return store_images(turn, put_blob)


def store_images(turn: Turn, put_blob: Callable[[bytes], str]) -> Turn:
    """The turn with the hash of each image in place of its data, which `put_blob` stores."""

    def stored(image: JsonObject) -> JsonObject:
        data = _decoded(image.get("data"))
        if data is None:
            return image
        found = {name: value for name, value in image.items() if name != "data"}
        return {**found, "hash": put_blob(data), "size_bytes": len(data)}

    return _with_images(turn, stored)


def load_images(turn: Turn, get_blob: Callable[[str], bytes]) -> Turn:
    """The turn with the data of each image that the session has."""

    def loaded(image: JsonObject) -> JsonObject:
        name = image.get("hash")
        if image.get("data") or not isinstance(name, str):
            return image
        try:
            return {**image, "data": b64encode(get_blob(name)).decode("ascii")}
        except (NotFoundError, DamagedError, UsageError):
            return image  # the hand-over names it as left out

    return _with_images(turn, loaded)


def load_newest_images(turns: Sequence[Turn], get_blob: Callable[[str], bytes]) -> tuple[Turn, ...]:
    """The turns with the data of their images, the newest ones first, as many as a request to a model can contain."""
    left = MOST_IMAGE_BYTES

    def limited(name: str) -> bytes:
        nonlocal left
        data = get_blob(name)
        left -= len(data)
        if left < 0:
            raise NotFoundError("the images are too large")
        return data

    return tuple(load_images(turn, limited) for turn in reversed(turns))[::-1]


def blob_name(data: bytes) -> str:
    return f"sha256:{sha256(data).hexdigest()}"


def _with_images(turn: Turn, change: Callable[[JsonObject], JsonObject]) -> Turn:
    if not any(part.get("type") == "image" or part.get("images") for part in turn.parts):
        return turn
    return replace(turn, parts=tuple(_changed(part, change) for part in turn.parts))


def _changed(part: JsonObject, change: Callable[[JsonObject], JsonObject]) -> JsonObject:
    if part.get("type") == "image":
        return change(part)
    return {**part, "images": [change(image) for image in images]} if (images := objects(part.get("images"))) else part


def _decoded(data: object) -> bytes | None:
    """The bytes, if encoding them again gives exactly this text."""
    if not isinstance(data, str) or not data:
        return None
    try:
        found = b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None
    return found if b64encode(found).decode("ascii") == data else None

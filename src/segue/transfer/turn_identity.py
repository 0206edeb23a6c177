"""What makes a turn of a tool the same turn when it is read again: what was said, called and returned.

Tools add to their records afterwards: tokens, costs, titles, differences of files. None of that makes another turn.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from zlib import crc32

from msgspec import Struct
from msgspec.structs import replace

from segue.integrations.format.native import with_content
from segue.integrations.format.pairs import result_text
from segue.integrations.format.transcript import plain_turn
from segue.integrations.format.values import as_text, objects
from segue.transfer.stored_turn import blob_name, store_images

if TYPE_CHECKING:
    from collections.abc import Mapping

    from segue.model import JsonObject, Turn

MORE = "~+"
_KINDS = {"tool_call", "tool_result", "image", "file"}


class TurnIdentity(Struct, frozen=True, gc=False):
    role: str
    length: int
    content: int
    count: int
    """How many of its parts matter."""
    parts: int
    is_plain: bool = False
    """Whether the turn has neither parts nor a record of the tool: its text may be all that could be stored."""

    @property
    def print(self) -> int:
        return crc32(repr(self.key).encode())

    @property
    def key(self) -> tuple[object, ...]:
        """What has to be equal."""
        return (self.role, self.length, self.content, self.count, self.parts)

    def is_same(self, turn: Turn) -> bool:
        if self.key == identify(turn).key:
            return True
        return self.is_plain and self.key == identify(plain_turn(turn)).key

    def is_start_of(self, turn: Turn) -> bool:
        """Whether the turn is this one, which the tool has continued."""
        if (self.role, turn.role) != ("assistant", "assistant"):
            return False
        return identify(turn, length=self.length, count=self.count).key == self.key

    def rest_of(self, turn: Turn) -> Turn:
        """What the tool has added to this one."""
        matter = [place for place, part in enumerate(turn.parts) if part.get("type") in _KINDS]
        start = matter[self.count - 1] + 1 if self.count else 0
        return with_content(turn, turn.content[self.length :].lstrip("\n"), turn.parts[start:])


def find_continuation(turn: Turn, known: Mapping[str, TurnIdentity]) -> tuple[str, Turn | None]:
    """The last recorded piece of a turn, and what the tool has added to it since; None if it has changed otherwise.

    What is added has the id of the turn with `~+2`, `~+3` and so on. Without anything new, it is empty.
    """
    piece, rest, number = turn.id, turn, 1
    while True:
        before = known[piece]
        if before.is_same(rest):
            return piece, replace(rest, content="", parts=())
        if not before.is_start_of(rest):
            return piece, None
        rest, number = before.rest_of(rest), number + 1
        follower = f"{turn.id[:180]}{MORE}{number}"
        if follower not in known:
            return piece, replace(rest, id=follower)
        piece = follower


def identify(turn: Turn, *, length: int | None = None, count: int | None = None) -> TurnIdentity:
    """The identity of a turn, or of its beginning."""
    content = turn.content if length is None else turn.content[:length]
    parts = [part for part in store_images(turn, blob_name).parts if part.get("type") in _KINDS][:count]
    try:
        essence = json.dumps([_essence(turn, part) for part in parts], sort_keys=True, default=str)
    except RecursionError:  # no store takes its parts
        essence = ""
    return TurnIdentity(
        turn.role,
        len(content),
        crc32(content.encode("utf-8", "surrogatepass")),
        len(parts),
        crc32(essence.encode("ascii")),
        turn.native is None and not turn.parts,
    )


def _essence(turn: Turn, part: JsonObject) -> list[object]:
    match part.get("type"):
        case "tool_call":
            return ["call", part.get("id"), part.get("name"), part.get("arguments")]
        case "tool_result":
            images = [_image(image) for image in objects(part.get("images"))]
            return ["result", part.get("id"), result_text(turn, part), part.get("is_error") is True, images]
        case "file":
            return ["file", part.get("path"), as_text(part.get("content"))]
    return _image(part)


def _image(part: JsonObject) -> list[object]:
    return ["image", part.get("hash") or part.get("data")]

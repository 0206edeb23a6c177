"""Lists of messages, which grow: what a new list has in common with the last one is not written again.

A list is stored in pieces. Pieces of about the same size are put together when there are eight of them, so that a list
of any length has few, and a message is written few times.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.messages import BaseMessage
    from langgraph.checkpoint.serde.base import SerializerProtocol

    from segue.bridges.langgraph.values import Stored

_FAN = 8
_BITS = 3

Piece = tuple[int, "Stored | None"]
"""How many messages, and where they are stored already."""


def copy_messages(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Copies that stay as they are when the program changes the messages."""
    return [message.model_copy(deep=True) for message in messages]


def common_length(old: list[BaseMessage], new: Sequence[BaseMessage], serde: SerializerProtocol) -> int:
    """How many of the first messages are the same in both lists. Those in `old` become as they are in `new`."""
    for at, (before, after) in enumerate(zip(old, new, strict=False)):
        if type(before) is not type(after):
            return at
        if before.__dict__ == after.__dict__ and before.__pydantic_extra__ == after.__pydantic_extra__:
            continue
        # A message that was stored and loaded may differ from its original in fields that loading fills in.
        if before.id != after.id or _settled(before, serde) != _settled(after, serde):
            return at
        old[at] = after.model_copy(deep=True)
    return min(len(old), len(new))


def trimmed_length(old: list[BaseMessage], new: Sequence[BaseMessage], common: int, serde: SerializerProtocol) -> int:
    """How many messages after the first `common` are missing in the new list, if all later ones are still there.

    All of them may be missing, if the new list has other messages in their place, and none with an old id.
    """
    kept = new[common:]
    for at in range(common + 1, len(old)):
        rest = len(old) - at
        if rest <= len(kept) and common_length(old[at:], kept[:rest], serde) == rest:
            return at - common
    ids = {message.id for message in old} - {None}
    return len(old) - common if kept and not any(message.id in ids for message in kept) else 0


def lay_out(pieces: Sequence[tuple[int, Stored]], common: int, length: int) -> list[Piece]:
    """The pieces of a list that begins with `common` messages of the one in `pieces`."""
    found: list[Piece] = []
    at = 0
    for count, stored in pieces:
        if at + count > common:
            break
        found.append((count, stored))
        at += count
    if at < length:
        found.append((length - at, None))
    level = 0
    while len(found) >= _FAN:
        first = len(found)
        while first and _level(found[first - 1][0]) <= level:
            first -= 1
        if len(found) - first >= _FAN:
            found[first:] = [(sum(count for count, _ in found[first:]), None)]
        elif first == 0:
            break
        else:
            level += 1
    return found


def _level(count: int) -> int:
    return (count.bit_length() - 1) // _BITS


def _settled(message: BaseMessage, serde: SerializerProtocol) -> tuple[str, bytes]:
    """The message as it is stored after it was loaded once."""
    return serde.dumps_typed(serde.loads_typed(serde.dumps_typed(message)))

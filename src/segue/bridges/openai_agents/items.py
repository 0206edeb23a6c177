"""Items of the SDK as turns, and turns as items.

An item is one turn, with the item in `native`. A long one is there without the texts that the turn has already, and
what is still large is a blob of the session. A turn that another tool recorded is translated into items.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from msgspec.structs import replace

from segue.bridges.openai_agents.reading import read_item
from segue.errors import UsageError
from segue.integrations.format.native import compact_records, native_records
from segue.integrations.format.pairs import is_spoken, result_text
from segue.integrations.format.values import as_text, child
from segue.model import Turn
from segue.transfer.stored_turn import stored_turn

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from segue.model import JsonObject

_USER_TURN = "user_turn"
"""In the native record of a turn of this bridge: how many messages of the user there are up to it."""

_LONG, _LARGE = 1 << 12, 1 << 16
_ITEM, _RECORDS, _BLOB = "item", "records", "blob"
"""In the native record: the item, or what is left of it without the texts of the turn, or the blob that it is."""


def plain_item(item: object) -> JsonObject:
    """A copy of the item as JSON reads it back. UsageError if it is not JSON."""
    return _plain(item)[0]


def _plain(item: object) -> tuple[JsonObject, int]:
    try:
        text = json.dumps(item)
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"an item of a session must be JSON: {error}", hint="convert it to JSON first") from error
    plain = json.loads(text)
    if not isinstance(plain, dict):
        raise UsageError(f"an item of a session must be a JSON object, not {type(item).__name__}")
    return plain, len(text)


def is_user_message(item: JsonObject) -> bool:
    return item.get("role") == "user"


def turn_of(
    item: object, put_blob: Callable[[bytes], str], *, number: int, branch: str, moment: datetime, id: str
) -> Turn:
    """The turn of an item; `number` is that of the user's messages before it."""
    plain, size = _plain(item)
    read = read_item(plain)
    number += is_user_message(plain)
    turn = Turn(
        role=read.role,
        content=read.text,
        timestamp=moment,
        tokens=None,
        model=as_text(child(plain, "provider_data").get("model")),
        branch=branch,
        parts=tuple(read.parts),
        native={_USER_TURN: number, _ITEM: plain},
        id=id,
    )
    if size >= _LONG:
        native: JsonObject = {_USER_TURN: number, _RECORDS: compact_records([plain], read.text, read.parts)}
        turn = stored_turn(replace(turn, native=native), put_blob)
        if size >= _LARGE and len(json.dumps(native)) >= _LARGE:
            turn = replace(turn, native={_USER_TURN: number, _BLOB: put_blob(json.dumps(plain).encode())})
    return turn


def number_of(turn: Turn) -> int | None:
    """How many messages of the user there are up to this turn; None if another tool recorded it."""
    number = None if turn.native is None else turn.native.get(_USER_TURN)
    return number if isinstance(number, int) else None


def items_of(turn: Turn, get_blob: Callable[[str], bytes]) -> list[JsonObject]:
    """The item that the turn was made of; for a turn of another tool, the items that say the same."""
    native = turn.native
    if native is None or number_of(turn) is None:
        return _translated(turn)
    if isinstance(item := native.get(_ITEM), dict):
        return [{name: _copied(value) for name, value in item.items()}]
    if isinstance(name := native.get(_BLOB), str):
        return [json.loads(get_blob(name))]
    return native_records(turn, get_blob)


def _copied(value: object) -> object:
    """A copy for the caller, who may change it."""
    if isinstance(value, dict):
        return {name: _copied(one) for name, one in value.items()}
    return [_copied(one) for one in value] if isinstance(value, list) else value


def _translated(turn: Turn) -> list[JsonObject]:
    items: list[JsonObject] = []
    if turn.content and is_spoken(turn):
        items.append({"role": turn.role, "content": turn.content})
    elif turn.content and turn.role != "tool":
        items.append({"role": "system", "content": turn.content})
    for part in turn.parts:
        id = as_text(part.get("id"))
        if part.get("type") == "tool_call":
            arguments = json.dumps(part.get("arguments"))
            items.append(
                {"type": "function_call", "call_id": id, "name": as_text(part.get("name")), "arguments": arguments}
            )
        elif part.get("type") == "tool_result":
            items.append({"type": "function_call_output", "call_id": id, "output": result_text(turn, part)})
    return items

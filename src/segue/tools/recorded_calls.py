"""Tool calls as a session records them: the call in the turn of the answer, the result in a turn of its own."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from segue.clock import utc_now
from segue.errors import UsageError
from segue.formats.terminal import one_line
from segue.model import Turn, check_event
from segue.tools.call import ToolCall

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from segue.model import JsonObject
    from segue.session import LiveSession
    from segue.tools.call import ToolResult

_LINE_CHARACTERS = 100
_VALUE_CHARACTERS = 2_000
_NEVER_CUT = "command"
_FIRST_TAIL = 32


def recordable(calls: Iterable[ToolCall]) -> tuple[ToolCall, ...]:
    """The same calls, each with a unique id and with arguments that every store can record."""
    ids: set[str] = set()
    found: list[ToolCall] = []
    for call in calls:
        id = call.id if call.id not in {"", *ids} else f"call-{os.urandom(6).hex()}"
        ids.add(id)
        arguments = call.arguments
        try:
            # The rules are those of any turn.
            check_event(_turn(call_to_part(call)), None)
        except UsageError as error:
            arguments = {"input": f"[left out: {error}]"}
        found.append(ToolCall(id=id, name=call.name, arguments=arguments, signature=call.signature))
    return tuple(found)


def call_to_part(call: ToolCall) -> JsonObject:
    part: JsonObject = {"type": "tool_call", "id": call.id, "name": call.name, "arguments": call.arguments}
    return part | ({"signature": call.signature} if call.signature else {})


def result_to_part(call: ToolCall, result: ToolResult) -> JsonObject:
    """The part without the text, which is that of the turn. Name and arguments serve stores that log whole calls."""
    part: JsonObject = {"type": "tool_result", "id": call.id, "name": call.name, "arguments": call.arguments}
    return part | ({"status": result.status, "is_error": True} if result.status != "done" else {})


def calls_of(turn: Turn) -> tuple[ToolCall, ...]:
    """The calls in an answer, except those whose result is in the same turn, as some histories have it."""
    answered = {str(part.get("id")) for part in turn.parts if part.get("type") == "tool_result"}
    return tuple(
        ToolCall(id=str(part.get("id")), name=str(part.get("name")), arguments=_object(part.get("arguments")))
        for part in turn.parts
        if part.get("type") == "tool_call" and str(part.get("id")) not in answered
    )


def find_unanswered(session: LiveSession) -> tuple[Turn | None, tuple[ToolCall, ...]]:
    """Find the user's turn whose answer is unfinished, and the calls at its end without a recorded result."""
    done: set[str] = set()
    for turn in _backwards(session):
        if turn.role == "tool":
            done |= {str(part.get("id")) for part in turn.parts if part.get("type") == "tool_result"}
        elif turn.role == "assistant" and (calls := calls_of(turn)):
            asked = next((one for one in _backwards(session) if one.role == "user"), None)
            return asked, tuple(call for call in calls if call.id not in done)
        else:
            return (turn if turn.role == "user" else None), ()
    return None, ()


def format_call(call: ToolCall) -> str:
    """A call on one line, to show progress."""
    arguments = ", ".join(f"{name}={_cut(value, _LINE_CHARACTERS)}" for name, value in call.arguments.items())
    return one_line(f"{call.name}({arguments})")


def format_call_part(part: JsonObject) -> str:
    """The call in a part on one line. Other tools record arguments that are not an object."""
    arguments = part.get("arguments")
    if not isinstance(arguments, dict):
        return one_line(f"{part.get('name')}({_cut(arguments or '', _LINE_CHARACTERS)})")
    return format_call(ToolCall(id="", name=str(part.get("name")), arguments=arguments))


def format_call_details(call: ToolCall, *, only: Collection[str] | None = None) -> str:
    """A call for the user to judge: commands in full; a long value is cut, with a note of how much is missing.

    With `only`, these arguments alone: the others are shown in another way.
    """
    lines = [
        f"  {name}: {value if name == _NEVER_CUT and isinstance(value, str) else _cut(value, _VALUE_CHARACTERS)}"
        for name, value in call.arguments.items()
        if only is None or name in only
    ]
    return "\n".join([call.name, *lines])


def format_result(result: ToolResult) -> str:
    lines = result.content.strip().split("\n")
    rest = len(lines) - 1
    more = f" (and {rest:,} more line{'' if rest == 1 else 's'})" if rest else ""
    status = "" if result.content.startswith(result.status) else f"{result.status}: "
    return one_line(f"{status}{_cut(lines[0], _LINE_CHARACTERS)}{more}")


def format_turn(turn: Turn) -> str:
    """The text of a turn, and one line for each call in it."""
    calls = (format_call(call) for call in calls_of(turn))
    return "\n".join([*([turn.content] if turn.content.strip() else []), *calls])


def _cut(value: object, length: int) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= length else f"{text[:length]}… ({len(text) - length:,} more characters)"


def _backwards(session: LiveSession) -> Iterable[Turn]:
    """The turns from the last one backwards, read in growing pieces."""
    seen, count = 0, _FIRST_TAIL
    while True:
        turns: Sequence[Turn] = session.tail(count)
        yield from reversed(turns[: len(turns) - seen])
        if len(turns) < count:
            return
        seen, count = len(turns), count * 4


def _turn(part: JsonObject) -> Turn:
    return Turn(role="assistant", content="", timestamp=utc_now(), tokens=None, parts=(part,), id="-")


def _object(value: object) -> JsonObject:
    return value if isinstance(value, dict) else {}

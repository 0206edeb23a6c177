"""Calls of tools as a session records them: the intent with the answer, and what came of it as a turn of its own."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from segue.clock import utc_now
from segue.errors import UsageError
from segue.formats.terminal import one_line
from segue.model import Turn, check_event
from segue.tools import ToolCall

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from segue.model import JsonObject
    from segue.session import LiveSession
    from segue.tools import ToolResult

_LINE = 100
_SHOWN = 2_000
_WHOLE = "command"
_READ = 32


def recordable(calls: Iterable[ToolCall]) -> tuple[ToolCall, ...]:
    """The same calls, each with an id that no other has, and with arguments that every store can keep."""
    known: set[str] = set()
    found: list[ToolCall] = []
    for call in calls:
        id = call.id if call.id not in {"", *known} else f"call-{os.urandom(6).hex()}"
        known.add(id)
        arguments = call.arguments
        try:
            # The rules for what may be recorded are those of any turn.
            check_event(_turn(part_of(call)), None)
        except UsageError as error:
            arguments = {"input": f"[left out: {error}]"}
        found.append(ToolCall(id=id, name=call.name, arguments=arguments, signature=call.signature))
    return tuple(found)


def part_of(call: ToolCall) -> JsonObject:
    part: JsonObject = {"type": "tool_call", "id": call.id, "name": call.name, "arguments": call.arguments}
    return part | ({"signature": call.signature} if call.signature else {})


def result_of(call: ToolCall, outcome: ToolResult) -> JsonObject:
    """Its text is that of the turn. Name and arguments are there for stores that log a call in one piece."""
    part: JsonObject = {"type": "tool_result", "id": call.id, "name": call.name, "arguments": call.arguments}
    return part | ({"status": outcome.status, "is_error": True} if outcome.status != "done" else {})


def calls_of(turn: Turn) -> tuple[ToolCall, ...]:
    """What an answer wants done, without what it brings the result of itself, as some records have it."""
    answered = {str(part.get("id")) for part in turn.parts if part.get("type") == "tool_result"}
    return tuple(
        ToolCall(id=str(part.get("id")), name=str(part.get("name")), arguments=_object(part.get("arguments")))
        for part in turn.parts
        if part.get("type") == "tool_call" and str(part.get("id")) not in answered
    )


def unanswered(session: LiveSession) -> tuple[Turn | None, tuple[ToolCall, ...]]:
    """The user's turn whose answer is not finished, and the calls at its end of which nobody knows what came."""
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


def line_of(call: ToolCall) -> str:
    """A call on a line, for those who watch."""
    given = ", ".join(f"{name}={_cut(value, _LINE)}" for name, value in call.arguments.items())
    return one_line(f"{call.name}({given})")


def details_of(call: ToolCall) -> str:
    """A call as it is judged: a command whole, and of other values what is not shown is said to be there."""
    lines = [
        f"  {name}: {value if name == _WHOLE and isinstance(value, str) else _cut(value, _SHOWN)}"
        for name, value in call.arguments.items()
    ]
    return "\n".join([call.name, *lines])


def line_of_outcome(outcome: ToolResult) -> str:
    lines = outcome.content.strip().split("\n")
    left = len(lines) - 1
    more = f" (and {left:,} more line{'' if left == 1 else 's'})" if left else ""
    told = "" if outcome.content.startswith(outcome.status) else f"{outcome.status}: "
    return one_line(f"{told}{_cut(lines[0], _LINE)}{more}")


def text_of(turn: Turn) -> str:
    """What a person reads of a turn: its text, and a line for each call in it."""
    calls = (line_of(call) for call in calls_of(turn))
    return "\n".join([*([turn.content] if turn.content.strip() else []), *calls])


def _cut(value: object, length: int) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= length else f"{text[:length]}… ({len(text) - length:,} more characters)"


def _backwards(session: LiveSession) -> Iterable[Turn]:
    """The turns from the last one on, read as far as anybody looks."""
    seen, count = 0, _READ
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

"""A conversation in the form that every AI tool accepts: two roles, and every tool call with its result.

Tools and their providers refuse one half of a pair, so a call without a result gets one that says so, and a result
without a call becomes text. Reasoning is left out: it is signed by the model that produced it.
"""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import Struct

from segue.integrations.format.transcript import MARK
from segue.integrations.format.values import as_text, sendable
from segue.model import JsonObject

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segue.model import Turn

NO_RESULT = "no result: interrupted"
LONGEST_RESULT = 50_000
"""The number of characters of a tool result that are handed over."""

_STEP = timedelta(milliseconds=1)


class OutgoingCall(Struct, frozen=True, kw_only=True):
    id: str
    name: str
    arguments: JsonObject
    result: str


class OutgoingMessage(Struct, frozen=True, kw_only=True):
    role: Literal["user", "assistant"]
    text: str
    at: datetime
    calls: tuple[OutgoingCall, ...] = ()


def outgoing_messages(turns: Sequence[Turn], *, now: datetime, preface: str = "") -> tuple[OutgoingMessage, ...]:
    """The conversation, starting with the user; `preface` is the first message, for tools without a system prompt."""
    results, orphans = _results(turns)
    messages: list[OutgoingMessage] = []
    count = 0
    for place, turn in enumerate(turns):
        calls: list[OutgoingCall] = []
        texts = [] if _has_results(turn) else [turn.content]
        for number, part in enumerate(turn.parts):
            if part.get("type") == "image":
                texts.append("[an image that is not handed over]")
            elif (place, number) in orphans:
                texts.append(f"[result of a tool: {_clipped(part.get('content'))}]")
            elif (place, number) in results:
                count += 1
                result = results[place, number]
                calls.append(_call(part, count, NO_RESULT if result is None else _clipped(result)))
        text = sendable("\n\n".join(text for text in texts if text.strip()))
        if text or calls:
            role: Literal["user", "assistant"] = "assistant" if turn.role == "assistant" else "user"
            messages.append(OutgoingMessage(role=role, text=text, at=turn.timestamp, calls=tuple(calls)))
    if preface or (messages and messages[0].role == "assistant"):
        text = sendable(preface) or "[The conversation begins with the assistant.]"
        messages.insert(0, OutgoingMessage(role="user", text=text, at=messages[0].at if messages else now))
    return tuple(messages)


def rising(moments: Sequence[datetime], now: datetime) -> list[datetime]:
    """The same moments, each at least a millisecond after the one before, and none later than now."""
    found: list[datetime] = []
    last = now
    for moment in reversed(moments):
        last = min(moment, last - _STEP)
        found.append(last)
    return found[::-1]


def iso_ms(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"


def json_lines(records: Sequence[JsonObject]) -> bytes:
    """One object per line, in ASCII: no reader can mistake U+2028 for the end of a line."""
    return "".join(f"{json.dumps(record, separators=(',', ':'))}\n" for record in records).encode("ascii")


Position = tuple[int, int]


def _results(turns: Sequence[Turn]) -> tuple[dict[Position, object], set[Position]]:
    """Every call by its position with its result (None without one), and the positions of results without a call."""
    results: dict[Position, object] = {}
    orphans: set[Position] = set()
    waiting: dict[str, Position] = {}
    for place, turn in enumerate(turns):
        for number, part in enumerate(turn.parts):
            name = as_text(part.get("id"))
            if part.get("type") == "tool_call" and turn.role == "assistant":
                waiting[name] = (place, number)  # it replaces an older one with this id
                results[place, number] = None
            elif part.get("type") == "tool_result":
                if name in waiting:
                    results[waiting.pop(name)] = as_text(part.get("content")) or turn.content
                else:
                    orphans.add((place, number))
    return results, orphans


def _has_results(turn: Turn) -> bool:
    """Whether its text is that of the results in it."""
    return any(part.get("type") == "tool_result" for part in turn.parts)


def _call(part: JsonObject, count: int, result: str) -> OutgoingCall:
    """The call with a unique id, and a name that every provider accepts."""
    given = part.get("arguments")
    if isinstance(given, str):
        try:
            given = msgspec.json.decode(sendable(given))
        except msgspec.DecodeError:
            given = {"input": given}
    arguments = given if isinstance(given, dict) else {} if given is None else {"input": given}
    name = re.sub(r"[^A-Za-z0-9_-]", "_", as_text(part.get("name")))[:64]
    clean = json.loads(sendable(json.dumps(arguments, ensure_ascii=False)))
    return OutgoingCall(id=f"call_{MARK}_{count}", name=name or "tool", arguments=clean, result=result)


def _clipped(value: object) -> str:
    text = sendable(as_text(value))
    left_out = len(text) - LONGEST_RESULT
    return text if left_out <= 0 else f"{text[:LONGEST_RESULT]}\n[{left_out:,} more characters are left out]"

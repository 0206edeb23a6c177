"""A conversation as every tool can take it over: two sides, and every tool call with its result.

Tools and their providers refuse half of a pair, so a call that never got a result gets one that says so, and a result
without a call is told in words. Reasoning stays behind: it is signed by the model that had it.
"""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import Struct

from segue.integrations.format.transcript import MARK, as_text
from segue.model import JsonObject

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segue.model import Turn

NO_RESULT = "no result: interrupted"
LONGEST_RESULT = 50_000
"""Characters of a tool's output that are handed over."""

_UNSENDABLE = re.compile("[\x00\ud800-\udfff]")
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
    """The conversation, beginning with the user; `preface` is said first, for tools that take no system prompt."""
    results, orphans = _results(turns)
    said: list[OutgoingMessage] = []
    count = 0
    for place, turn in enumerate(turns):
        calls: list[OutgoingCall] = []
        words = [] if _brings_results(turn) else [turn.content]
        for number, part in enumerate(turn.parts):
            if part.get("type") == "image":
                words.append("[an image that is not handed over]")
            elif (place, number) in orphans:
                words.append(f"[result of a tool: {_clipped(part.get('content'))}]")
            elif (place, number) in results:
                count += 1
                result = results[place, number]
                calls.append(_call(part, count, NO_RESULT if result is None else _clipped(result)))
        text = sendable("\n\n".join(word for word in words if word.strip()))
        if text or calls:
            role: Literal["user", "assistant"] = "assistant" if turn.role == "assistant" else "user"
            said.append(OutgoingMessage(role=role, text=text, at=turn.timestamp, calls=tuple(calls)))
    if preface or (said and said[0].role == "assistant"):
        text = sendable(preface) or "[The conversation begins with the assistant.]"
        said.insert(0, OutgoingMessage(role="user", text=text, at=said[0].at if said else now))
    return tuple(said)


def sendable(text: str) -> str:
    """The same without what no tool takes: lone surrogates and NUL."""
    return _UNSENDABLE.sub("\ufffd", text)


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
    r"""One object a line, in ASCII: no reader can stumble over U+2028, whatever it cuts lines at."""
    return "".join(f"{json.dumps(record, separators=(',', ':'))}\n" for record in records).encode("ascii")


Place = tuple[int, int]


def _results(turns: Sequence[Turn]) -> tuple[dict[Place, object], set[Place]]:
    """Every call by its place with its result (None without one), and the places of results without a call."""
    results: dict[Place, object] = {}
    orphans: set[Place] = set()
    waiting: dict[str, Place] = {}
    for place, turn in enumerate(turns):
        for number, part in enumerate(turn.parts):
            name = as_text(part.get("id"))
            if part.get("type") == "tool_call" and turn.role == "assistant":
                waiting[name] = (place, number)  # an older one of this name waits no more
                results[place, number] = None
            elif part.get("type") == "tool_result":
                if name in waiting:
                    results[waiting.pop(name)] = as_text(part.get("content")) or turn.content
                else:
                    orphans.add((place, number))
    return results, orphans


def _brings_results(turn: Turn) -> bool:
    """Whether its text is what people read of the results in it."""
    return any(part.get("type") == "tool_result" for part in turn.parts)


def _call(part: JsonObject, count: int, result: str) -> OutgoingCall:
    """With an id that no other call has, and a name that every provider accepts."""
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

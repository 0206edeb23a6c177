"""A conversation in the form that every AI tool accepts: two roles, and every tool call with its result.

Tools and their providers refuse one half of a pair, so a call without a result gets one that says so, and a result
without a call gets a call. Text that no person said, such as a result, an attached file or a notice, is always a
result, and never a message of the user: it must not give orders. Reasoning is left out: it is signed by the model that
produced it.
"""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta
from itertools import count
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import Struct

from segue.integrations.format.parts import call_part, has_part, result_part
from segue.integrations.format.transcript import MARK
from segue.integrations.format.values import as_text, objects, sendable
from segue.model import JsonObject

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from segue.model import Turn

NO_RESULT = "no result: interrupted"
CUT_OFF = "[this answer was cut off here]"
IMAGE_LEFT_OUT = "[an image that is not handed over]"
LONGEST_RESULT = 50_000
"""The number of characters of a tool result that are handed over."""

_STEP = timedelta(milliseconds=1)


class OutgoingImage(Struct, frozen=True, kw_only=True):
    media_type: str
    data: str
    """In base64."""


class OutgoingCall(Struct, frozen=True, kw_only=True):
    id: str
    name: str
    arguments: JsonObject
    result: str
    failed: bool = False
    images: tuple[OutgoingImage, ...] = ()
    """Images in the result; empty unless the target carries `result_images`."""


class OutgoingMessage(Struct, frozen=True, kw_only=True):
    role: Literal["user", "assistant"]
    text: str
    at: datetime
    calls: tuple[OutgoingCall, ...] = ()
    images: tuple[OutgoingImage, ...] = ()
    """Images in a message of the user; empty unless the target carries `images`."""


def outgoing_messages(
    turns: Sequence[Turn], *, now: datetime, preface: str = "", carries: frozenset[str] = frozenset()
) -> tuple[OutgoingMessage, ...]:
    """The conversation, starting with the user; `preface` is the first message, for tools without a system prompt.

    `carries` is what the target accepts in addition to text, calls and results; see `Integration.carries`.
    """
    results = _results(turns)
    numbers = count(1)
    messages: list[OutgoingMessage] = []
    for place, turn in enumerate(turns):
        if has_part(turn, "summary"):
            continue  # it repeats the turns before it; in place of turns that are left out, there is a notice
        images, left_out = _images(turn.parts, accepted="images" in carries)
        pieces = [*([turn.content] if _is_spoken(turn) else []), *left_out, *([CUT_OFF] if turn.partial else [])]
        text = sendable("\n\n".join(piece for piece in pieces if piece.strip()))
        calls = tuple(
            _call(part, f"call_{MARK}_{next(numbers)}", result, carries)
            for part, result in _pairs(turn, place, results)
        )
        if turn.role == "assistant":
            messages.append(OutgoingMessage(role="assistant", text=text, at=turn.timestamp, calls=calls))
            continue
        messages.append(OutgoingMessage(role="user", text=text, at=turn.timestamp, images=images))
        messages.append(OutgoingMessage(role="assistant", text="", at=turn.timestamp, calls=calls))
    messages = [message for message in messages if message.text or message.calls or message.images]
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
Pair = tuple[JsonObject, JsonObject | None]
"""The part of a call, and that of its result."""


def _results(turns: Sequence[Turn]) -> dict[Position, Pair]:
    """Every call by its position with its result (None without one), and every result without a call with one."""
    pairs: dict[Position, Pair] = {}
    waiting: dict[str, Position] = {}
    for place, turn in enumerate(turns):
        for number, part in enumerate(turn.parts):
            name = as_text(part.get("id"))
            if part.get("type") == "tool_call":
                waiting[name] = (place, number)  # it replaces an older one with this id
                pairs[place, number] = (part, None)
            elif part.get("type") == "tool_result":
                result = part if as_text(part.get("content")) else {**part, "content": turn.content}
                if name in waiting:
                    at = waiting.pop(name)
                    pairs[at] = (pairs[at][0], result)
                else:
                    pairs[place, number] = (call_part("", part.get("name") or "tool", {}), result)
    return pairs


def _pairs(turn: Turn, place: int, results: Mapping[Position, Pair]) -> Iterator[Pair]:
    """The calls of a turn, and those that stand for what it contains and no person said."""
    for number, part in enumerate(turn.parts):
        if (place, number) in results:
            yield results[place, number]
        elif part.get("type") == "file" and part.get("content"):
            yield call_part("", "read_file", {"path": part.get("path")}), result_part("", as_text(part["content"]))
    if has_part(turn, "notice") and turn.content.strip():
        yield call_part("", "notice", {}), result_part("", turn.content)
    elif turn.role == "tool" and not has_part(turn, "tool_result") and turn.content.strip():
        yield call_part("", "tool", {}), result_part("", turn.content)


def _is_spoken(turn: Turn) -> bool:
    """Whether its text was said by a person or a model: a result repeats its text for readers."""
    return turn.role != "tool" and not has_part(turn, "tool_result") and not has_part(turn, "notice")


def _images(parts: Iterable[JsonObject], *, accepted: bool) -> tuple[tuple[OutgoingImage, ...], list[str]]:
    """The images that can be handed over, and a text for each of the others."""
    found: list[OutgoingImage] = []
    left_out: list[str] = []
    for part in parts:
        if part.get("type") != "image":
            continue
        media_type, data = part.get("media_type"), part.get("data")
        if accepted and isinstance(media_type, str) and isinstance(data, str) and media_type and data:
            found.append(OutgoingImage(media_type=media_type, data=data))
        else:
            left_out.append(IMAGE_LEFT_OUT)
    return tuple(found), left_out


def _call(part: JsonObject, id: str, result: JsonObject | None, carries: frozenset[str]) -> OutgoingCall:
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
    known = result or {"content": NO_RESULT}
    images, left_out = _images(objects(known.get("images")), accepted="result_images" in carries)
    return OutgoingCall(
        id=id,
        name=name or "tool",
        arguments=clean,
        result="\n".join(filter(None, [_clipped(known.get("content")), *left_out])),
        failed=result is None or result.get("is_error") is True,
        images=images,
    )


def _clipped(value: object) -> str:
    text = sendable(as_text(value))
    left_out = len(text) - LONGEST_RESULT
    return text if left_out <= 0 else f"{text[:LONGEST_RESULT]}\n[{left_out:,} more characters are left out]"

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

from segue.integrations.format.pairs import is_spoken, pair_calls, pairs_of
from segue.integrations.format.parts import has_image_data, has_part, result_part
from segue.integrations.format.transcript import MARK
from segue.integrations.format.values import as_text, objects, sendable
from segue.model import JsonObject

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from segue.integrations.format.pairs import Pair
    from segue.model import Turn

NO_RESULT = "no result: interrupted"
NO_OUTPUT = "[no output]"
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
    """Its text; empty only if the result has images."""
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
    turn: str = ""
    """The id of the turn that it is from; empty for a message that stands for none."""


def outgoing_messages(
    turns: Sequence[Turn], *, now: datetime, preface: str = "", carries: frozenset[str] = frozenset()
) -> tuple[OutgoingMessage, ...]:
    """The conversation, starting with the user; `preface` is the first message, for tools without a system prompt.

    `carries` is what the target accepts in addition to text, calls and results; see `Integration.carries`.
    """
    pairs = pair_calls(turns)
    numbers = count(1)
    messages: list[OutgoingMessage] = []
    for place, turn in enumerate(turns):
        if messages and has_part(turn, "summary"):
            continue  # it repeats the turns before it; in place of turns that are left out, there is a notice
        by_user = turn.role != "assistant"
        text, images = _spoken(turn, accepts_images=by_user and "images" in carries)
        calls = tuple(_call(pair, f"call_{MARK}_{next(numbers)}", carries) for pair in pairs_of(turn, place, pairs))
        found = [
            OutgoingMessage(
                role="assistant", text="" if by_user else text, at=turn.timestamp, calls=calls, turn=turn.id
            )
        ]
        if by_user:
            found.insert(0, OutgoingMessage(role="user", text=text, at=turn.timestamp, images=images, turn=turn.id))
        messages += [message for message in found if message.text or message.calls or message.images]
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


def _spoken(turn: Turn, *, accepts_images: bool) -> tuple[str, tuple[OutgoingImage, ...]]:
    """What was said in the turn, with the images; a text stands for an image that is not accepted."""
    if not is_spoken(turn):
        return "", ()
    images, left_out = _images(turn.parts, accepted=accepts_images)
    cut_off = [CUT_OFF] if turn.partial and turn.role == "assistant" else []
    pieces = [turn.content, *left_out, *cut_off]
    return sendable("\n\n".join(piece for piece in pieces if piece.strip())), images


def _images(parts: Iterable[JsonObject], *, accepted: bool) -> tuple[tuple[OutgoingImage, ...], list[str]]:
    """The images that can be handed over, and a text for each of the others."""
    found: list[OutgoingImage] = []
    left_out: list[str] = []
    for part in parts:
        if part.get("type") != "image":
            continue
        if accepted and has_image_data(part):
            found.append(OutgoingImage(media_type=as_text(part["media_type"]), data=as_text(part["data"])))
        else:
            left_out.append(IMAGE_LEFT_OUT)
    return tuple(found), left_out


def _call(pair: Pair, id: str, carries: frozenset[str]) -> OutgoingCall:
    """The call with a unique id, and a name that every provider accepts; its result is never an empty text."""
    result = pair.result or result_part("", NO_RESULT, failed=True)
    images, left_out = _images(objects(result.get("images")), accepted="result_images" in carries)
    pieces = [_clipped(result.get("content")), *left_out]
    text = "\n".join(piece for piece in pieces if piece.strip())
    return OutgoingCall(
        id=id,
        name=re.sub(r"[^A-Za-z0-9_-]", "_", as_text(pair.call.get("name")))[:64] or "tool",
        arguments=_arguments(pair.call.get("arguments")),
        result=text or ("" if images else NO_OUTPUT),
        failed=result.get("is_error") is True,
        images=images,
    )


def _arguments(given: object) -> JsonObject:
    if isinstance(given, str):
        try:
            given = msgspec.json.decode(sendable(given))
        except (msgspec.DecodeError, RecursionError):
            given = {"input": given}
    arguments = given if isinstance(given, dict) else {} if given is None else {"input": given}
    try:
        return {sendable(name): _clean(value) for name, value in arguments.items()}
    except RecursionError:
        return {"input": "[nested too deeply]"}


def _clean(value: object) -> object:
    match value:
        case str():
            return sendable(value)
        case list():
            return [_clean(item) for item in value]
        case dict():
            return {sendable(name): _clean(item) for name, item in value.items()}
    return value


def _clipped(value: object) -> str:
    text = sendable(as_text(value))
    left_out = len(text) - LONGEST_RESULT
    return text if left_out <= 0 else f"{text[:LONGEST_RESULT]}\n[{left_out:,} more characters are left out]"

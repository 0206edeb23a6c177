"""Turns from messages of opencode: from its database, or from the output of `opencode export`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.formats.records import BadRecordError, parse_json
from segue.integrations.format.parts import call_part, reasoning_part, result_part
from segue.integrations.format.transcript import MARK, TranscriptBuilder, TranscriptTurn
from segue.integrations.format.values import as_text, child, objects, texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from segue.integrations.format.transcript import Transcript
    from segue.model import JsonObject, Turn

_MARK_START = 16
"""Where an id that `writer` made has the mark."""


def read(data: bytes, *, place: str) -> Transcript:
    builder = TranscriptBuilder("opencode", place)
    try:
        document = parse_json(data)
    except BadRecordError as error:
        builder.damage(str(error))
        document = {}
    whole: JsonObject = document if isinstance(document, dict) else {}
    info = child(whole, "info")
    builder.native_id, builder.title = as_text(info.get("id")), as_text(info.get("title"))
    builder.cwd = as_text(info.get("directory"))
    return builder.transcript(parse_turns(objects(whole.get("messages")), builder))


def parse_turns(messages: Iterable[JsonObject], builder: TranscriptBuilder) -> Iterator[TranscriptTurn]:
    """The turns of messages, oldest first; each message has `info` and `parts`."""
    for message in messages:
        key = as_text(child(message, "info").get("id"))
        for turn in _turns_of(builder, key, message):
            yield TranscriptTurn(turn, builder.tip, is_ours=is_ours(key))
            builder.tip = turn.id


def _turns_of(builder: TranscriptBuilder, key: str, message: JsonObject) -> Iterator[Turn]:
    info, parts = child(message, "info"), objects(message.get("parts"))
    shown = [part for part in parts if part.get("synthetic") is not True and part.get("ignored") is not True]
    at = builder.moment(_seconds(child(info, "time").get("created")))
    if info.get("role") == "user":
        files: list[JsonObject] = [{"type": "image"} for part in shown if part.get("type") == "file"]
        if shown:
            yield builder.turn(key, "user", texts(shown), at, records=[message], parts=files)
        return
    calls = [part for part in parts if part.get("type") == "tool"]
    if not shown or (not texts(shown) and not calls and child(info, "error")):
        return  # it failed before there was any text
    yield builder.turn(
        key,
        "assistant",
        texts(shown),
        at,
        records=[message],
        parts=[
            *(reasoning_part(part.get("text")) for part in parts if part.get("type") == "reasoning"),
            *(call_part(call.get("callID"), call.get("tool"), child(call, "state").get("input")) for call in calls),
        ],
        tokens=child(info, "tokens").get("output"),
        model=as_text(info.get("modelID")),
    )
    for call in calls:
        state = child(call, "state")
        failed = state.get("status") == "error"
        if failed or state.get("status") == "completed":
            result = as_text(state.get("error") if failed else state.get("output"))
            part = result_part(call.get("callID"), result, failed=failed)
            moment = builder.moment(_seconds(child(state, "time").get("end")))
            name = f"{key}:{as_text(call.get('callID'))}"
            yield builder.turn(name, "tool", result, moment, records=[call], parts=[part])


def is_ours(message_id: str) -> bool:
    """Whether Segue wrote a message, by its id."""
    return message_id[_MARK_START : _MARK_START + len(MARK)] == MARK


def _seconds(milliseconds: object) -> object:
    """Seconds; a value that is not a number, or out of range, is returned for the parser of times to refuse."""
    is_number = isinstance(milliseconds, int | float) and abs(milliseconds) < 2**63
    return milliseconds / 1000 if is_number else milliseconds  # type: ignore[operator]  # checked above

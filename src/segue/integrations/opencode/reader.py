"""Messages of opencode as turns: from its database, or from what `opencode export` gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.formats.records import BadRecordError, parse_json
from segue.integrations.format.transcript import (
    TranscriptBuilder,
    TranscriptTurn,
    as_text,
    call_part,
    child,
    objects,
    reasoning_part,
    result_part,
    texts,
)
from segue.integrations.opencode.writer import is_ours

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from segue.integrations.format.transcript import Transcript
    from segue.model import JsonObject, Turn


def read(data: bytes, *, place: str) -> Transcript:
    gathering = TranscriptBuilder("opencode", place)
    try:
        document = parse_json(data)
    except BadRecordError as error:
        gathering.damage(str(error))
        document = {}
    whole: JsonObject = document if isinstance(document, dict) else {}
    about = child(whole, "info")
    gathering.native_id, gathering.title = as_text(about.get("id")), as_text(about.get("title"))
    gathering.cwd = as_text(about.get("directory"))
    return gathering.transcript(steps(objects(whole.get("messages")), gathering))


def steps(messages: Iterable[JsonObject], gathering: TranscriptBuilder) -> Iterator[TranscriptTurn]:
    """Each message is `info` and `parts`, oldest first."""
    for message in messages:
        key = as_text(child(message, "info").get("id"))
        for turn in _turns(gathering, key, message):
            yield TranscriptTurn(turn, gathering.tip, is_ours=is_ours(key))
            gathering.tip = turn.id


def _turns(gathering: TranscriptBuilder, key: str, message: JsonObject) -> Iterator[Turn]:
    info, parts = child(message, "info"), objects(message.get("parts"))
    said = [part for part in parts if part.get("synthetic") is not True and part.get("ignored") is not True]
    at = gathering.moment(_seconds(child(info, "time").get("created")))
    if info.get("role") == "user":
        files: list[JsonObject] = [{"type": "image"} for part in said if part.get("type") == "file"]
        if said:
            yield gathering.turn(key, "user", texts(said), at, records=[message], parts=files)
        return
    calls = [part for part in parts if part.get("type") == "tool"]
    if not said or (not texts(said) and not calls and child(info, "error")):
        return  # it failed before the first word
    yield gathering.turn(
        key,
        "assistant",
        texts(said),
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
            told = gathering.moment(_seconds(child(state, "time").get("end")))
            name = f"{key}:{as_text(call.get('callID'))}"
            yield gathering.turn(name, "tool", result, told, records=[call], parts=[part])


def _seconds(milliseconds: object) -> object:
    """What is no number, and one beyond all calendars, is left for the clock to refuse."""
    is_number = isinstance(milliseconds, int | float) and abs(milliseconds) < 2**63
    return milliseconds / 1000 if is_number else milliseconds  # type: ignore[operator]  # as was asked

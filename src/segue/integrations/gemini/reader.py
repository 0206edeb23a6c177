"""A session of Gemini CLI as turns: its messages after all changes that were made to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.formats.records import BadRecordError
from segue.integrations.format.lines import LinePlace, lines_of
from segue.integrations.format.transcript import (
    MARK,
    TranscriptBuilder,
    TranscriptTurn,
    as_text,
    call_part,
    child,
    objects,
    parse_record,
    reasoning_part,
    result_part,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.integrations.format.lines import Lines
    from segue.integrations.format.transcript import Transcript
    from segue.model import JsonObject, Turn

_INJECTED = "<session_context>"
_LARGEST_DOCUMENT_BYTES = 32 << 20
Where = tuple[LinePlace, int]
"""The line of a message, and its number in a list of messages there (0 for a line of its own)."""


def read(data: bytes, *, place: str) -> Transcript:
    """The session names itself in its first line."""
    gathering = TranscriptBuilder("gemini", place)
    return gathering.transcript(steps(lines_of(data), gathering))


def steps(lines: Lines, gathering: TranscriptBuilder) -> Iterator[TranscriptTurn]:
    """A file of lines, or (of older releases) one document. Lines are read twice: for what is left, and then that."""
    document = _document(lines)
    if document is not None:
        _head(document, gathering)
        for message in objects(document.get("messages")):
            yield from _steps(gathering, as_text(message.get("id")), LinePlace(0, 0, 0), message)
        return
    restated: dict[LinePlace, list[JsonObject]] = {}  # of the one line that was read last: it is read once
    for key, (place, number) in _left(lines, gathering).items():
        record: object = {}
        if place not in restated:
            try:
                record = parse_record(lines.at(place))
            except BadRecordError as error:
                gathering.damage(str(error), at=place)
                continue
            if number and isinstance(record, dict):
                restated = {place: objects(_change(record).get("messages"))}
        for found in restated.get(place, [])[number - 1 : number] if number else objects([record]):
            yield from _steps(gathering, key, place, found)


def _document(lines: Lines) -> JsonObject | None:
    """Lines begin with a whole object; a document that is indented does not."""
    first = next(iter(lines), None)
    if first is None or first.data is None or (first.is_whole and first.data.strip() != b"{"):
        return None
    try:
        found = parse_record(lines.read(_LARGEST_DOCUMENT_BYTES, 0))
    except BadRecordError:
        return None
    return found if isinstance(found, dict) and "messages" in found else None


def _left(lines: Lines, gathering: TranscriptBuilder) -> dict[str, Where]:
    messages: dict[str, Where] = {}
    whole: dict[str, Where] = {}
    for place, record in gathering.records(lines):
        change = _change(record)
        _head(record, gathering)
        _head(change, gathering)
        if "messages" in change:
            # It says which are left and in what order, but restates them without their calls and counts.
            told = enumerate(objects(change["messages"]), start=1)
            restated = {as_text(message.get("id")): (place, number) for number, message in told}
            messages = {key: whole.get(key, where) for key, where in restated.items()}
        elif "$rewindTo" in record:
            _rewind(messages, as_text(record["$rewindTo"]))
        elif "id" in record:  # also a second time, and then the last one counts
            messages[as_text(record["id"])] = whole[as_text(record["id"])] = (place, 0)
    return messages


def _change(record: JsonObject) -> JsonObject:
    """What a line sets; a document on one line sets everything."""
    return record if "messages" in record else child(record, "$set")


def _head(record: JsonObject, gathering: TranscriptBuilder) -> None:
    gathering.native_id = as_text(record.get("sessionId")) or gathering.native_id
    gathering.title = as_text(record.get("summary")) or gathering.title
    folders = record.get("directories")
    if isinstance(folders, list) and folders and isinstance(folders[0], str):
        gathering.cwd = gathering.cwd or folders[0]


def _rewind(messages: dict[str, Where], name: str) -> None:
    while name in messages:
        messages.popitem()


def _steps(gathering: TranscriptBuilder, key: str, at: LinePlace, message: JsonObject) -> Iterator[TranscriptTurn]:
    for turn in _turns(gathering, key, at, message):
        yield TranscriptTurn(turn, gathering.tip, is_ours=key.startswith(f"{MARK}-"))
        gathering.tip = turn.id


def _turns(gathering: TranscriptBuilder, key: str, at: LinePlace, message: JsonObject) -> Iterator[Turn]:
    content = message.get("content")
    pieces = [{"text": content}] if isinstance(content, str) else objects(content)
    text = "\n\n".join(as_text(piece["text"]) for piece in pieces if piece.get("text"))
    if message.get("type") == "user":
        # Results of tools are sent as the user's, and kept with their calls as well: these are taken.
        is_said = not pieces or any("functionResponse" not in piece for piece in pieces)
        if is_said and not text.startswith(_INJECTED):
            images: list[JsonObject] = [{"type": "image"} for piece in pieces if "inlineData" in piece]
            moment = gathering.moment(message.get("timestamp"), at=at)
            yield gathering.turn(key, "user", text, moment, records=[message], parts=images)
        return
    if message.get("type") != "gemini":
        return  # what the tool says of itself
    calls = objects(message.get("toolCalls"))
    thoughts = [
        f"{as_text(t.get('subject'))}\n{as_text(t.get('description'))}" for t in objects(message.get("thoughts"))
    ]
    yield gathering.turn(
        key,
        "assistant",
        text,
        gathering.moment(message.get("timestamp"), at=at),
        records=[message],
        parts=[
            *(reasoning_part(thought.strip()) for thought in thoughts),
            *(call_part(call.get("id"), call.get("name"), call.get("args")) for call in calls),
        ],
        tokens=child(message, "tokens").get("output"),
        model=as_text(message.get("model")),
    )
    for call in calls:
        if call.get("result") is not None:
            result = _result(call)
            part = result_part(call.get("id"), result, failed=call.get("status") == "error")
            told = gathering.moment(call.get("timestamp") or message.get("timestamp"), at=at)
            name = f"{key}:{as_text(call.get('id'))}"
            yield gathering.turn(name, "tool", result, told, records=[call], parts=[part])


def _result(call: JsonObject) -> str:
    found: list[str] = []
    for piece in objects(call.get("result")):
        response = child(piece, "functionResponse", "response")
        found.append(as_text(response.get("output") or response.get("error") or response or piece.get("text")))
    return "\n\n".join(found) or as_text(call.get("resultDisplay"))

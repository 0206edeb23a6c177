"""Turns from a session of Gemini CLI: its messages after all changes that were made to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.formats.records import BadRecordError
from segue.integrations.format.lines import LinePlace, lines_of
from segue.integrations.format.parts import call_part, reasoning_part, result_part
from segue.integrations.format.transcript import MARK, TranscriptBuilder, TranscriptTurn, parse_record
from segue.integrations.format.values import as_text, child, objects

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.integrations.format.lines import Lines
    from segue.integrations.format.transcript import Transcript
    from segue.model import JsonObject, Turn

_INJECTED = "<session_context>"
_LARGEST_DOCUMENT_BYTES = 32 << 20
MessagePlace = tuple[LinePlace, int]
"""The line of a message, and its number in the list of messages of that line (0 if it is alone)."""


def read(data: bytes, *, place: str) -> Transcript:
    """The transcript of a session whose first line has its id."""
    builder = TranscriptBuilder("gemini", place)
    return builder.transcript(parse_turns(lines_of(data), builder))


def parse_turns(lines: Lines, builder: TranscriptBuilder) -> Iterator[TranscriptTurn]:
    """The turns of a file of lines, which is read twice: for the messages that remain, and then these.

    Older releases wrote one document.
    """
    document = _parse_document(lines)
    if document is not None:
        _take_metadata(document, builder)
        for message in objects(document.get("messages")):
            yield from _parse_message(builder, as_text(message.get("id")), LinePlace(0, 0, 0), message)
        return
    restated: dict[LinePlace, list[JsonObject]] = {}  # the messages of the last line with several
    for key, (place, number) in _remaining(lines, builder).items():
        record: object = {}
        if place not in restated:
            try:
                record = parse_record(lines.at(place))
            except BadRecordError as error:
                builder.damage(str(error), at=place)
                continue
            if number and isinstance(record, dict):
                restated = {place: objects(_change(record).get("messages"))}
        for found in restated.get(place, [])[number - 1 : number] if number else objects([record]):
            yield from _parse_message(builder, key, place, found)


def _parse_document(lines: Lines) -> JsonObject | None:
    """The document, if the file is one: the first line of an indented document is not a whole object."""
    first = next(iter(lines), None)
    if first is None or first.data is None or (first.is_whole and first.data.strip() != b"{"):
        return None
    try:
        found = parse_record(lines.read(_LARGEST_DOCUMENT_BYTES, 0))
    except BadRecordError:
        return None
    return found if isinstance(found, dict) and "messages" in found else None


def _remaining(lines: Lines, builder: TranscriptBuilder) -> dict[str, MessagePlace]:
    messages: dict[str, MessagePlace] = {}
    whole: dict[str, MessagePlace] = {}
    for place, record in builder.records(lines):
        change = _change(record)
        _take_metadata(record, builder)
        _take_metadata(change, builder)
        if "messages" in change:
            # It lists the remaining messages in order, but without their calls and token counts.
            listed = enumerate(objects(change["messages"]), start=1)
            restated = {as_text(message.get("id")): (place, number) for number, message in listed}
            messages = {key: whole.get(key, where) for key, where in restated.items()}
        elif "$rewindTo" in record:
            _rewind(messages, as_text(record["$rewindTo"]))
        elif "id" in record:  # it may occur again, and then the last one counts
            messages[as_text(record["id"])] = whole[as_text(record["id"])] = (place, 0)
    return messages


def _change(record: JsonObject) -> JsonObject:
    """The fields that a line changes; a document on one line sets all of them."""
    return record if "messages" in record else child(record, "$set")


def _take_metadata(record: JsonObject, builder: TranscriptBuilder) -> None:
    builder.native_id = as_text(record.get("sessionId")) or builder.native_id
    builder.title = as_text(record.get("summary")) or builder.title
    folders = record.get("directories")
    if isinstance(folders, list) and folders and isinstance(folders[0], str):
        builder.cwd = builder.cwd or folders[0]


def _rewind(messages: dict[str, MessagePlace], name: str) -> None:
    while name in messages:
        messages.popitem()


def _parse_message(
    builder: TranscriptBuilder, key: str, at: LinePlace, message: JsonObject
) -> Iterator[TranscriptTurn]:
    is_ours = key.startswith(f"{MARK}-")
    if is_ours:
        builder.launch = key.removeprefix(f"{MARK}-").rpartition("-")[0]
    for turn in _turns_of(builder, key, at, message):
        yield TranscriptTurn(turn, builder.tip, is_ours=is_ours)
        builder.tip = turn.id


def _turns_of(builder: TranscriptBuilder, key: str, at: LinePlace, message: JsonObject) -> Iterator[Turn]:
    content = message.get("content")
    pieces = [{"text": content}] if isinstance(content, str) else objects(content)
    text = "\n\n".join(as_text(piece["text"]) for piece in pieces if piece.get("text"))
    if message.get("type") == "user":
        # Results of tools are messages of the user, and also stored with their calls, from where they are taken.
        is_typed = not pieces or any("functionResponse" not in piece for piece in pieces)
        if is_typed and not text.startswith(_INJECTED):
            images: list[JsonObject] = [{"type": "image"} for piece in pieces if "inlineData" in piece]
            moment = builder.moment(message.get("timestamp"), at=at)
            yield builder.turn(key, "user", text, moment, records=[message], parts=images)
        return
    if message.get("type") != "gemini":
        return  # a message of Gemini CLI itself
    calls = objects(message.get("toolCalls"))
    thoughts = [
        f"{as_text(t.get('subject'))}\n{as_text(t.get('description'))}" for t in objects(message.get("thoughts"))
    ]
    yield builder.turn(
        key,
        "assistant",
        text,
        builder.moment(message.get("timestamp"), at=at),
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
            moment = builder.moment(call.get("timestamp") or message.get("timestamp"), at=at)
            name = f"{key}:{as_text(call.get('id'))}"
            yield builder.turn(name, "tool", result, moment, records=[call], parts=[part])


def _result(call: JsonObject) -> str:
    found: list[str] = []
    for piece in objects(call.get("result")):
        response = child(piece, "functionResponse", "response")
        found.append(as_text(response.get("output") or response.get("error") or response or piece.get("text")))
    return "\n\n".join(found) or as_text(call.get("resultDisplay"))

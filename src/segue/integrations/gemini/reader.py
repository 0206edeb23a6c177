"""Turns from a session of Gemini CLI: every message that was said, with the branches that rewinds make."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from segue.formats.records import BadRecordError
from segue.integrations.format.google import (
    calls_of,
    media_of,
    pieces_of,
    reasoning_of,
    response_text,
    responses_of,
    result_of,
    split_files,
    spoken,
)
from segue.integrations.format.lines import LinePlace, lines_of
from segue.integrations.format.native import with_content
from segue.integrations.format.parts import call_part, notice_part, reasoning_part, summary_part, usage_of
from segue.integrations.format.transcript import MARK, TranscriptBuilder, TranscriptTurn, parse_record
from segue.integrations.format.values import as_text, child, objects
from segue.integrations.gemini.timeline import Timeline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from segue.integrations.format.lines import Lines
    from segue.integrations.format.transcript import Transcript
    from segue.integrations.gemini.timeline import Message, Position
    from segue.model import JsonObject, Turn

_CONTEXT = "<session_context>"
_HOOK = "<hook_context>"
_CONTINUE = "Please continue."
"""What Gemini CLI sends by itself, for a prompt that it also shows."""
_OWN_MESSAGES = {"info", "warning", "error"}
"""What Gemini CLI shows to the user; the model never gets it."""
_SYNTHETIC = "Binary content received. Proceeding with analysis."
_SHELL = re.compile(
    r"I ran the following shell command:\n```sh\n(.*)\n```\n\nThis produced the following result:\n```\n(.*)\n```",
    re.DOTALL,
)
_FAILED = {"error", "cancelled"}
_LARGEST_DOCUMENT_BYTES = 32 << 20
INVISIBLE = "\u2060"
"""The start of messages that Gemini CLI would leave out as it reads a file of Segue."""


def read(data: bytes, *, place: str) -> Transcript:
    """The transcript of a session whose first line has its id."""
    builder = TranscriptBuilder("gemini", place)
    return builder.transcript(parse_turns(lines_of(data), builder))


def parse_turns(lines: Lines, builder: TranscriptBuilder, *, side: str = "") -> Iterator[TranscriptTurn]:
    """The turns of a file of lines, which is read twice: for the order of the messages, and then these.

    Older releases wrote one document. `side` is the name of a branch for the session of a subagent.
    """
    timeline = Timeline(builder)
    document = _parse_document(lines)
    if document is not None:
        listed = objects(document.get("messages"))
        timeline.add_line(LinePlace(0, 0, 0), document)
        get: Callable[[Position], JsonObject | None] = lambda at: listed[at[1] - 1]  # noqa: E731 - the other is a method
    else:
        for place, record in builder.records(lines):
            timeline.add_line(place, record)
        get = _Records(lines, builder).get
    yield from _Parser(builder, timeline, side).parse(get)


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


class _Records:
    """The messages of a file by their positions; only one line is in memory."""

    def __init__(self, lines: Lines, builder: TranscriptBuilder) -> None:
        self._lines = lines
        self._builder = builder
        self._listed: tuple[LinePlace, list[JsonObject]] | None = None

    def get(self, position: Position) -> JsonObject | None:
        place, number = position
        if self._listed is None or self._listed[0] != place:
            self._builder.read_bytes += place.size
            try:
                record = parse_record(self._lines.at(place))
            except BadRecordError as error:
                self._builder.damage(str(error), at=place)
                return None
            if not isinstance(record, dict):
                return None
            if not number:
                return record
            change = record if "messages" in record else child(record, "$set")
            self._listed = (place, objects(change.get("messages")))
        return next(iter(self._listed[1][number - 1 : number]), None)


class _Parser:
    def __init__(self, builder: TranscriptBuilder, timeline: Timeline, side: str) -> None:
        self._builder = builder
        self._timeline = timeline
        self._side = side
        self._unknown: set[str] = set()

    def parse(self, get: Callable[[Position], JsonObject | None]) -> Iterator[TranscriptTurn]:
        ends: dict[str, str] = {"": ""}  # by message: the last turn up to it
        for key, message in self._timeline.messages.items():
            end = ends.get(message.after, "")
            record = get(message.position)
            is_ours = key.startswith(f"{MARK}-")
            if is_ours:
                self._builder.launch = key.removeprefix(f"{MARK}-").rpartition("-")[0]
            copy_of = record.get(MARK) if is_ours and record is not None else ""
            for turn in self._turns(key, message, record) if record is not None else ():
                found = with_content(turn, turn.content.removeprefix(INVISIBLE)) if is_ours else turn
                side = "" if end else self._side
                yield TranscriptTurn(found, end, side, is_ours, copy_of=copy_of if isinstance(copy_of, str) else "")
                end, copy_of = turn.id, ""
            ends[key] = end
        self._builder.tip = ends[self._timeline.tip]

    def _turns(self, key: str, message: Message, record: JsonObject) -> Iterator[Turn]:
        match record.get("type"):
            case "user":
                yield from self._parse_user(key, message, record)
            case "gemini":
                yield from self._parse_answer(key, message, record)
            case str() as kind if kind not in _OWN_MESSAGES | self._unknown:
                self._unknown.add(kind)
                self._builder.damage(f"messages of type {kind!r:.40} are not known", at=message.position[0])

    def _parse_user(self, key: str, message: Message, record: JsonObject) -> Iterator[Turn]:
        builder, pieces = self._builder, pieces_of(record.get("content"))
        moment = builder.moment(record.get("timestamp"), at=message.position[0])
        for response in responses_of(pieces):  # it is stored with its call too, from where it is taken
            if as_text(response.get("id")) not in self._timeline.answered:
                part = result_of(response.get("id"), [{"functionResponse": response}])
                name = f"{key}:{as_text(response.get('id'))}"
                text = response_text(response)
                yield builder.turn(name, "tool", text, moment, records=[record], parts=[part])
        written, files = split_files([piece for piece in pieces if "functionResponse" not in piece])
        hooks = [piece for piece in written if as_text(piece.get("text")).startswith(_HOOK)]
        text = spoken(piece for piece in written if piece not in hooks)
        shown, parts = spoken(pieces_of(record.get("displayContent"))), [*files, *media_of(written)]
        for number, hook in enumerate(hooks):
            name = f"{key}:hook-{number}"
            yield builder.turn(name, "system", as_text(hook["text"]), moment, records=[hook], parts=[notice_part()])
        if text.startswith(_CONTEXT) or not (text.strip() or parts):
            return
        is_own = (self._side and message.after) or (text == _CONTINUE and shown)
        if message.is_summary or is_own:
            kind = summary_part() if message.is_summary else notice_part()
            yield builder.turn(key, "system", text, moment, records=[record], parts=[kind])
        elif (command := _SHELL.fullmatch(text)) is not None:
            typed, output = map(_unescaped, command.groups())
            call = call_part(key, "shell", {"command": typed})
            yield builder.turn(key, "user", f"!{typed}", moment, records=[record], parts=[call])
            part = result_of(key, [{"text": output}])
            yield builder.turn(f"{key}:output", "tool", output, moment, records=[], parts=[part])
        else:
            if shown and not files and shown != text:
                text = f"{shown}\n\n{text}"
            yield builder.turn(key, "user", text, moment, records=[record], parts=parts)

    def _parse_answer(self, key: str, message: Message, record: JsonObject) -> Iterator[Turn]:
        builder, pieces = self._builder, pieces_of(record.get("content"))
        at = message.position[0]
        calls, tokens = objects(record.get("toolCalls")), child(record, "tokens")
        thoughts = [
            f"{as_text(thought.get('subject'))}\n{as_text(thought.get('description'))}".strip()
            for thought in objects(record.get("thoughts"))
        ]
        reasoning = [reasoning_part(thought) for thought in thoughts] or reasoning_of(pieces)
        made = [call_part(call.get("id"), call.get("name"), call.get("args")) for call in calls] or calls_of(pieces)
        parts = [*(part for part in reasoning if part["text"] != _SYNTHETIC), *made, *media_of(pieces)]
        text = spoken(pieces)
        if text or parts:
            yield builder.turn(
                key,
                "assistant",
                text,
                builder.moment(record.get("timestamp"), at=at),
                records=[record],
                parts=parts,
                tokens=tokens.get("output"),
                model=as_text(record.get("model")),
                partial=message.is_cut_off,
                usage=usage_of(
                    input=tokens.get("input"),
                    cached=tokens.get("cached"),
                    output=tokens.get("output"),
                    reasoning=tokens.get("thoughts"),
                ),
            )
        for call in calls:
            if call.get("result") is not None:
                part = result_of(
                    call.get("id"), pieces_of(call["result"]), failed=as_text(call.get("status")) in _FAILED
                )
                moment = builder.moment(call.get("timestamp") or record.get("timestamp"), at=at)
                name = f"{key}:{as_text(call.get('id'))}"
                yield builder.turn(name, "tool", as_text(part["content"]), moment, records=[call], parts=[part])


def _unescaped(text: str) -> str:
    """The text in which Gemini CLI escaped backslashes and backquotes."""
    return re.sub(r"\\([\\`])", r"\1", text)

"""Turns from a session of Claude Code: a tree of messages, each joined from the records it is split into."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.formats.records import BadRecordError
from segue.integrations.claude.message_index import index_messages
from segue.integrations.format.limits import TURN_BYTES
from segue.integrations.format.lines import lines_of
from segue.integrations.format.parts import call_part, reasoning_part, result_part
from segue.integrations.format.transcript import MARK, TranscriptBuilder, TranscriptTurn, parse_record
from segue.integrations.format.values import as_text, child, objects, texts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.integrations.claude.message_index import MessageEntry
    from segue.integrations.format.lines import LinePlace, Lines
    from segue.integrations.format.transcript import Transcript
    from segue.model import JsonObject, Turn

_INJECTED = (
    "<command-name>",
    "<command-message>",
    "<local-command-",
    "<system-reminder>",
    "[Request interrupted by user",
)
_FLAGS = ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "isApiErrorMessage")
_SYNTHETIC = "<synthetic>"
"""The model of answers that Claude Code wrote itself, for want of one."""


def read(data: bytes, *, native_id: str, place: str) -> Transcript:
    builder = TranscriptBuilder("claude", place, native_id)
    return builder.transcript(parse_turns(lines_of(data), builder))


def parse_turns(lines: Lines, builder: TranscriptBuilder) -> Iterator[TranscriptTurn]:
    """The turns in the order of the file, which is read twice: for the positions, and then message by message."""
    found = index_messages(lines, builder)
    builder.title = found.title or builder.title
    builder.cwd = builder.cwd or found.cwd
    tree = _Tree()
    for entry in found.entries:
        records = list(_records(lines, entry, builder))
        after = tree.find(entry)
        if not records or _is_injected(records[0]):
            tree.skip(entry, records, after)
            continue
        results = _results(records[0])
        turn = _turn(builder, records, results, entry.places[0])
        after = tree.add(entry, records, turn.id, after, is_result=bool(results))
        yield TranscriptTurn(turn, after, _side(entry, records[0]) if not after else "", MARK in records[0])
    builder.tip = tree.end(found.last) or builder.tip


class _Tree:
    """Which turn each record belongs to. A record that is not a turn belongs to the turn before it."""

    def __init__(self) -> None:
        self._turns: dict[str, str] = {}  # by the id of a record
        self._answers: dict[str, str] = {}  # by a turn with results: the turn with the calls
        self._results: dict[str, str] = {}  # by a turn with calls: the last of its results
        self._latest = {False: "", True: ""}
        self._sides: set[str] = set()

    def find(self, entry: MessageEntry) -> str:
        """The turn that it follows; if that cannot be read, the one before it in the file."""
        if not entry.parent:
            return ""
        found = self._turns.get(entry.parent)
        if found is None:
            return self._latest[entry.is_side]
        if entry.is_side and found not in self._sides:
            return ""
        return self._after_results(found)

    def end(self, record: str) -> str:
        return self._after_results(self._turns.get(record, ""))

    def skip(self, entry: MessageEntry, records: list[JsonObject], after: str) -> None:
        self._turns |= dict.fromkeys([entry.id, *_ids(records)], after)

    def add(self, entry: MessageEntry, records: list[JsonObject], name: str, after: str, *, is_result: bool) -> str:
        """Add a turn. Parallel results all follow the same call in the file; here each follows the one before it."""
        self._turns |= dict.fromkeys([entry.id, *_ids(records)], name)
        self._latest[entry.is_side] = name
        if entry.is_side:
            self._sides.add(name)
        if is_result and after:
            answer = self._answers.get(after, after)
            after = self._results.get(answer, after)
            self._answers[name], self._results[answer] = answer, name
        return after

    def _after_results(self, name: str) -> str:
        return self._results.get(self._answers.get(name, ""), name)


def _ids(records: list[JsonObject]) -> list[str]:
    return [as_text(record.get("uuid")) for record in records]


def _records(lines: Lines, entry: MessageEntry, builder: TranscriptBuilder) -> Iterator[JsonObject]:
    total = 0
    for place in entry.places:
        builder.read_bytes += place.size
        total += place.size
        if total > max(TURN_BYTES, entry.places[0].size):
            builder.damage("the message that it belongs to is too long to read", at=place)
            return
        try:
            record = parse_record(lines.at(place))
        except BadRecordError as error:
            builder.damage(str(error), at=place)
            continue
        if isinstance(record, dict):
            yield record


def _is_injected(record: JsonObject) -> bool:
    if any(record.get(flag) is True for flag in _FLAGS):
        return True
    message = child(record, "message")
    if record.get("type") == "assistant":
        return message.get("model") == _SYNTHETIC
    return texts(message.get("content")).startswith(_INJECTED)


def _side(entry: MessageEntry, first: JsonObject) -> str:
    """The name of the branch of a subagent, whose turns are not part of the conversation; else empty."""
    return f"agent-{as_text(first.get('agentId')) or entry.id[:8]}" if entry.is_side else ""


def _results(record: JsonObject) -> list[JsonObject]:
    if record.get("type") != "user":
        return []
    return [block for block in objects(child(record, "message").get("content")) if block.get("type") == "tool_result"]


def _turn(builder: TranscriptBuilder, records: list[JsonObject], results: list[JsonObject], at: LinePlace) -> Turn:
    first = records[0]
    key = as_text(first.get("uuid")) or f"{builder.native_id}:{at.number}"
    moment = builder.moment(first.get("timestamp"), at=at)
    content = child(first, "message").get("content")
    if first.get("type") == "user":
        parts = [
            result_part(block.get("tool_use_id"), texts(block.get("content")), failed=block.get("is_error") is True)
            for block in results
        ]
        text = "\n\n".join(texts(block.get("content")) for block in results) if parts else texts(content)
        images: list[JsonObject] = [{"type": "image"} for block in objects(content) if block.get("type") == "image"]
        role = "tool" if parts else "user"
        return builder.turn(key, role, text, moment, records=records, parts=[*parts, *images])
    blocks = [block for record in records for block in objects(child(record, "message").get("content"))]
    last = child(records[-1], "message")
    return builder.turn(
        key,
        "assistant",
        texts(blocks) or (content if isinstance(content, str) else ""),
        moment,
        records=records,
        parts=list(_parts(blocks)),
        tokens=child(last, "usage").get("output_tokens"),
        model=as_text(last.get("model")),
    )


def _parts(blocks: list[JsonObject]) -> Iterator[JsonObject]:
    for block in blocks:
        match block.get("type"):
            case "tool_use":
                yield call_part(block.get("id"), block.get("name"), block.get("input"))
            case "thinking" if block.get("thinking"):
                yield reasoning_part(block["thinking"])

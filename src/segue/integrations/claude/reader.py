"""A session of Claude Code as turns: a tree, messages put together from the blocks they are split into."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.formats.records import BadRecordError
from segue.integrations.claude.message_index import index
from segue.integrations.format.limits import TURN_BYTES
from segue.integrations.format.lines import lines_of
from segue.integrations.format.transcript import (
    TranscriptBuilder,
    TranscriptTurn,
    as_text,
    call_part,
    child,
    objects,
    parse_record,
    reasoning_part,
    result_part,
    texts,
)

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


def read(data: bytes, *, native_id: str, place: str) -> Transcript:
    gathering = TranscriptBuilder("claude", place, native_id)
    return gathering.transcript(steps(lines_of(data), gathering))


def steps(lines: Lines, gathering: TranscriptBuilder) -> Iterator[TranscriptTurn]:
    """In the order of the file. It is read twice: for where everything is, and then message by message."""
    found = index(lines, gathering)
    gathering.title = found.title or gathering.title
    gathering.cwd = gathering.cwd or found.cwd
    tree = _Tree()
    for entry in found.entries:
        records = list(_records(lines, entry, gathering))
        after = tree.find(entry)
        if not records or _is_injected(records[0]):
            tree.pass_over(entry, records, after)
            continue
        results = _results(records[0])
        turn = _turn(gathering, records, results, entry.places[0])
        after = tree.grow(entry, records, turn.id, after, is_result=bool(results))
        yield TranscriptTurn(turn, after, _side(entry, records[0]) if not after else "", gathering.marked(records[0]))
    gathering.tip = tree.end(found.last) or gathering.tip


class _Tree:
    """Which turn each record belongs to. Whatever is no turn stands for the one before it."""

    def __init__(self) -> None:
        self._turns: dict[str, str] = {}  # by the id of a record
        self._answers: dict[str, str] = {}  # by a turn with results: the one that called for them
        self._results: dict[str, str] = {}  # by a turn that called: the last of its results
        self._latest = {False: "", True: ""}
        self._asides: set[str] = set()

    def find(self, entry: MessageEntry) -> str:
        """The turn that it follows; where that cannot be read, the one before it in the file."""
        if not entry.parent:
            return ""
        found = self._turns.get(entry.parent)
        if found is None:
            return self._latest[entry.is_aside]
        if entry.is_aside and found not in self._asides:
            return ""
        return self._behind_results(found)

    def end(self, record: str) -> str:
        return self._behind_results(self._turns.get(record, ""))

    def pass_over(self, entry: MessageEntry, records: list[JsonObject], after: str) -> None:
        self._turns |= dict.fromkeys([entry.id, *_ids(records)], after)

    def grow(self, entry: MessageEntry, records: list[JsonObject], name: str, after: str, *, is_result: bool) -> str:
        """Every result names the block that called for it: side by side, and yet one behind the other."""
        self._turns |= dict.fromkeys([entry.id, *_ids(records)], name)
        self._latest[entry.is_aside] = name
        if entry.is_aside:
            self._asides.add(name)
        if is_result and after:
            answer = self._answers.get(after, after)
            after = self._results.get(answer, after)
            self._answers[name], self._results[answer] = answer, name
        return after

    def _behind_results(self, name: str) -> str:
        return self._results.get(self._answers.get(name, ""), name)


def _ids(records: list[JsonObject]) -> list[str]:
    return [as_text(record.get("uuid")) for record in records]


def _records(lines: Lines, entry: MessageEntry, gathering: TranscriptBuilder) -> Iterator[JsonObject]:
    total = 0
    for place in entry.places:
        gathering.read_bytes += place.size
        total += place.size
        if total > max(TURN_BYTES, entry.places[0].size):
            gathering.damage("the message that it belongs to is too long to be read", at=place)
            return
        try:
            record = parse_record(lines.at(place))
        except BadRecordError as error:
            gathering.damage(str(error), at=place)
            continue
        if isinstance(record, dict):
            yield record


def _is_injected(record: JsonObject) -> bool:
    if any(record.get(flag) is True for flag in _FLAGS):
        return True
    return record.get("type") == "user" and texts(child(record, "message").get("content")).startswith(_INJECTED)


def _side(entry: MessageEntry, first: JsonObject) -> str:
    """What an agent did on its own has no place among what was said."""
    return f"agent-{as_text(first.get('agentId')) or entry.id[:8]}" if entry.is_aside else ""


def _results(record: JsonObject) -> list[JsonObject]:
    if record.get("type") != "user":
        return []
    return [block for block in objects(child(record, "message").get("content")) if block.get("type") == "tool_result"]


def _turn(gathering: TranscriptBuilder, records: list[JsonObject], results: list[JsonObject], at: LinePlace) -> Turn:
    first = records[0]
    key = as_text(first.get("uuid")) or f"{gathering.native_id}:{at.number}"
    moment = gathering.moment(first.get("timestamp"), at=at)
    content = child(first, "message").get("content")
    if first.get("type") == "user":
        parts = [
            result_part(block.get("tool_use_id"), texts(block.get("content")), failed=block.get("is_error") is True)
            for block in results
        ]
        text = "\n\n".join(texts(block.get("content")) for block in results) if parts else texts(content)
        images: list[JsonObject] = [{"type": "image"} for block in objects(content) if block.get("type") == "image"]
        role = "tool" if parts else "user"
        return gathering.turn(key, role, text, moment, records=records, parts=[*parts, *images])
    blocks = [block for record in records for block in objects(child(record, "message").get("content"))]
    last = child(records[-1], "message")
    return gathering.turn(
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

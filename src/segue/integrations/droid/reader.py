"""Turns from a session of Droid: a tree of messages in the form of Anthropic's API."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.integrations.format.anthropic_messages import SortedText, turns_of
from segue.integrations.format.parts import summary_part
from segue.integrations.format.tags import without
from segue.integrations.format.transcript import TranscriptTurn
from segue.integrations.format.unknown_kinds import UnknownKinds
from segue.integrations.format.values import as_text, child

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.integrations.format.lines import LinePlace, Lines
    from segue.integrations.format.transcript import TranscriptBuilder
    from segue.model import JsonObject, Turn

_IGNORED = {"todo_state", "session_settings", "agent_turn_outcome", "session_end"}
"""Types of records without words of the conversation."""


def parse_turns(lines: Lines, builder: TranscriptBuilder, *, side: str = "") -> Iterator[TranscriptTurn]:
    """The turns in the order of the file; those of a subagent are a branch with this name."""
    unknown = UnknownKinds(builder)
    turns: dict[str, str] = {}
    last = ""
    for at, record in builder.records(lines):
        found = _read_record(record, builder, unknown, at)
        parent = as_text(record.get("parentId"))
        # A message whose parent cannot be read follows the one before it in the file.
        builder.tip = turns.get(parent, builder.tip)
        for turn in found:
            yield TranscriptTurn(turn, builder.tip, side)
            builder.tip, side = turn.id, ""
        if record.get("type") == "message":
            last = as_text(record.get("id"))
        if last:  # a summary follows the last message, and what follows that one follows the summary
            turns[last] = builder.tip


def _read_record(record: JsonObject, builder: TranscriptBuilder, unknown: UnknownKinds, at: LinePlace) -> list[Turn]:
    match record.get("type"):
        case "session_start":
            builder.title = as_text(record.get("sessionTitle") or record.get("title"))
            builder.cwd = as_text(record.get("cwd"))
        case "message":
            return list(_message(record, builder, unknown, at))
        case "compaction_state":
            text = as_text(record.get("summaryText"))
            moment = builder.moment(record.get("timestamp"), at=at)
            key = f"{builder.native_id}:{as_text(record.get('id')) or at.offset}"
            return [builder.turn(key, "system", text, moment, records=[record], parts=[summary_part()])] if text else []
        case kind if as_text(kind) not in _IGNORED:
            unknown.report("record", kind, at=at)
    return []


def _message(record: JsonObject, builder: TranscriptBuilder, unknown: UnknownKinds, at: LinePlace) -> Iterator[Turn]:
    key = f"{builder.native_id}:{as_text(record.get('id')) or at.offset}"
    moment = builder.moment(record.get("timestamp"), at=at)
    message = child(record, "message")
    for role, content, parts in turns_of(message, unknown, _sort):
        model = as_text(message.get("model")) if role == "assistant" else ""
        yield builder.turn(key, role, content, moment, records=[record], parts=parts, model=model)
        key = f"{key}:{role}"


def _sort(text: str) -> SortedText:
    """The words of the user, without what Droid adds to them."""
    return SortedText(words=without(text, "system-reminder"))

"""Turns from a transcript of Cursor: messages in the form of Anthropic's API, without ids, times or results."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from segue.integrations.format.anthropic_messages import SortedText, turns_of
from segue.integrations.format.tags import first_content, without
from segue.integrations.format.transcript import TranscriptTurn
from segue.integrations.format.unknown_kinds import UnknownKinds
from segue.integrations.format.values import as_text, child, texts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from segue.integrations.format.lines import Lines
    from segue.integrations.format.transcript import TranscriptBuilder
    from segue.model import JsonObject, Turn

_ADDED = (
    "system_reminder",
    "timestamp",
    "user_info",
    "git_status",
    "rules",
    "agent_skills",
    "open_and_recently_viewed_files",
)
"""The tags of what Cursor adds to a message."""
_WORKSPACE = re.compile(r"^Workspace Path: (/[^\n]{1,4000})$", re.MULTILINE)
_STOPPED = {"aborted", "error"}


def parse_turns(
    lines: Lines, builder: TranscriptBuilder, moment: datetime, *, side: str = ""
) -> Iterator[TranscriptTurn]:
    """The turns in the order of the file, one behind: the record after an answer may be that it was interrupted."""
    unknown = UnknownKinds(builder)
    last: TranscriptTurn | None = None
    for at, record in builder.records(lines):
        if record.get("type") == "turn_ended":
            if last is not None and last.turn.role == "assistant" and as_text(record.get("status")) in _STOPPED:
                last = TranscriptTurn(replace(last.turn, partial=True), last.after, last.side)
            continue
        if not isinstance(record.get("message"), dict):
            unknown.report("record", record.get("type"), at=at)
            continue
        for turn in _turns(record, builder, unknown, f"{builder.native_id}:{at.offset}", moment):
            if last is not None:
                yield last
            last = TranscriptTurn(turn, builder.tip, side)
            builder.tip, side = turn.id, ""
    if last is not None:
        yield last


def _turns(
    record: JsonObject, builder: TranscriptBuilder, unknown: UnknownKinds, key: str, moment: datetime
) -> Iterator[Turn]:
    message = {**child(record, "message"), "role": record.get("role")}
    if not builder.cwd and (found := _WORKSPACE.search(first_content(texts(message.get("content")), "user_info"))):
        builder.cwd = found[1]
    for role, content, parts in turns_of(message, unknown, _sort):
        for number, part in enumerate(parts):
            if part["type"] == "tool_call" and not part["id"]:
                part["id"] = f"{key}:{number}"
        yield builder.turn(key, role, content, moment, records=[record], parts=parts)
        key = f"{key}:{role}"


def _sort(text: str) -> SortedText:
    """The words of the user, without the tag around them and what Cursor adds."""
    return SortedText(words=first_content(text, "user_query") or without(text, *_ADDED))

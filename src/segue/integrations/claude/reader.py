"""Turns from a session of Claude Code: a tree of messages, each joined from the records it is split into."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.formats.records import BadRecordError
from segue.integrations.claude.answers import answer_drafts
from segue.integrations.claude.attachments import attachment_drafts
from segue.integrations.claude.drafts import notice
from segue.integrations.claude.message_index import index_messages
from segue.integrations.claude.turn_tree import TurnTree
from segue.integrations.claude.user_records import local_command_drafts, user_drafts
from segue.integrations.format.limits import TURN_BYTES
from segue.integrations.format.lines import lines_of
from segue.integrations.format.parts import has_part
from segue.integrations.format.transcript import MARK, TranscriptBuilder, TranscriptTurn, parse_record
from segue.integrations.format.values import as_text, texts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.integrations.claude.drafts import Draft
    from segue.integrations.claude.message_index import MessageEntry
    from segue.integrations.claude.user_records import Spilled
    from segue.integrations.format.lines import LinePlace, Lines
    from segue.integrations.format.transcript import Transcript
    from segue.model import JsonObject, Turn


def read(data: bytes, *, native_id: str, place: str) -> Transcript:
    builder = TranscriptBuilder("claude", place, native_id)
    return builder.transcript(parse_turns(lines_of(data), builder))


def parse_turns(
    lines: Lines, builder: TranscriptBuilder, spilled: Spilled = lambda text: text
) -> Iterator[TranscriptTurn]:
    """The turns in the order of the file, which is read twice: for the positions, and then message by message."""
    found = index_messages(lines, builder)
    builder.title = found.title or builder.title
    builder.cwd = builder.cwd or found.cwd
    builder.git_branch = builder.git_branch or found.git_branch
    tree = TurnTree()
    for entry in found.entries:
        yield from message_turns(entry, list(_records(lines, entry, builder)), builder, tree, spilled)
    builder.tip = tree.end(found.last) or builder.tip


def message_turns(
    entry: MessageEntry,
    records: list[JsonObject],
    builder: TranscriptBuilder,
    tree: TurnTree,
    spilled: Spilled = lambda text: text,
) -> Iterator[TranscriptTurn]:
    """The turns of a message, which `tree` has afterwards; none if its records are not part of the conversation."""
    after = tree.find(entry)
    drafts = _drafts(entry, records, spilled) if records else []
    if not drafts:
        tree.skip(entry, records, after)
    for number, draft in enumerate(drafts):
        turn = _turn(builder, draft, records, entry.places[0], number)
        after = tree.add(entry, records, turn.id, after, is_result=has_part(turn, "tool_result"))
        side = _side(entry, records[0]) if not after else ""
        mark = records[0].get(MARK)
        copy_of = mark if isinstance(mark, str) else ""
        yield TranscriptTurn(turn, after, side, is_ours=mark is not None, copy_of=copy_of)
        after = turn.id


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


def _drafts(entry: MessageEntry, records: list[JsonObject], spilled: Spilled) -> list[Draft]:
    first = records[0]
    match first.get("type"):
        case "assistant":
            return answer_drafts(records, is_cut=entry.is_cut)
        case "attachment":
            return attachment_drafts(records)
        case "system" if first.get("subtype") == "local_command":
            return local_command_drafts(texts(first.get("content")))
        case "system":
            return notice(texts(first.get("content")))
    return user_drafts(records, spilled)


def _side(entry: MessageEntry, first: JsonObject) -> str:
    """The name of the branch of a subagent, whose turns are not part of the conversation; else empty."""
    return f"agent-{as_text(first.get('agentId')) or entry.id[:8]}" if entry.is_side else ""


def _turn(builder: TranscriptBuilder, draft: Draft, records: list[JsonObject], at: LinePlace, number: int) -> Turn:
    first = records[0]
    key = as_text(first.get("uuid")) or f"{builder.native_id}:{at.number}"
    return builder.turn(
        f"{key}:{number}" if number else key,
        draft.role,
        draft.text,
        builder.moment(first.get("timestamp"), at=at),
        records=[] if number else records,
        parts=draft.parts,
        tokens=draft.tokens,
        model=draft.model,
        partial=draft.partial,
        usage=draft.usage,
        effort=draft.effort,
    )

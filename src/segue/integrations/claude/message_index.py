"""The positions of the records of each message in a file of Claude Code, found without decoding their content."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import Raw, Struct

from segue.formats.records import BadRecordError
from segue.integrations.format.lines import LinePlace
from segue.integrations.format.transcript import parse_record
from segue.integrations.format.values import as_text, child

if TYPE_CHECKING:
    from segue.integrations.format.lines import Lines
    from segue.integrations.format.transcript import TranscriptBuilder
    from segue.model import JsonObject

MESSAGES = ("user", "assistant")
_CHAIN = (*MESSAGES, "system", "attachment", "progress")


class MessageEntry(Struct, gc=False):
    """A message with all its records, or another record of the chain between two messages."""

    id: str
    parent: str
    is_side: bool
    places: list[LinePlace]
    """Empty for a record that is not a message."""


class MessageIndex(Struct):
    entries: list[MessageEntry] = []
    last: str = ""
    """The record from which the session continues."""
    cwd: str = ""
    summary: str = ""
    ai_title: str = ""
    custom_title: str = ""

    @property
    def title(self) -> str:
        return self.custom_title or self.ai_title or self.summary


class _Message(Struct, frozen=True, gc=False):
    id: str = ""
    content: Raw = Raw(b"null")


class _Record(Struct, frozen=True, rename="camel", gc=False):
    """The fields of a record that decide its position; decoding skips the others."""

    type: str = ""
    uuid: str = ""
    parent_uuid: str | None = None
    logical_parent_uuid: str | None = None
    is_sidechain: bool = False
    message: _Message = _Message()
    cwd: str = ""
    summary: str = ""
    ai_title: str = ""
    custom_title: str = ""


_decode = msgspec.json.Decoder(_Record).decode


def index_messages(lines: Lines, builder: TranscriptBuilder) -> MessageIndex:
    found = MessageIndex()
    seen: set[str] = set()
    answers: dict[str, MessageEntry] = {}
    for place, data, is_whole in lines:
        if data is None:
            builder.damage("it is too long to read", at=place)
            continue
        try:
            record = _decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            try:
                record = _decode_leniently(data)
            except BadRecordError as error:
                builder.damage(str(error) if is_whole else "it is truncated", at=place)
                continue
        found.cwd = found.cwd or record.cwd
        if record.type in _CHAIN:
            if record.uuid not in seen:  # some occur twice
                _add(found, answers, record, place)
            seen.add(record.uuid)
        elif record.type in {"summary", "ai-title", "custom-title"}:
            found.summary = record.summary or found.summary
            found.ai_title = record.ai_title or found.ai_title
            found.custom_title = record.custom_title or found.custom_title
    return found


def _add(found: MessageIndex, answers: dict[str, MessageEntry], record: _Record, place: LinePlace) -> None:
    if not record.is_sidechain:
        found.last = record.uuid
    message = record.message
    answer = answers.get(message.id) if record.type == "assistant" else None
    if answer is not None:  # an answer is split into one record per block
        answer.places.append(place)
        return
    parent = record.parent_uuid or record.logical_parent_uuid or ""
    places = [place] if record.type in MESSAGES else []
    found.entries.append(MessageEntry(record.uuid, parent, record.is_sidechain, places))
    if record.type == "assistant" and message.id:
        answers[message.id] = found.entries[-1]
    elif record.type == "user" and b'"tool_result"' not in bytes(message.content):
        answers.clear()


def _decode_leniently(data: bytes) -> _Record:
    """Decode a record whose values have unexpected types. BadRecordError with the reason."""
    plain = parse_record(data)
    if not isinstance(plain, dict):
        raise BadRecordError("it is JSON, but not an object")
    message = child(plain, "message")
    return _Record(
        type=_text(plain, "type"),
        uuid=as_text(plain.get("uuid")),
        parent_uuid=as_text(plain.get("parentUuid")),
        logical_parent_uuid=as_text(plain.get("logicalParentUuid")),
        is_sidechain=plain.get("isSidechain") is True,
        message=_Message(
            id=as_text(message.get("id")), content=Raw(as_text(message.get("content")).encode("utf-8", "replace"))
        ),
        cwd=_text(plain, "cwd"),
        summary=_text(plain, "summary"),
        ai_title=_text(plain, "aiTitle"),
        custom_title=_text(plain, "customTitle"),
    )


def _text(plain: JsonObject, name: str) -> str:
    value = plain.get(name)
    return value if isinstance(value, str) else ""

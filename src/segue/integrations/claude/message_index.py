"""Where in a file of Claude Code the records of each message are: found without decoding what they say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import Raw, Struct

from segue.formats.records import BadRecordError
from segue.integrations.format.lines import LinePlace
from segue.integrations.format.transcript import as_text, child, parse_record

if TYPE_CHECKING:
    from segue.integrations.format.lines import Lines
    from segue.integrations.format.transcript import TranscriptBuilder
    from segue.model import JsonObject

SAID = ("user", "assistant")
_CHAIN = (*SAID, "system", "attachment", "progress")


class MessageEntry(Struct, gc=False):
    """A link of the chain: a message with all its records, or something that stands between messages."""

    id: str
    parent: str
    is_aside: bool
    places: list[LinePlace]
    """None of what is no message."""


class MessageIndex(Struct):
    entries: list[MessageEntry] = []
    last: str = ""
    """The record with which the session goes on."""
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
    """As much of a record as it takes to find its place; decoding skips the rest."""

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


def index(lines: Lines, gathering: TranscriptBuilder) -> MessageIndex:
    found = MessageIndex()
    seen: set[str] = set()
    answers: dict[str, MessageEntry] = {}
    for place, data, is_whole in lines:
        if data is None:
            gathering.damage("it is too long to be read", at=place)
            continue
        try:
            record = _decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            try:
                record = _patiently(data)
            except BadRecordError as error:
                gathering.damage(str(error) if is_whole else "it breaks off in the middle", at=place)
                continue
        found.cwd = found.cwd or record.cwd
        if record.type in _CHAIN:
            if record.uuid not in seen:  # some are there twice
                _link(found, answers, record, place)
            seen.add(record.uuid)
        elif record.type in {"summary", "ai-title", "custom-title"}:
            found.summary = record.summary or found.summary
            found.ai_title = record.ai_title or found.ai_title
            found.custom_title = record.custom_title or found.custom_title
    return found


def _link(found: MessageIndex, answers: dict[str, MessageEntry], record: _Record, place: LinePlace) -> None:
    if not record.is_sidechain:
        found.last = record.uuid
    message = record.message
    answer = answers.get(message.id) if record.type == "assistant" else None
    if answer is not None:  # an answer is split into one record a block
        answer.places.append(place)
        return
    parent = record.parent_uuid or record.logical_parent_uuid or ""
    places = [place] if record.type in SAID else []
    found.entries.append(MessageEntry(record.uuid, parent, record.is_sidechain, places))
    if record.type == "assistant" and message.id:
        answers[message.id] = found.entries[-1]
    elif record.type == "user" and b'"tool_result"' not in bytes(message.content):
        answers.clear()


def _patiently(data: bytes) -> _Record:
    """For records with values of other kinds than Claude's own. BadRecordError with the reason."""
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

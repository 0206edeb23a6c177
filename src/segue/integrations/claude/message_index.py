"""The positions of the records of each message in a file of Claude Code, found without decoding their content."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import Raw, Struct

from segue.formats.records import BadRecordError
from segue.integrations.claude.record_kinds import NOISE, OF_USER, QUEUED, SILENT, SURROUNDINGS
from segue.integrations.format.lines import LinePlace
from segue.integrations.format.transcript import parse_record
from segue.integrations.format.values import as_text, child

if TYPE_CHECKING:
    from segue.integrations.format.lines import Lines
    from segue.integrations.format.transcript import TranscriptBuilder
    from segue.model import JsonObject

CHAIN = frozenset({"user", "assistant", "system", "attachment", "progress"})
"""The types of records that are linked by parents: messages, and what is between them."""
_TITLES = frozenset({"summary", "ai-title", "custom-title"})
_NOBODY = "00000000-0000-0000-0000-000000000000"
_INTERRUPTED = b"[Request interrupted by user]"
_NO_CONTENT = Raw(b"null")


class MessageEntry(Struct, gc=False):
    """A message with all its records, or another record of the chain between two messages."""

    id: str
    parent: str
    is_side: bool
    places: list[LinePlace]
    """Empty for a record that is not a message."""
    is_attached: bool = False
    """Whether the tool added it, between results or after them."""
    is_cut: bool = False
    """Whether the user interrupted it."""


class MessageIndex(Struct):
    entries: list[MessageEntry] = []
    last: str = ""
    """The record from which the session continues."""
    cwd: str = ""
    git_branch: str = ""
    summary: str = ""
    ai_title: str = ""
    custom_title: str = ""

    @property
    def title(self) -> str:
        return self.custom_title or self.ai_title or self.summary


class _Message(Struct, frozen=True, gc=False):
    id: str = ""
    content: Raw = _NO_CONTENT


class _Attachment(Struct, frozen=True, gc=False):
    type: str = ""
    source_uuid: str = ""


class _Compaction(Struct, frozen=True, rename="camel", gc=False):
    messages_summarized: int = 0
    """More than 0 if the user chose the messages."""


class _Record(Struct, frozen=True, rename="camel", gc=False):
    """The fields of a record that decide its position; decoding skips the others."""

    type: str = ""
    subtype: str = ""
    uuid: str = ""
    parent_uuid: str | None = None
    logical_parent_uuid: str | None = None
    is_sidechain: bool = False
    is_meta: bool = False
    is_compact_summary: bool = False
    message: _Message = _Message()
    attachment: _Attachment = _Attachment()
    compact_metadata: _Compaction = _Compaction()
    content: Raw = _NO_CONTENT
    interrupted_message_id: str = ""
    explicit: bool = False
    leaf_uuid: str | None = None
    cwd: str = ""
    git_branch: str = ""
    summary: str = ""
    ai_title: str = ""
    custom_title: str = ""


_decode = msgspec.json.Decoder(_Record).decode


def index_messages(lines: Lines, builder: TranscriptBuilder) -> MessageIndex:
    indexer = _Indexer(builder)
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
        indexer.add(record, place)
    return indexer.found


class _Indexer:
    def __init__(self, builder: TranscriptBuilder) -> None:
        self.found = MessageIndex()
        self._builder = builder
        self._seen: set[str] = set()
        self._answers: dict[str, MessageEntry] = {}
        """By the id of the message, since the user spoke."""
        self._latest_answer = ("", MessageEntry("", "", is_side=False, places=[]))
        """The last record of the last answer, and the answer."""
        self._spoken: dict[str, tuple[MessageEntry, bool]] = {}
        """Since the last answer: the message of the user to which a record belongs, and whether it is a command."""
        self._delivered: set[str] = set()
        """The ids of messages that the model got while it worked; some are recorded again as records of the user."""
        self._unknown: set[str] = set()

    def add(self, record: _Record, place: LinePlace) -> None:
        found = self.found
        found.cwd = found.cwd or record.cwd
        found.git_branch = found.git_branch if record.git_branch in {"", "HEAD"} else record.git_branch
        if record.type in CHAIN:
            if record.uuid not in self._seen:  # some occur twice
                self._add_to_chain(record, place)
            self._seen.add(record.uuid)
        elif record.type in _TITLES:
            found.summary = record.summary or found.summary
            found.ai_title = record.ai_title or found.ai_title
            found.custom_title = record.custom_title or found.custom_title
        elif record.type == "last-prompt" and record.explicit and record.leaf_uuid not in {None, "", _NOBODY}:
            found.last = record.leaf_uuid or found.last  # the user went back to this record
        elif record.type not in NOISE and (record.message.content != _NO_CONTENT or record.content != _NO_CONTENT):
            self._report_unknown(f"records of type {record.type!r:.40}", place)

    def _add_to_chain(self, record: _Record, place: LinePlace) -> None:
        before = self.found.last
        if not record.is_sidechain:
            self.found.last = record.uuid
        if record.type == "assistant":
            self._add_answer(record, place)
        elif record.type == "user":
            self._add_user(record, place)
        elif record.type == "attachment":
            self._add_attachment(record, place)
        else:
            self._spoken_before(record)
            is_turn = record.type == "system" and record.subtype not in SILENT and record.content != _NO_CONTENT
            entry = self._append(record, [place] if is_turn else [])
            if record.compact_metadata.messages_summarized:  # it names the messages before those that it replaces
                entry.parent = before

    def _add_answer(self, record: _Record, place: LinePlace) -> None:
        self._spoken.clear()
        answer = self._answers.get(record.message.id)
        if answer is None:
            answer = self._append(record, [place])
            if record.message.id:
                self._answers[record.message.id] = answer
        else:  # an answer is split into one record per block
            answer.places.append(place)
        self._latest_answer = (record.uuid, answer)

    def _add_user(self, record: _Record, place: LinePlace) -> None:
        if record.uuid in self._delivered:
            self._append(record, [])
            return
        content = bytes(record.message.content)
        before = self._spoken_before(record)
        if record.is_meta and before and before[1] and b"<local-command-caveat>" not in content:
            before[0].places.append(place)  # the body of a command
            return
        if _INTERRUPTED in content:
            self._mark_interrupted(record)
        entry = self._append(record, [place], is_attached=record.is_meta)
        if b'"tool_result"' in content:
            return
        self._answers.clear()
        if not record.is_meta and not record.is_compact_summary and b"<command-name>/compact<" not in content:
            self._spoken[record.uuid] = (entry, b"<command-name>" in content)

    def _add_attachment(self, record: _Record, place: LinePlace) -> None:
        kind = record.attachment.type
        before = self._spoken_before(record)
        if kind == QUEUED and record.attachment.source_uuid not in self._seen:
            self._delivered.add(record.attachment.source_uuid)
            self._spoken[record.uuid] = (self._append(record, [place], is_attached=True), False)
        elif kind in OF_USER and before:
            before[0].places.append(place)
        else:
            is_turn = kind not in SURROUNDINGS and kind not in OF_USER and kind != QUEUED
            self._append(record, [place] if is_turn else [], is_attached=True)

    def _append(self, record: _Record, places: list[LinePlace], *, is_attached: bool = False) -> MessageEntry:
        parent = record.parent_uuid or record.logical_parent_uuid or ""
        entry = MessageEntry(record.uuid, parent, record.is_sidechain, places, is_attached)
        self.found.entries.append(entry)
        return entry

    def _spoken_before(self, record: _Record) -> tuple[MessageEntry, bool] | None:
        """The message of the user that this record follows, with nothing but attachments between them."""
        before = self._spoken.get(record.parent_uuid or "")
        if before and (record.type != "user" or record.is_meta):
            self._spoken[record.uuid] = before
        return before

    def _mark_interrupted(self, record: _Record) -> None:
        last, answer = self._latest_answer
        answer = self._answers.get(record.interrupted_message_id, answer)
        if record.interrupted_message_id in self._answers or record.parent_uuid == last:
            answer.is_cut = True

    def _report_unknown(self, what: str, place: LinePlace) -> None:
        if what not in self._unknown:
            self._unknown.add(what)
            self._builder.damage(f"{what} are not known here, and left out", at=place)


def _decode_leniently(data: bytes) -> _Record:
    """Decode a record whose values have unexpected types. BadRecordError with the reason."""
    plain = parse_record(data)
    if not isinstance(plain, dict):
        raise BadRecordError("it is JSON, but not an object")
    message, attachment = child(plain, "message"), child(plain, "attachment")
    return _Record(
        type=_text(plain, "type"),
        subtype=_text(plain, "subtype"),
        uuid=as_text(plain.get("uuid")),
        parent_uuid=as_text(plain.get("parentUuid")),
        logical_parent_uuid=as_text(plain.get("logicalParentUuid")),
        is_sidechain=plain.get("isSidechain") is True,
        is_meta=plain.get("isMeta") is True,
        is_compact_summary=plain.get("isCompactSummary") is True,
        message=_Message(id=as_text(message.get("id")), content=_raw(message.get("content"))),
        attachment=_Attachment(_text(attachment, "type"), _text(attachment, "source_uuid")),
        content=_raw(plain.get("content")),
        interrupted_message_id=_text(plain, "interruptedMessageId"),
        explicit=plain.get("explicit") is True,
        leaf_uuid=_text(plain, "leafUuid"),
        cwd=_text(plain, "cwd"),
        git_branch=_text(plain, "gitBranch"),
        summary=_text(plain, "summary"),
        ai_title=_text(plain, "aiTitle"),
        custom_title=_text(plain, "customTitle"),
    )


def _raw(value: object) -> Raw:
    return Raw(as_text(value).encode("utf-8", "replace")) if value is not None else _NO_CONTENT


def _text(plain: JsonObject, name: str) -> str:
    value = plain.get(name)
    return value if isinstance(value, str) else ""

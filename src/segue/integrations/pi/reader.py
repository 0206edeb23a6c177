"""Turns from a session of pi: a tree, in which every entry names the one before it.

An entry that is not a turn belongs to the turn before it. A compaction erases nothing, and neither does an edit of the
context: both only decide what the model gets afterwards.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from segue.integrations.format.parts import (
    call_part,
    file_part,
    image_part,
    notice_part,
    reasoning_part,
    result_part,
    summary_part,
    usage_of,
)
from segue.integrations.format.transcript import MARK, TranscriptTurn
from segue.integrations.format.values import as_count, as_text, child, objects, texts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.integrations.format.lines import LinePlace, Lines
    from segue.integrations.format.transcript import TranscriptBuilder
    from segue.model import JsonObject, Turn

_IGNORED = {"session", "session_info", "model_change", "thinking_level_change", "label", "usage", "custom"}
"""Entries without anything that was said: settings, names, bookmarks, accounts, and data of extensions."""
_IGNORED_ROLES = {"system"}
"""The prompt of pi itself, and its tools."""
_CUT_OFF = {"aborted", "error", "length"}
"""Why an answer stopped before its end."""
_SKILL = re.compile(r'<skill name="([^"\n]+)" location="[^"\n]*">\n(.*?)\n</skill>(?:\n\n(.+))?', re.DOTALL)
_FILES = re.compile(r'(<file name="/[^"\n]*">.*</file>)(?:\n|$)', re.DOTALL)
_NEXT_FILE = re.compile(r'</file>\n(?=<file name="/)')
_FILE = re.compile(r'<file name="([^"\n]*)">\n?(.*?)\n?(?:</file>)?', re.DOTALL)


def parse_turns(lines: Lines, builder: TranscriptBuilder) -> Iterator[TranscriptTurn]:
    """The turns in the order of the file; old files have no tree."""
    return _Reader(builder).parse(lines)


class _Reader:
    def __init__(self, builder: TranscriptBuilder) -> None:
        self._builder = builder
        self._turns: dict[str, str] = {}
        """The last turn up to each entry."""
        self._effort = ""
        self._unknown: set[str] = set()

    def parse(self, lines: Lines) -> Iterator[TranscriptTurn]:
        builder = self._builder
        for at, record in builder.records(lines):
            self._take_settings(record)
            if record.get("type") == "session":
                continue
            key, parent = as_text(record.get("id")), record.get("parentId", builder.tip)
            # An entry whose parent cannot be read follows the one before it in the file.
            after = self._turns.get(as_text(parent), builder.tip) if parent else ""
            for turn in self._turns_of(f"{builder.native_id}:{key or at.number}", record, at):
                copy_of = mark if isinstance(mark := record.get(MARK), str) else ""
                yield TranscriptTurn(turn, after, is_ours=MARK in record, copy_of=copy_of)
                after = turn.id
            builder.tip = self._turns[key] = after

    def _take_settings(self, record: JsonObject) -> None:
        match record.get("type"):
            case "session":
                self._builder.native_id = as_text(record.get("id")) or self._builder.native_id
                self._builder.cwd = as_text(record.get("cwd"))
            case "session_info":
                self._builder.title = as_text(record.get("name"))
            case "thinking_level_change":
                self._effort = as_text(record.get("thinkingLevel"))

    def _turns_of(self, key: str, record: JsonObject, at: LinePlace) -> Iterator[Turn]:
        kind = as_text(record.get("type"))
        if kind in _IGNORED:
            return
        parts: list[JsonObject] = [notice_part()]
        match kind:
            case "message":
                yield from self._messages_of(key, record, at)
                return
            case "compaction":
                text, parts = as_text(record.get("summary")), [summary_part()]
            case "branch_summary":
                text = as_text(record.get("summary"))
            case "custom_message":
                text, parts = texts(record.get("content")), [notice_part(), *_images(record.get("content"))]
            case "context_edit":  # the turn itself stays; this is what the model gets in place of it
                text = texts(child(record, "replacement").get("content"))
            case _:
                self._name_unknown(f"entries of type {kind[:40]!r}", at)
                return
        if text.strip() or len(parts) > 1:
            moment = self._builder.moment(record.get("timestamp"), at=at)
            usage = _usage(child(record, "usage"))
            yield self._builder.turn(key, "system", text, moment, records=[record], parts=parts, usage=usage)

    def _messages_of(self, key: str, record: JsonObject, at: LinePlace) -> Iterator[Turn]:
        builder, message = self._builder, child(record, "message")
        role = as_text(message.get("role"))
        if role in _IGNORED_ROLES:
            return
        content = message.get("content")
        moment = builder.moment(record.get("timestamp"), at=at)
        usage = _usage(child(message, "usage"))
        match role:
            case "user":
                text, files = _typed(texts(content))
                parts = [*files, *_images(content)]
                yield builder.turn(key, "user", text, moment, records=[record], parts=parts)
            case "toolResult":
                text, failed = texts(content), message.get("isError") is True
                part = result_part(message.get("toolCallId"), text, failed=failed, images=_images(content))
                yield builder.turn(key, "tool", text, moment, records=[record], parts=[part], usage=usage)
            case "bashExecution":
                command, output = as_text(message.get("command")), as_text(message.get("output"))
                typed = f"{'!!' if message.get('excludeFromContext') is True else '!'}{command}"
                call = call_part(key, "shell", {"command": command})
                yield builder.turn(key, "user", typed, moment, records=[record], parts=[call])
                failed = message.get("cancelled") is True or message.get("exitCode") not in (0, None)
                result = result_part(key, output, failed=failed)
                yield builder.turn(f"{key}:result", "tool", output, moment, records=[], parts=[result])
            case "assistant":
                yield builder.turn(
                    key,
                    "assistant",
                    texts(content),
                    moment,
                    records=[record],
                    parts=list(_parts(objects(content))),
                    tokens=usage.get("output_tokens"),
                    model=as_text(message.get("model")),
                    partial=as_text(message.get("stopReason")) in _CUT_OFF,
                    usage=usage,
                    effort=message.get("thinkingLevel") or self._effort,
                )
            case "custom" | "hookMessage":
                parts = [notice_part(), *_images(content)]
                yield builder.turn(key, "system", texts(content), moment, records=[record], parts=parts)
            case _:
                self._name_unknown(f"messages of role {role[:40]!r}", at)

    def _name_unknown(self, what: str, at: LinePlace) -> None:
        if what not in self._unknown:
            self._unknown.add(what)
            self._builder.damage(f"{what} are not known, and are not read", at=at)


def _typed(text: str) -> tuple[str, list[JsonObject]]:
    """What the user typed, with the body of a skill after it, and the files that were named on the command line."""
    if skill := _SKILL.fullmatch(text):
        name, body, words = skill.groups()
        return f"/skill:{name}{f' {words}' if words else ''}\n\n{body}", []
    if not (
        found := _FILES.match(text)
    ):  # up to the last end: a file may contain such a line, and it is not the user's
        return text, []
    files = [_FILE.fullmatch(piece) for piece in _NEXT_FILE.split(found[1])]
    # An image is a part of its own; its block is empty.
    return text[found.end() :], [file_part(file[1], file[2]) for file in files if file and file[2]]


def _images(content: object) -> list[JsonObject]:
    return [
        image_part(block.get("mimeType"), block.get("data"))
        for block in objects(content)
        if block.get("type") == "image"
    ]


def _usage(usage: JsonObject) -> JsonObject:
    """In a record of pi, the input does not include what was read from a cache or written to it."""
    sizes = [as_count(usage.get(name)) or 0 for name in ("input", "cacheRead", "cacheWrite", "output")]
    if not any(sizes):
        return {}  # it is not known, as in an answer that was aborted
    return usage_of(
        input=sum(sizes[:3]),
        cached=usage.get("cacheRead"),
        cache_written=usage.get("cacheWrite"),
        output=usage.get("output"),
        reasoning=usage.get("reasoning"),
        cost_usd=child(usage, "cost").get("total"),
    )


def _parts(blocks: list[JsonObject]) -> Iterator[JsonObject]:
    for block in blocks:
        match block.get("type"):
            case "toolCall":
                yield call_part(block.get("id"), block.get("name"), block.get("arguments"))
            case "thinking" if block.get("thinking"):
                yield reasoning_part(block["thinking"])

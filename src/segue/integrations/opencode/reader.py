"""Turns from messages of opencode: from its database, or in the form of `opencode export`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from segue.formats.records import BadRecordError, parse_json
from segue.integrations.format.copies import CopyOrder
from segue.integrations.format.parts import (
    call_part,
    file_part,
    notice_part,
    reasoning_part,
    result_part,
    summary_part,
    usage_of,
)
from segue.integrations.format.transcript import MARK, TranscriptBuilder, TranscriptTurn
from segue.integrations.format.values import as_count, as_text, child, objects
from segue.integrations.opencode.attachments import SHELL_MARKER, image_of, parse_user_parts, part_record
from segue.integrations.opencode.ids import is_ours, message_place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from segue.integrations.format.transcript import Transcript
    from segue.model import JsonObject, Turn

_PLACEHOLDER = re.compile(r"(?:New|Child) session - \d{4}-\d\d-\d\dT[\d:.]+Z")
"""The title of a session as long as it has none."""
_WITHOUT_WORDS = frozenset({"step-start", "step-finish", "patch", "snapshot", "retry", "agent", "compaction"})
"""Parts that say nothing: what a step cost and changed, an agent that the text names, the request of a summary."""
_READ = frozenset({"text", "reasoning", "tool", "file", "subtask"})


class Message(NamedTuple):
    info: JsonObject
    parts: list[JsonObject]
    is_undone: bool = False
    """Whether the user took it back, with all that follows."""

    @property
    def id(self) -> str:
        return as_text(self.info.get("id"))


def read(data: bytes, *, place: str, tool: str = "opencode") -> Transcript:
    """The session in a document of `opencode export`."""
    builder = TranscriptBuilder(tool, place)
    try:
        document = parse_json(data)
    except BadRecordError as error:
        builder.damage(str(error))
        document = {}
    whole: JsonObject = document if isinstance(document, dict) else {}
    info = child(whole, "info")
    builder.native_id, builder.title = as_text(info.get("id")), title_of(info.get("title"))
    builder.cwd = as_text(info.get("directory"))
    found = [Message(child(one, "info"), objects(one.get("parts"))) for one in objects(whole.get("messages"))]
    return builder.transcript(MessageReader(builder, child(info, "metadata")).turns(found))


def title_of(value: object) -> str:
    title = as_text(value)
    return "" if _PLACEHOLDER.fullmatch(title) else title


def without_undone(info: JsonObject, parts: list[JsonObject], from_part: str) -> Iterator[Message]:
    """A message of which the user took back the end, as two."""
    place = next((number for number, part in enumerate(parts) if part.get("id") == from_part), len(parts))
    yield Message(info, parts[:place])
    yield Message({**info, "id": f"{as_text(info.get('id'))}:undone"}, parts[place:], is_undone=True)


class MessageReader:
    """The turns of a session, one message after another."""

    def __init__(self, builder: TranscriptBuilder, metadata: JsonObject | None = None) -> None:
        """`metadata` is that of the session."""
        self.subagents: dict[str, str] = {}
        """By the id of the session of a subagent: the turn that called it."""
        self._builder = builder
        self._after = ""
        self._side = ""
        self._unknown: set[str] = set()
        self._copies = CopyOrder((metadata or {}).get(MARK))
        self._place = 0
        """Of the last message that Segue wrote, counted from the end of those; 0 if there is none."""

    def of_subagent(self, builder: TranscriptBuilder, id: str) -> MessageReader:
        """A reader for the session of a subagent: a branch of its own, after the turn that called it."""
        found = MessageReader(builder)
        found._after, found._side = self.subagents.get(id, ""), f"agent-{id.removeprefix('ses_')}"
        found._unknown = self._unknown
        return found

    def turns(self, messages: Iterable[Message]) -> Iterator[TranscriptTurn]:
        """The turns of messages, oldest first."""
        asked: Message | None = None  # it announces a command that the user ran, which is in the next message
        for message in messages:
            self._report_unknown(message)
            if asked is not None and message.info.get("parentID") == asked.id:
                yield from self._follow(message, self._command(asked, message))
                asked = None
                continue
            asked = message if _is_command(message) else None
            yield from self._follow(message, self._turns_of(message))

    def _follow(self, message: Message, turns: Iterator[Turn]) -> Iterator[TranscriptTurn]:
        """Each turn after the one before it; the session continues from the last one that is not undone."""
        copy_of = self._copied(message.id) if is_ours(message.id) else ""
        for turn in turns:
            yield TranscriptTurn(
                turn,
                self._after,
                self._side,
                is_ours=is_ours(message.id),
                is_undone=message.is_undone and self._after == self._builder.tip,
                copy_of=copy_of,
                instead_of="" if is_ours(message.id) else self._find_removed(),
            )
            self._after, self._side = turn.id, ""
            if not message.is_undone:
                self._builder.tip = turn.id

    def _copied(self, message_id: str) -> str:
        """The id of the turn that Segue wrote as this message; empty if it is not known."""
        place, turns = message_place(self._builder.native_id, message_id), self._copies.turns
        found = turns[place] if -len(turns) <= place < 0 else ""
        self._copies.pass_copy(found)
        self._place = place
        return found

    def _find_removed(self) -> str:
        """The first turn that Segue wrote, and that was removed before the next message; empty if none was."""
        if not self._copies.turns and self._place < -1:
            self._builder.damage(f"{-1 - self._place:,} messages of Segue were removed; what followed is at the end")
        self._place = 0
        return self._copies.find_removed()

    def _turns_of(self, message: Message) -> Iterator[Turn]:
        match message.info.get("role"):
            case "user":
                return self._said(message)
            case "assistant" if message.info.get("summary") is True:
                return self._summary(message)
            case _:
                return self._answer(message)

    def _said(self, message: Message) -> Iterator[Turn]:
        at = self._moment(message)
        found = parse_user_parts(message.parts)
        if found.text or found.attached:
            records = [_record(message)]
            yield self._builder.turn(message.id, "user", found.text, at, records=records, parts=found.attached)
        if found.notice:
            key = f"{message.id}:notice"
            yield self._builder.turn(key, "system", found.notice, at, records=[], parts=[notice_part()])

    def _command(self, asked: Message, ran: Message) -> Iterator[Turn]:
        """A command that the user ran, and its output."""
        for call in _calls(ran):
            arguments = child(call, "state", "input")
            part = call_part(call.get("callID"), "shell", arguments)
            content = f"!{as_text(arguments.get('command'))}"
            at = self._moment(asked)
            yield self._builder.turn(asked.id, "user", content, at, records=[_record(asked)], parts=[part])
            yield from self._result(ran, call)

    def _summary(self, message: Message) -> Iterator[Turn]:
        text = _text(message.parts)
        if text:
            yield self._model_turn(message, "system", text, [summary_part()])

    def _answer(self, message: Message) -> Iterator[Turn]:
        text, calls = _text(message.parts), _calls(message)
        thoughts = [part for part in message.parts if part.get("type") == "reasoning" and part.get("text")]
        if not text and not calls and not thoughts:
            return  # it has not started, or failed before there was any text
        parts = [reasoning_part(part.get("text")) for part in thoughts]
        parts += [call_part(call.get("callID"), call.get("tool"), child(call, "state").get("input")) for call in calls]
        yield self._model_turn(message, "assistant", text, parts)
        for call in calls:
            if subagent := as_text(child(call, "state", "metadata").get("sessionId")):
                self.subagents[subagent] = self._builder.id_of(message.id)
            yield from self._result(message, call)

    def _model_turn(self, message: Message, role: str, text: str, parts: Sequence[JsonObject]) -> Turn:
        info = message.info
        time = info.get("time")
        tokens, cache = child(info, "tokens"), child(info, "tokens", "cache")
        counts = [as_count(count) for count in (tokens.get("input"), cache.get("read"), cache.get("write"))]
        return self._builder.turn(
            message.id,
            role,
            text,
            self._moment(message),
            records=[_record(message)],
            parts=parts,
            tokens=tokens.get("output") if any(counts) else None,
            model=as_text(info.get("modelID")),
            partial=bool(child(info, "error")) or (isinstance(time, dict) and not time.get("completed")),
            usage=usage_of(
                input=sum(count or 0 for count in counts) if any(counts) else None,
                cached=cache.get("read"),
                cache_written=cache.get("write"),
                output=tokens.get("output"),
                reasoning=tokens.get("reasoning"),
                cost_usd=info.get("cost"),
            )
            if any(counts)
            else None,
            effort=info.get("variant"),
        )

    def _result(self, message: Message, call: JsonObject) -> Iterator[Turn]:
        """The result of a call; nothing if it was interrupted, or has not ended."""
        state = child(call, "state")
        failed = state.get("status") == "error"
        if not failed and state.get("status") != "completed":
            return
        shown = child(state, "metadata").get("output") if child(state, "metadata").get("interrupted") is True else None
        content = as_text(shown or state.get("error")) if failed else as_text(state.get("output"))
        attached = objects(state.get("attachments"))
        images = [image for part in attached if (image := image_of(part))]
        files = [file_part(part.get("filename") or part.get("mime")) for part in attached if not image_of(part)]
        part = result_part(call.get("callID"), content, failed=failed, images=images)
        moment = self._builder.moment(_seconds(child(state, "time").get("end")))
        name = f"{message.id}:{as_text(call.get('callID'))}"
        yield self._builder.turn(name, "tool", content, moment, records=[part_record(call)], parts=[part, *files])

    def _moment(self, message: Message) -> datetime:
        return self._builder.moment(_seconds(child(message.info, "time").get("created")))

    def _report_unknown(self, message: Message) -> None:
        kinds = {as_text(part.get("type")) for part in message.parts} - _WITHOUT_WORDS - _READ - self._unknown
        for kind in sorted(kinds):
            self._unknown.add(kind)
            self._builder.damage(f"parts of the unknown type {kind!r:.40} are not read")


def _is_command(message: Message) -> bool:
    return message.info.get("role") == "user" and [part.get("text") for part in message.parts] == [SHELL_MARKER]


def _calls(message: Message) -> list[JsonObject]:
    return [part for part in message.parts if part.get("type") == "tool"]


def _text(parts: Iterable[JsonObject]) -> str:
    """What the model said; a plugin adds what only the user is to see, and marks it as ignored."""
    said = [part for part in parts if part.get("type") == "text" and part.get("ignored") is not True]
    return "\n\n".join(text for part in said if (text := as_text(part.get("text"))))


def _record(message: Message) -> JsonObject:
    """The message as opencode stores it, without what it computes later, and without what is in parts of the turn."""
    info = {name: value for name, value in message.info.items() if name != "summary" or not isinstance(value, dict)}
    parts = [part for part in message.parts if part.get("type") != "tool"]
    return {"info": info, "parts": [part_record(part) for part in parts]}


def _seconds(milliseconds: object) -> object:
    """Seconds; a value that is not a number, or out of range, is returned for the parser of times to refuse."""
    is_number = isinstance(milliseconds, int | float) and abs(milliseconds) < 2**63
    return milliseconds / 1000 if is_number else milliseconds  # type: ignore[operator]  # checked above

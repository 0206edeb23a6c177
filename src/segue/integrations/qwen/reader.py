"""Turns from a session of Qwen Code: a tree of records, in which a rewind is a record that follows an older one."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from segue.integrations.format.google import (
    ACKNOWLEDGEMENT,
    calls_of,
    media_of,
    pieces_of,
    reasoning_of,
    responses_of,
    result_of,
    split_files,
    spoken,
)
from segue.integrations.format.lines import lines_of
from segue.integrations.format.parts import notice_part, summary_part, usage_of
from segue.integrations.format.transcript import MARK, TranscriptBuilder, TranscriptTurn
from segue.integrations.format.values import as_text, child, objects

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.integrations.format.lines import LinePlace, Lines
    from segue.integrations.format.transcript import Transcript
    from segue.model import JsonObject, Turn

_OF_PERSONS = {"", "mid_turn_user_message", "realtime_message"}
"""The kinds of records of a user that a person wrote; all others are notices."""
_REMINDER = "<system-reminder>"
_WITHOUT_WORDS = {
    "ui_telemetry",
    "attribution_snapshot",
    "file_history_snapshot",
    "branch_checkpoint",
    "session_model",
    "session_source",
    "session_sources_snapshot",
    "session_artifact_event",
    "session_artifact_snapshot",
    "parent_session",
    "rewind",  # the record after it names what it follows
    "at_command",  # the next record has the files
    "user_text_elements",
    "turn_result",
    "goal_state",
    "goal_turn_end",
    "background_task_completed",  # the model gets a notification
    "agent_color",
}
"""Records of the tool that repeat others, or describe them."""


def read(data: bytes, *, native_id: str, place: str) -> Transcript:
    builder = TranscriptBuilder("qwen", place, native_id)
    return builder.transcript(parse_turns(lines_of(data), builder))


def parse_turns(lines: Lines, builder: TranscriptBuilder, *, side: str = "") -> Iterator[TranscriptTurn]:
    """The turns in the order of the file. `side` is the name of a branch for the session of a subagent."""
    parser = _Parser(builder, is_side=bool(side))
    ends: dict[str, str] = {}  # by record: the last turn up to it
    last = ""
    for place, record in builder.records(lines):
        builder.cwd = builder.cwd or as_text(record.get("cwd"))
        builder.git_branch = as_text(record.get("gitBranch")) or builder.git_branch
        parent = as_text(record.get("parentUuid"))
        end = ends.get(parent, last) if parent else ""  # without a known record before it, it follows the last turn
        mark = record.get(MARK)
        copy_of = mark if isinstance(mark, str) else ""
        for turn in parser.turns(record, place):
            yield TranscriptTurn(turn, end, "" if end else side, is_ours=mark is not None, copy_of=copy_of)
            end = last = turn.id
        ends[as_text(record.get("uuid"))] = builder.tip = end


class _Parser:
    def __init__(self, builder: TranscriptBuilder, *, is_side: bool) -> None:
        self._builder = builder
        self._is_side = is_side
        self._is_first = True
        self._command = ""  # what the user typed for the next record
        self._is_answered = False  # whether the model has answered what came last
        self._unknown: set[str] = set()

    def turns(self, record: JsonObject, at: LinePlace) -> Iterator[Turn]:
        key = as_text(record.get("uuid")) or f"{self._builder.native_id}:{at.number}"
        match record.get("type"):
            case "user":
                yield from self._parse_user(key, record, at)
            case "assistant":
                yield from self._parse_answer(key, record, at)
            case "tool_result":
                yield from self._parse_results(key, record, at)
            case "system":
                yield from self._parse_system(key, record, at)
            case kind:
                self._report_unknown(f"records of type {kind!r:.40}", at)

    def _parse_user(self, key: str, record: JsonObject, at: LinePlace) -> Iterator[Turn]:
        command, self._command, self._is_answered = self._command, "", False
        pieces = pieces_of(child(record, "message").get("parts"))
        kind, is_first, self._is_first = as_text(record.get("subtype")), self._is_first, False
        if record.get("provenance", "real_user") != "real_user" or kind not in _OF_PERSONS:
            yield self._notice(key, record, at, spoken(pieces))
            return
        written, files = split_files(pieces)
        reminders = [piece for piece in written if as_text(piece.get("text")).startswith(_REMINDER)]
        for number, piece in enumerate(reminders):
            yield self._notice(f"{key}:reminder-{number}", piece, at, as_text(piece["text"]), record.get("timestamp"))
        text = spoken(piece for piece in written if piece not in reminders)
        text = text.removesuffix("\n\n")  # Qwen adds it to what it reads from its input
        if self._is_side and not is_first:
            yield self._notice(key, record, at, text)
            return
        if command:
            text = f"{command}\n\n{text}"
        elif shown := as_text(child(record, "systemPayload").get("displayText")):
            if not kind and (rest := text.removeprefix(shown).strip()) and not files:
                yield self._notice(f"{key}:context", record, at, rest)  # what a hook of the user added
            text = shown
        parts = [*files, *media_of(written)]
        if text.strip() or parts:
            moment = self._builder.moment(record.get("timestamp"), at=at)
            yield self._builder.turn(key, "user", text, moment, records=[record], parts=parts)

    def _parse_answer(self, key: str, record: JsonObject, at: LinePlace) -> Iterator[Turn]:
        pieces = pieces_of(child(record, "message").get("parts"))
        parts = [*reasoning_of(pieces), *calls_of(pieces), *media_of(pieces)]
        usage, text = child(record, "usageMetadata"), spoken(pieces)
        is_cut_off = not (usage or self._is_answered or self._is_side or calls_of(pieces) or MARK in record)
        if text or parts:
            yield self._builder.turn(
                key,
                "assistant",
                text,
                self._builder.moment(record.get("timestamp"), at=at),
                records=[record],
                parts=parts,
                tokens=usage.get("candidatesTokenCount"),
                model=as_text(record.get("model")),
                partial=is_cut_off,
                usage=usage_of(
                    input=usage.get("promptTokenCount"),
                    cached=usage.get("cachedContentTokenCount"),
                    output=usage.get("candidatesTokenCount"),
                    reasoning=usage.get("thoughtsTokenCount"),
                ),
            )

    def _parse_results(self, key: str, record: JsonObject, at: LinePlace) -> Iterator[Turn]:
        self._is_answered = False
        pieces = pieces_of(child(record, "message").get("parts"))
        failed = as_text(child(record, "toolCallResult").get("status")) in {"error", "cancelled"}
        moment = self._builder.moment(record.get("timestamp"), at=at)
        others = [piece for piece in pieces if "functionResponse" not in piece]
        for number, response in enumerate(responses_of(pieces)):
            answer: JsonObject = {"functionResponse": response}
            part = result_of(response.get("id"), [answer, *(others if not number else [])], failed=failed)
            name = f"{key}:{number}" if number else key
            yield self._builder.turn(name, "tool", as_text(part["content"]), moment, records=[record], parts=[part])

    def _parse_system(self, key: str, record: JsonObject, at: LinePlace) -> Iterator[Turn]:
        payload = child(record, "systemPayload")
        match as_text(record.get("subtype")):
            case "chat_compression":
                if summary := _summary(objects(payload.get("compressedHistory"))):
                    moment = self._builder.moment(record.get("timestamp"), at=at)
                    yield self._builder.turn(key, "system", summary, moment, records=[record], parts=[summary_part()])
            case "custom_title":
                self._builder.title = as_text(payload.get("customTitle")) or self._builder.title
            case "slash_command":
                if payload.get("phase") == "invocation" and payload.get("sentToModel") is True:
                    self._command = as_text(payload.get("rawCommand"))
            case "omni_recall":
                yield self._notice(key, record, at, as_text(payload.get("reminder") or payload))
            case "ui_telemetry":
                self._is_answered = True
            case kind if as_text(kind) not in _WITHOUT_WORDS:
                self._report_unknown(f"records of the tool with {kind!r:.40}", at)

    def _notice(self, key: str, record: JsonObject, at: LinePlace, text: str, moment: object = None) -> Turn:
        found = self._builder.moment(moment or record.get("timestamp"), at=at)
        return self._builder.turn(key, "system", text, found, records=[record], parts=[notice_part()])

    def _report_unknown(self, what: str, at: LinePlace) -> None:
        if what not in self._unknown:
            self._unknown.add(what)
            self._builder.damage(f"{what} are not known", at=at)


def _summary(history: list[JsonObject]) -> str:
    """The text before the answer that Qwen Code puts after a summary; empty if older results were only shortened."""
    for content, following in pairwise(history):
        if content.get("role") == "user" and ACKNOWLEDGEMENT in spoken(pieces_of(following.get("parts"))):
            return spoken(pieces_of(content.get("parts")))
    return ""

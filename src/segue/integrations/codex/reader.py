"""Turns from a rollout of Codex: from the items of the model (the rollout repeats them as events for the screen)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import TYPE_CHECKING

from segue.integrations.format.limits import TURN_BYTES
from segue.integrations.format.lines import Lines, lines_of
from segue.integrations.format.parts import call_part, reasoning_part, result_part
from segue.integrations.format.transcript import MARK, TranscriptBuilder, TranscriptTurn
from segue.integrations.format.values import as_text, child, objects, texts

if TYPE_CHECKING:
    from segue.integrations.format.lines import LinePlace
    from segue.integrations.format.transcript import Transcript
    from segue.model import JsonObject, Turn

FindRollout = Callable[[str], Lines | None]
"""Opens the rollout of another session by its id."""

_TEXTS = ("input_text", "output_text", "text")
_INJECTED = (
    "<environment_context>",
    "<permissions",
    "<skill",
    "<turn_aborted>",
    "<user_instructions>",
    "<user_shell_command>",
    "# AGENTS.md instructions",
)
_CALLS = {"function_call": "arguments", "custom_tool_call": "input", "local_shell_call": "action"}
_OUTPUTS = ("function_call_output", "custom_tool_call_output", "local_shell_call_output")
_MOST_FORKS = 100


def read(data: bytes, *, native_id: str, place: str) -> Transcript:
    builder = TranscriptBuilder("codex", place, native_id)
    return builder.transcript(parse_turns(lines_of(data), builder))


def parse_turns(
    lines: Lines, builder: TranscriptBuilder, find: FindRollout = lambda _: None
) -> Iterator[TranscriptTurn]:
    """The turns in order; a fork starts with the turns of the session that it shares its beginning with.

    Turns that the user rolled back are included, and the next turn follows the last one that was not rolled back.
    """
    path: list[str] = []  # the ids of the turns up to the tip
    user_turns: list[int] = []  # their positions in it
    for item in _parse_items(lines, builder.native_id, builder, _SharedRollouts(builder.native_id, find)):
        if isinstance(item, int):
            if removed := user_turns[-item:]:
                del path[removed[0] :], user_turns[-item:]
        else:
            turn, is_ours = item
            yield TranscriptTurn(turn, builder.tip, is_ours=is_ours)
            if turn.role == "user":
                user_turns.append(len(path))
            path.append(turn.id)
        builder.tip = path[-1] if path else ""


PlacedRecord = tuple["LinePlace", "JsonObject"]
MarkedTurn = tuple["Turn", bool]
"""A turn, and whether Segue wrote it."""
Rollback = int
"""How many turns of the user were rolled back, with everything after the first of them."""


class _SharedRollouts:
    """The other sessions that this one starts with: each is read once, and their number is limited."""

    def __init__(self, native_id: str, find: FindRollout) -> None:
        self._known = {native_id}
        self._find = find

    def open(self, name: str) -> Lines | None:
        if name in self._known or len(self._known) > _MOST_FORKS:
            return None
        self._known.add(name)
        return self._find(name)


def _parse_items(
    lines: Lines, native_id: str, builder: TranscriptBuilder, others: _SharedRollouts, *, end: JsonObject | None = None
) -> Iterator[MarkedTurn | Rollback]:
    model, answer = "", _Answer(native_id)
    records = builder.records(lines)
    for at, record in takewhile(lambda placed: not _is_after(placed, end or {}), records):
        payload = child(record, "payload")
        kind = payload.get("type")
        match record.get("type"):
            case "session_meta":
                builder.cwd = builder.cwd or as_text(payload.get("cwd"))
                if base := child(payload, "history_base"):
                    yield from _parse_shared(base, builder, others)
            case "turn_context":
                model = as_text(payload.get("model"))
            case "token_usage_record":
                yield from answer.count(child(payload, "usage"), builder)
            case "event_msg" if kind == "token_count":
                yield from answer.count(child(payload, "info", "last_token_usage"), builder)
            case "event_msg" if kind == "thread_rolled_back":
                yield from answer.close(builder)
                if isinstance(count := payload.get("num_turns"), int) and count > 0:
                    yield count
            case "response_item" if kind in _OUTPUTS or (kind == "message" and payload.get("role") != "assistant"):
                yield from answer.close(builder)
                if (turn := _parse_input(builder, at, record, native_id)) is not None:
                    yield turn, MARK in record
            case "response_item":
                yield from answer.add(at, record, model, builder)
    yield from answer.close(builder)


def _is_after(placed: PlacedRecord, end: JsonObject) -> bool:
    at, record = placed
    offset, ordinal, own = end.get("end_byte_offset"), end.get("end_ordinal_exclusive"), record.get("ordinal")
    if isinstance(offset, int):
        return at.offset >= offset
    return isinstance(ordinal, int) and isinstance(own, int) and own >= ordinal


def _parse_shared(
    base: JsonObject, builder: TranscriptBuilder, others: _SharedRollouts
) -> Iterator[MarkedTurn | Rollback]:
    name = as_text(base.get("thread_id"))
    lines = others.open(name)
    if lines is None:
        builder.damage(f"it starts with session {name:.80}, which is missing, or refers back to this one")
    else:
        yield from _parse_items(lines, name, builder, others, end=base)


class _Answer:
    """Consecutive items of the model as one turn: reasoning, text and calls are separate items."""

    def __init__(self, native_id: str) -> None:
        self._size_bytes = 0
        self._records: list[PlacedRecord] = []
        self._model = ""
        self._native_id = native_id

    def add(self, at: LinePlace, record: JsonObject, model: str, builder: TranscriptBuilder) -> Iterator[MarkedTurn]:
        """Add a record. If the records become too large for one turn, start another."""
        if self._size_bytes + at.size > TURN_BYTES:
            yield from self.close(builder)
        self._records.append((at, record))
        self._model = model
        self._size_bytes += at.size

    def count(self, usage: JsonObject, builder: TranscriptBuilder) -> Iterator[MarkedTurn]:
        """The token count follows the answer, and ends it. Older releases have it only in the second of two places."""
        tokens = usage.get("output_tokens")
        if isinstance(tokens, int):
            yield from self.close(builder, tokens)

    def close(self, builder: TranscriptBuilder, tokens: int | None = None) -> Iterator[MarkedTurn]:
        if not self._records:
            return
        answer: list[str] = []
        parts: list[JsonObject] = []
        for _, record in self._records:
            item = child(record, "payload")
            match item.get("type"):
                case "message":
                    answer.append(texts(item.get("content"), _TEXTS))
                case "reasoning":
                    thoughts = texts(item.get("summary"), ("summary_text",))
                    parts += [reasoning_part(thoughts)] if thoughts else []
                case str(kind) if kind in _CALLS:
                    given = _arguments(item.get(_CALLS[kind]))
                    parts.append(call_part(item.get("call_id"), item.get("name") or kind, given))
        at, first = self._records[0]
        turn = builder.turn(
            f"{self._native_id}:{at.number}",
            "assistant",
            "\n\n".join(text for text in answer if text),
            builder.moment(first.get("timestamp"), at=at),
            records=[record for _, record in self._records],
            parts=parts,
            tokens=tokens,
            model=self._model,
        )
        self._records, self._size_bytes = [], 0
        yield turn, MARK in first


def _parse_input(builder: TranscriptBuilder, at: LinePlace, record: JsonObject, native_id: str) -> Turn | None:
    """A turn of the user or of a tool; None for what Codex itself added."""
    item = child(record, "payload")
    key = f"{native_id}:{at.number}"
    if item.get("type") in _OUTPUTS:
        output = item.get("output")
        text = texts(output, _TEXTS) if isinstance(output, str | list) else as_text(output)
        part = result_part(item.get("call_id"), text)
        moment = builder.moment(record.get("timestamp"), at=at)
        return builder.turn(key, "tool", text, moment, records=[record], parts=[part])
    shown = [block for block in objects(item.get("content")) if not as_text(block.get("text")).startswith(_INJECTED)]
    if item.get("role") != "user" or not shown:
        return None
    images: list[JsonObject] = [{"type": "image"} for block in shown if block.get("type") == "input_image"]
    moment = builder.moment(record.get("timestamp"), at=at)
    return builder.turn(key, "user", texts(shown, _TEXTS), moment, records=[record], parts=images)


def _arguments(given: object) -> object:
    """The arguments as an object if they are one: Codex stores them as text."""
    if not isinstance(given, str):
        return given
    try:
        found: object = json.loads(given)
    except (ValueError, RecursionError):
        return given
    return found if isinstance(found, dict) else given

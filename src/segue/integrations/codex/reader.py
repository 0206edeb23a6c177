"""A rollout of Codex as turns, from what the model was told and said (the same is there again for the screen)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import TYPE_CHECKING

from segue.integrations.format.limits import TURN_BYTES
from segue.integrations.format.lines import Lines, lines_of
from segue.integrations.format.transcript import (
    TranscriptBuilder,
    TranscriptTurn,
    as_text,
    call_part,
    child,
    objects,
    reasoning_part,
    result_part,
    texts,
)

if TYPE_CHECKING:
    from segue.integrations.format.lines import LinePlace
    from segue.integrations.format.transcript import Transcript
    from segue.model import JsonObject, Turn

Find = Callable[[str], Lines | None]
"""The rollout of another session, by its id."""

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
    gathering = TranscriptBuilder("codex", place, native_id)
    return gathering.transcript(steps(lines_of(data), gathering))


def steps(lines: Lines, gathering: TranscriptBuilder, find: Find = lambda _: None) -> Iterator[TranscriptTurn]:
    """One behind the other; a fork that shares its beginning with another session begins with what that one has.

    What the user took back stays where it was said, and the next turn stands behind the last one that counts.
    """
    way: list[str] = []  # to the tip: the id of each turn
    begun: list[int] = []  # where in it the user spoke
    for said in _turns(lines, gathering.native_id, gathering, _Others(gathering.native_id, find)):
        if isinstance(said, int):
            if taken := begun[-said:]:
                del way[taken[0] :], begun[-said:]
        else:
            turn, is_ours = said
            yield TranscriptTurn(turn, gathering.tip, is_ours=is_ours)
            if turn.role == "user":
                begun.append(len(way))
            way.append(turn.id)
        gathering.tip = way[-1] if way else ""


Numbered = tuple["LinePlace", "JsonObject"]
Spoken = tuple["Turn", bool]
"""And whether it was written there from here."""
TakenBack = int
"""How many of the user's turns count no more, with all that was said behind the first of them."""


class _Others:
    """The other sessions that this one begins with: each is read once, and not more than so many."""

    def __init__(self, native_id: str, find: Find) -> None:
        self._known = {native_id}
        self._find = find

    def open(self, name: str) -> Lines | None:
        if name in self._known or len(self._known) > _MOST_FORKS:
            return None
        self._known.add(name)
        return self._find(name)


def _turns(
    lines: Lines, native_id: str, gathering: TranscriptBuilder, others: _Others, *, end: JsonObject | None = None
) -> Iterator[Spoken | TakenBack]:
    model, answer = "", _Answer(native_id)
    records = gathering.records(lines)
    for at, record in takewhile(lambda numbered: not _is_beyond(numbered, end or {}), records):
        payload = child(record, "payload")
        kind = payload.get("type")
        match record.get("type"):
            case "session_meta":
                gathering.marked(record)
                gathering.cwd = gathering.cwd or as_text(payload.get("cwd"))
                if base := child(payload, "history_base"):
                    yield from _shared(base, gathering, others)
            case "turn_context":
                model = as_text(payload.get("model"))
            case "token_usage_record":
                yield from answer.count(child(payload, "usage"), gathering)
            case "event_msg" if kind == "token_count":
                yield from answer.count(child(payload, "info", "last_token_usage"), gathering)
            case "event_msg" if kind == "thread_rolled_back":
                yield from answer.close(gathering)
                if isinstance(count := payload.get("num_turns"), int) and count > 0:
                    yield count
            case "response_item" if kind in _OUTPUTS or (kind == "message" and payload.get("role") != "assistant"):
                yield from answer.close(gathering)
                if (turn := _told(gathering, at, record, native_id)) is not None:
                    yield turn, gathering.marked(record)
            case "response_item":
                yield from answer.add(at, record, model, gathering)
    yield from answer.close(gathering)


def _is_beyond(numbered: Numbered, end: JsonObject) -> bool:
    at, record = numbered
    offset, ordinal, own = end.get("end_byte_offset"), end.get("end_ordinal_exclusive"), record.get("ordinal")
    if isinstance(offset, int):
        return at.offset >= offset
    return isinstance(ordinal, int) and isinstance(own, int) and own >= ordinal


def _shared(base: JsonObject, gathering: TranscriptBuilder, others: _Others) -> Iterator[Spoken | TakenBack]:
    name = as_text(base.get("thread_id"))
    lines = others.open(name)
    if lines is None:
        gathering.damage(f"its beginning is in session {name:.80}, which is not there, or refers back to this one")
    else:
        yield from _turns(lines, name, gathering, others, end=base)


class _Answer:
    """What the model says before anyone else does: reasoning, text and calls are items of their own."""

    def __init__(self, native_id: str) -> None:
        self._size_bytes = 0
        self._records: list[Numbered] = []
        self._model = ""
        self._native_id = native_id

    def add(self, at: LinePlace, record: JsonObject, model: str, gathering: TranscriptBuilder) -> Iterator[Spoken]:
        """One more record; where they would be too much for one turn, it begins another."""
        if self._size_bytes + at.size > TURN_BYTES:
            yield from self.close(gathering)
        self._records.append((at, record))
        self._model = model
        self._size_bytes += at.size

    def count(self, usage: JsonObject, gathering: TranscriptBuilder) -> Iterator[Spoken]:
        """The count comes behind the answer, and ends it; older releases give it in the second of two places only."""
        tokens = usage.get("output_tokens")
        if isinstance(tokens, int):
            yield from self.close(gathering, tokens)

    def close(self, gathering: TranscriptBuilder, tokens: int | None = None) -> Iterator[Spoken]:
        if not self._records:
            return
        said: list[str] = []
        parts: list[JsonObject] = []
        for _, record in self._records:
            item = child(record, "payload")
            match item.get("type"):
                case "message":
                    said.append(texts(item.get("content"), _TEXTS))
                case "reasoning":
                    thoughts = texts(item.get("summary"), ("summary_text",))
                    parts += [reasoning_part(thoughts)] if thoughts else []
                case str(kind) if kind in _CALLS:
                    given = _arguments(item.get(_CALLS[kind]))
                    parts.append(call_part(item.get("call_id"), item.get("name") or kind, given))
        at, first = self._records[0]
        turn = gathering.turn(
            f"{self._native_id}:{at.number}",
            "assistant",
            "\n\n".join(text for text in said if text),
            gathering.moment(first.get("timestamp"), at=at),
            records=[record for _, record in self._records],
            parts=parts,
            tokens=tokens,
            model=self._model,
        )
        self._records, self._size_bytes = [], 0
        yield turn, gathering.marked(first)


def _told(gathering: TranscriptBuilder, at: LinePlace, record: JsonObject, native_id: str) -> Turn | None:
    """What somebody else than the model said; None of what Codex said of itself."""
    item = child(record, "payload")
    key = f"{native_id}:{at.number}"
    if item.get("type") in _OUTPUTS:
        output = item.get("output")
        text = texts(output, _TEXTS) if isinstance(output, str | list) else as_text(output)
        part = result_part(item.get("call_id"), text)
        moment = gathering.moment(record.get("timestamp"), at=at)
        return gathering.turn(key, "tool", text, moment, records=[record], parts=[part])
    shown = [block for block in objects(item.get("content")) if not as_text(block.get("text")).startswith(_INJECTED)]
    if item.get("role") != "user" or not shown:
        return None
    images: list[JsonObject] = [{"type": "image"} for block in shown if block.get("type") == "input_image"]
    moment = gathering.moment(record.get("timestamp"), at=at)
    return gathering.turn(key, "user", texts(shown, _TEXTS), moment, records=[record], parts=images)


def _arguments(given: object) -> object:
    """As an object where they are one: Codex keeps them as a text."""
    if not isinstance(given, str):
        return given
    try:
        found: object = json.loads(given)
    except (ValueError, RecursionError):
        return given
    return found if isinstance(found, dict) else given

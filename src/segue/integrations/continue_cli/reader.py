"""Turns from a session of Continue: messages in the form of OpenAI's chat API, with the state of each call.

They have no ids and no times. The last turn gets the time at which the file was changed, the others the one at which
the session was started.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.integrations.format.openai_messages import Content, parse_calls
from segue.integrations.format.parts import file_part, reasoning_part, result_part, summary_part, usage_of
from segue.integrations.format.transcript import TranscriptTurn
from segue.integrations.format.unknown_kinds import UnknownKinds
from segue.integrations.format.values import as_amount, as_text, child, objects

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from segue.integrations.format.transcript import TranscriptBuilder
    from segue.model import JsonObject, Turn

_UNTITLED = {"Untitled Session", "New Session", "Chat"}
_FAILED = {"errored", "canceled"}


def parse_turns(
    document: JsonObject,
    items: Sequence[JsonObject],
    builder: TranscriptBuilder,
    *,
    started: datetime,
    ended: datetime,
) -> Iterator[TranscriptTurn]:
    """The turns in the order of the document."""
    builder.cwd = as_text(document.get("workspaceDirectory")).removeprefix("file://")
    title = as_text(document.get("title"))
    builder.title = "" if title in _UNTITLED else title
    reader = _Reader(builder)
    for number, item in enumerate(items):
        moment = ended if number == len(items) - 1 else started
        for turn in reader.turns(f"{builder.native_id}:{number}", item, moment):
            yield TranscriptTurn(turn, builder.tip)
            builder.tip = turn.id


class _Reader:
    def __init__(self, builder: TranscriptBuilder) -> None:
        self._builder = builder
        self._unknown = UnknownKinds(builder)
        self._answered: set[str] = set()
        """The calls whose results were read, since some releases store a result twice."""

    def turns(self, key: str, item: JsonObject, moment: datetime) -> Iterator[Turn]:
        message = child(item, "message")
        content = Content(message.get("content"), self._unknown)
        make = self._builder.turn
        match message.get("role"):
            case "user":
                parts = [*content.images, *(_file(about) for about in objects(item.get("contextItems")))]
                if content.text or parts:
                    yield make(key, "user", content.text, moment, records=[item], parts=parts)
            case "assistant":
                yield from self._answer(key, item, content, moment)
            case "thinking":
                parts = [reasoning_part(text) for text in [content.text, *content.thoughts] if text]
                if parts:
                    yield make(key, "assistant", "", moment, records=[item], parts=parts)
            case "tool":
                call = as_text(message.get("toolCallId"))
                if call not in self._answered:
                    self._answered.add(call)
                    parts = [result_part(call, content.text)]
                    yield make(key, "tool", content.text, moment, records=[item], parts=parts)
            case "system":
                pass  # the prompt of Continue itself
            case role:
                self._unknown.report("message", role or item.get("type"))
        if summary := as_text(item.get("conversationSummary")):
            yield make(f"{key}:summary", "system", summary, moment, records=[item], parts=[summary_part()])

    def _answer(self, key: str, item: JsonObject, content: Content, moment: datetime) -> Iterator[Turn]:
        message = child(item, "message")
        states = objects(item.get("toolCallStates"))
        calls = parse_calls(message.get("toolCalls") or [child(state, "toolCall") for state in states])
        thoughts = [as_text(child(item, "reasoning").get("text")), *content.thoughts]
        usage = child(message, "usage")
        parts = [*(reasoning_part(text) for text in thoughts if text), *calls]
        if content.text or parts:
            yield self._builder.turn(
                key,
                "assistant",
                content.text,
                moment,
                records=[item],
                parts=parts,
                tokens=usage.get("completion_tokens"),
                model=as_text(usage.get("model")),
                usage=_usage(usage),
            )
        results = [part for state in states if (part := self._result(state))]
        if results:
            text = "\n\n".join(as_text(part["content"]) for part in results)
            yield self._builder.turn(f"{key}:results", "tool", text, moment, records=[], parts=results)

    def _result(self, state: JsonObject) -> JsonObject | None:
        """The result of a call; None if it has none so far, or if it was read before."""
        call = as_text(state.get("toolCallId"))
        output = objects(state.get("output"))
        if call in self._answered or (not output and as_text(state.get("status")) not in _FAILED):
            return None
        self._answered.add(call)
        text = "\n\n".join(as_text(piece.get("content")) for piece in output)
        return result_part(call, text, failed=as_text(state.get("status")) in _FAILED)


def _file(item: JsonObject) -> JsonObject:
    path = child(item, "uri").get("value") or item.get("description") or item.get("name")
    return file_part(as_text(path).removeprefix("file://"), item.get("content"))


def _usage(usage: JsonObject) -> JsonObject:
    details = child(usage, "prompt_tokens_details")
    cents = as_amount(usage.get("cost_cents"))
    return usage_of(
        input=usage.get("prompt_tokens"),
        cached=details.get("cached_tokens"),
        cache_written=details.get("cache_write_tokens"),
        output=usage.get("completion_tokens"),
        reasoning=child(usage, "completion_tokens_details").get("reasoning_tokens"),
        cost_usd=None if cents is None else cents / 100,
    )

"""Turns of a task of Cline or Roo Code in an editor: messages in the form of Anthropic's API.

A message in the name of the user contains results, what the extension says itself, and the words of the user, which
are in tags. Whatever is not in one of these tags was not said by the user.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from segue.integrations.format.anthropic_messages import MessageTurn, SortedText, turns_of
from segue.integrations.format.parts import file_part, notice_part, reasoning_part, summary_part, usage_of
from segue.integrations.format.tags import elements, first_content, without
from segue.integrations.format.transcript import TranscriptTurn
from segue.integrations.format.unknown_kinds import UnknownKinds
from segue.integrations.format.values import as_seconds, as_text, child, objects, texts
from segue.model import EPOCH

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from segue.integrations.format.transcript import TranscriptBuilder
    from segue.model import JsonObject, Turn

_WORDS = ("task", "feedback", "user_message", "answer", "new_task", "user_input")
"""The tags around what the user typed."""
_HEADER = re.compile(r"\[(\w{1,60})(?: for '[^\n]*')?\] Result:")
"""How a result starts that has no block of its own: the model called the tool within its text."""
_DETAILS = "<environment_details>"
_QUESTIONS = {"ask_followup_question", "attempt_completion", "plan_mode_respond"}
"""Tools whose results contain nothing but what the user replied."""


def parse_task_turns(
    history: Sequence[JsonObject], shown: Sequence[JsonObject], builder: TranscriptBuilder
) -> Iterator[TranscriptTurn]:
    """The turns in the order of the file. Older messages have no time; then it is that of what was shown for them."""
    reader = _Reader(builder, shown)
    for number, message in enumerate(history):
        for turn in reader.turns(number, message):
            yield TranscriptTurn(turn, builder.tip)
            builder.tip = turn.id


class _Reader:
    def __init__(self, builder: TranscriptBuilder, shown: Sequence[JsonObject]) -> None:
        self._builder = builder
        self._unknown = UnknownKinds(builder)
        self._keys: set[str] = set()
        self._calls: dict[str, str] = {}
        self._times: dict[object, object] = {}
        for item in shown:
            self._times.setdefault(as_text(item.get("conversationHistoryIndex")), item.get("ts"))
        self._latest: object = shown[0].get("ts") if shown else None

    def turns(self, number: int, message: JsonObject) -> Iterator[Turn]:
        self._latest = message.get("ts") or self._times.get(str(number - 1)) or self._latest
        moment = self._builder.moment(as_seconds(self._latest)) if self._latest else EPOCH
        key = self._key(number, message)
        metrics = child(message, "metrics")
        model = child(message, "modelInfo")
        for role, content, parts in self._parse(message):
            is_answer = role == "assistant"
            yield self._builder.turn(
                key,
                role,
                content,
                moment,
                records=[message],
                parts=parts,
                tokens=child(metrics, "tokens").get("completion") if is_answer else None,
                model=as_text(model.get("modelId") or model.get("id")) if is_answer else "",
                usage=_usage(metrics) if is_answer else None,
            )
            key = f"{key}:{role}"

    def _key(self, number: int, message: JsonObject) -> str:
        """The time of a message, which stays when messages before it are removed; its number if it has none."""
        found = f"{as_text(message.get('ts'))}-{as_text(message.get('role'))}" if message.get("ts") else ""
        if not found or found in self._keys:
            found = f"{found}#{number}"
        self._keys.add(found)
        return f"{self._builder.native_id}:{found}"

    def _parse(self, message: JsonObject) -> list[MessageTurn]:
        if message.get("isSummary") is True:
            return [MessageTurn("system", texts(message.get("content")), [summary_part()])]
        if message.get("isTruncationMarker") is True:
            return [MessageTurn("system", texts(message.get("content")), [notice_part()])]
        if message.get("type") == "reasoning":
            thoughts = [as_text(item.get("text")) for item in objects(message.get("summary"))]
            text = "\n\n".join(filter(None, [*thoughts, as_text(message.get("text"))]))
            return [MessageTurn("assistant", "", [reasoning_part(text)])] if text else []
        if isinstance(message.get("content"), str) and message.get("role") == "user":
            message = {**message, "content": [{"type": "text", "text": message["content"]}]}
        return self._with_replies(turns_of(message, self._unknown, _TextSorter()))

    def _with_replies(self, turns: list[MessageTurn]) -> list[MessageTurn]:
        """The turns, and what the user replied to a question of the model, which is the result of a call."""
        replies = []
        for turn in turns:
            for part in turn.parts:
                name = as_text(part.get("id"))
                if part.get("type") == "tool_call":
                    self._calls[name] = as_text(part.get("name"))
                elif part.get("type") == "tool_result" and self._calls.get(name) in _QUESTIONS:
                    replies.append(first_content(as_text(part.get("content")), *_WORDS))
        reply = "\n\n".join(filter(None, replies))
        return [*turns, MessageTurn("user", reply, [])] if reply else turns


class _TextSorter:
    """Sorts the texts of one message: if it starts with the header of a result, all of them belong to the result.

    A tag in a result proves nothing, since it may be in a file that the model has read.
    """

    def __init__(self) -> None:
        self._tool: str | None = None

    def __call__(self, text: str) -> SortedText:
        is_first = self._tool is None
        header = _HEADER.match(text) if is_first else None
        if is_first:
            self._tool = header[1] if header else ""
        if self._tool and not text.startswith(_DETAILS):
            text = text[header.end() :].strip() if header else text
            words = first_content(text, *_WORDS) if self._tool in _QUESTIONS else ""
            return SortedText(words=words, result=text if text and not words else None)
        text = without(text, "environment_details")
        words = first_content(text, *_WORDS)
        return SortedText(words=words, notice="" if words else text, files=_files(text) if words else ())


def _files(text: str) -> tuple[JsonObject, ...]:
    return tuple(
        file_part(element.attribute("path"), element.inside.strip("\n")) for element in elements(text, "file_content")
    )


def _usage(metrics: JsonObject) -> JsonObject:
    tokens = child(metrics, "tokens")
    return usage_of(
        input=tokens.get("prompt"),
        cached=tokens.get("cached"),
        output=tokens.get("completion"),
        cost_usd=metrics.get("cost"),
    )

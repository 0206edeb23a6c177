"""Turns from a chat of VS Code: requests of the user, each with the parts of the answer.

The parts of an answer are not divided into messages of the model. Text after calls starts the next turn, so that each
call is followed by its result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.integrations.format.openai_messages import parse_arguments
from segue.integrations.format.parts import call_part, file_part, image_part, reasoning_part, result_part, usage_of
from segue.integrations.format.transcript import TranscriptTurn
from segue.integrations.format.unknown_kinds import UnknownKinds
from segue.integrations.format.values import as_seconds, as_text, child, objects
from segue.model import EPOCH

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from segue.integrations.format.transcript import TranscriptBuilder
    from segue.model import JsonObject, Turn

_CANCELLED, _FAILED = 2, 3
"""States of an answer."""
_IGNORED = {
    *("undoStop", "codeblockUri", "progressMessage", "progressTask", "progressTaskSerialized", "mcpServersStarting"),
    *("prepareToolInvocation", "command", "confirmation", "textEditGroup", "notebookEditGroup", "multiDiffData"),
    *("workspaceEdit", "references", "codeCitation", "usedContext", "treeData", "extensions", "pullRequest", "hook"),
    *("clearToPreviousToolInvocation", "disabledClaudeHooks", "warning", "elicitation", "elicitationSerialized"),
}
"""Parts that only the screen needs: what was said and done is in other parts."""


def parse_turns(
    document: JsonObject,
    requests: Sequence[JsonObject],
    removed: Mapping[int, Sequence[object]],
    builder: TranscriptBuilder,
) -> Iterator[TranscriptTurn]:
    """The turns in the order of the requests; those that were undone or removed at a position are branches."""
    builder.title = as_text(document.get("customTitle"))
    reader = _Reader(builder, document.get("creationDate"))
    kept = {as_text(request.get("requestId")) for request in requests}
    for number, request in enumerate(requests):
        yield from reader.removed(removed.get(number, ()), kept)
        yield from reader.entries(request)
    for number in sorted(number for number in removed if number >= len(requests)):
        yield from reader.removed(removed[number], kept)
    for item in objects(document.get("pendingRequests")):
        yield from reader.entries(child(item, "request"))


class _Reader:
    def __init__(self, builder: TranscriptBuilder, created: object) -> None:
        self._builder = builder
        self._unknown = UnknownKinds(builder)
        self._latest = created
        self._number = 0

    def entries(self, request: JsonObject, *, is_removed: bool = False) -> Iterator[TranscriptTurn]:
        before = self._builder.tip
        for turn in self._turns(request):
            yield TranscriptTurn(turn, self._builder.tip)
            self._builder.tip = turn.id
        if is_removed or request.get("shouldBeRemovedOnSend") or request.get("isHidden") is True:
            self._builder.tip = before

    def removed(self, requests: Sequence[object], kept: set[str]) -> Iterator[TranscriptTurn]:
        """The requests that were removed, unless they were added again; each one once."""
        for request in objects(list(requests)):
            if (id := as_text(request.get("requestId"))) not in kept:
                kept.add(id)
                yield from self.entries(request, is_removed=True)

    def _turns(self, request: JsonObject) -> Iterator[Turn]:
        self._number += 1
        self._latest = request.get("timestamp") or self._latest
        moment = self._builder.moment(as_seconds(self._latest)) if self._latest else EPOCH
        key = f"{self._builder.native_id}:{as_text(request.get('requestId')) or self._number}"
        if (message := request.get("message")) is None:
            self._unknown.report("request", request.get("type") or request.get("kind"))
            return
        words = as_text(message.get("text")) if isinstance(message, dict) else as_text(message)
        parts = [_attachment(item) for item in objects(child(request, "variableData").get("variables"))]
        record = {name: value for name, value in request.items() if name not in {"response", "result"}}
        if words or parts:
            yield self._builder.turn(key, "user", words, moment, records=[record], parts=parts)
        yield from self._answer(key, request, moment)

    def _answer(self, key: str, request: JsonObject, moment: datetime) -> Iterator[Turn]:
        is_partial = child(request, "modelState").get("value") in (_CANCELLED, _FAILED)
        is_partial = is_partial or request.get("isCanceled") is True
        messages = self._messages(request)
        usage = child(request, "usage") or child(request, "result", "usage")
        for number, message in enumerate(messages):
            is_last = message is messages[-1]
            yield self._builder.turn(
                f"{key}:{number}",
                "assistant",
                "".join(message.texts),
                moment,
                records=message.records,
                parts=[*message.thoughts, *message.calls],
                model=as_text(request.get("modelId")),
                tokens=usage.get("completionTokens") if is_last else None,
                usage=usage_of(input=usage.get("promptTokens"), output=usage.get("completionTokens"))
                if is_last
                else None,
                partial=is_partial and is_last,
            )
            if message.results:
                text = "\n\n".join(as_text(part["content"]) for part in message.results)
                yield self._builder.turn(
                    f"{key}:{number}:results", "tool", text, moment, records=[], parts=message.results
                )

    def _messages(self, request: JsonObject) -> list[_Message]:
        """The parts of an answer, divided where text follows calls."""
        messages = [_Message()]
        rounds = _Rounds(child(request, "result", "metadata"))
        for part in objects(request.get("response")):
            kind = part.get("kind")
            current = messages[-1]
            if kind == "toolInvocationSerialized":
                current.calls.append(_call(part, rounds))
                if result := _result(part, rounds):
                    current.results.append(result)
            elif kind == "thinking":
                if text := _text(part.get("value")):
                    current.thoughts.append(reasoning_part(text))
            elif kind is None or as_text(kind) in {"markdownContent", "markdownVuln", "inlineReference"}:
                if text := _reference(part) if kind == "inlineReference" else _text(part.get("content") or part):
                    if current.calls:
                        current = _Message()
                        messages.append(current)
                    current.texts.append(text)
            elif as_text(kind) not in _IGNORED:
                self._unknown.report("part", kind)
                continue
            current.records.append(part)
        return [message for message in messages if message.texts or message.thoughts or message.calls]


class _Message:
    def __init__(self) -> None:
        self.texts: list[str] = []
        self.thoughts: list[JsonObject] = []
        self.calls: list[JsonObject] = []
        self.results: list[JsonObject] = []
        self.records: list[JsonObject] = []


class _Rounds:
    """What Copilot has noted of the calls of an answer: their arguments and results, by their ids."""

    def __init__(self, metadata: JsonObject) -> None:
        rounds = objects(metadata.get("toolCallRounds"))
        calls = [call for one in rounds for call in objects(one.get("toolCalls"))]
        self.arguments = {as_text(call.get("id")): call.get("arguments") for call in calls}
        self.names = {as_text(call.get("id")): as_text(call.get("name")) for call in calls}
        self.results = {
            id: "\n".join(filter(None, (_text(piece.get("value")) for piece in objects(child(result).get("content")))))
            for id, result in child(metadata, "toolCallResults").items()
            if isinstance(result, dict)
        }


def _call(part: JsonObject, rounds: _Rounds) -> JsonObject:
    id, data = as_text(part.get("toolCallId")), child(part, "toolSpecificData")
    details = child(part, "resultDetails")
    arguments = rounds.arguments.get(id) or details.get("input") or data.get("rawInput")
    if command := child(data, "commandLine").get("original") or data.get("command"):
        arguments = arguments or {"command": command}
    name = rounds.names.get(id) or part.get("toolId")
    return call_part(id, name, parse_arguments(arguments or {"message": _text(part.get("invocationMessage"))}))


def _result(part: JsonObject, rounds: _Rounds) -> JsonObject | None:
    """The result of a call: what the model got, or else what the user was shown; None if it has none."""
    id, data = as_text(part.get("toolCallId")), child(part, "toolSpecificData")
    details = child(part, "resultDetails")
    shown = [_text(piece.get("value") or piece.get("text")) for piece in objects(details.get("output"))]
    text = rounds.results.get(id) or "\n".join(filter(None, shown))
    text = text or as_text(child(data, "terminalCommandOutput").get("text") or data.get("result"))
    code = child(data, "terminalCommandState").get("exitCode")
    failed = details.get("isError") is True or (isinstance(code, int) and code != 0)
    if not text and part.get("isComplete") is not True:
        return None
    return result_part(id, text or _text(part.get("pastTenseMessage")), failed=failed)


def _attachment(item: JsonObject) -> JsonObject:
    """What the user attached: an image, or something with an address or a name."""
    value = item.get("value")
    if item.get("kind") == "image" or item.get("isImage") is True:
        return image_part(item.get("mimeType"), value)
    path = _path(value) or as_text(item.get("name"))
    return file_part(path, value if isinstance(value, str) and item.get("kind") in ("paste", "string") else None)


def _path(value: object) -> str:
    if not isinstance(value, dict):
        return ""
    return as_text(value.get("fsPath") or value.get("path")) or _path(value.get("uri")) or _path(value.get("location"))


def _reference(part: JsonObject) -> str:
    target = part.get("inlineReference")
    name = as_text(part.get("name")) or as_text(child(part, "inlineReference").get("name"))
    return f"`{name or _path(target).rpartition('/')[2]}`"


def _text(value: object) -> str:
    """The text of a Markdown string, of a list of texts, or the text itself."""
    if isinstance(value, dict):
        return as_text(value.get("value"))
    if isinstance(value, list):
        return "".join(item for item in value if isinstance(item, str))
    return value if isinstance(value, str) else ""

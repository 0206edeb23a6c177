"""Messages in the form of Anthropic's API, which several tools store: blocks of text, calls, results and images.

One message of the user may contain results of calls, words of the tool and words of the user. They become turns of
their own, in this order, since only the last ones were said by a person.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from segue.integrations.format.parts import call_part, file_part, image_part, notice_part, reasoning_part, result_part
from segue.integrations.format.values import as_text, child, objects
from segue.model import JsonObject  # noqa: TC001 - the field of a tuple

if TYPE_CHECKING:
    from segue.integrations.format.unknown_kinds import UnknownKinds


class SortedText(NamedTuple):
    """A text of a user's message, by who said it."""

    words: str = ""
    """Said by the user."""
    notice: str = ""
    """Said by the tool to the model."""
    result: str | None = None
    """The result of a call that the model made within its text, and that has no id."""
    files: tuple[JsonObject, ...] = ()
    """The files that the user attached, as parts."""


class MessageTurn(NamedTuple):
    """A turn of a message."""

    role: str
    content: str
    parts: list[JsonObject]


SortText = Callable[[str], SortedText]


def turns_of(message: JsonObject, unknown: UnknownKinds, sort: SortText) -> list[MessageTurn]:
    """The turns of a message; none if it has no content, or only what the tool repeats in every message."""
    content = message.get("content")
    blocks: list[JsonObject] = [{"type": "text", "text": content}] if isinstance(content, str) else objects(content)
    match message.get("role"):
        case "assistant":
            return _turn_of_assistant(blocks, unknown)
        case "user":
            return _turns_of_user(blocks, unknown, sort)
    unknown.report("message", message.get("role"))
    return []


def turns_of_answer(blocks: list[JsonObject], unknown: UnknownKinds) -> list[MessageTurn]:
    """The turns of an answer that contains the results of its own calls: text after results starts the next turn."""
    turns: list[MessageTurn] = []
    for is_result, group in groupby(blocks, lambda block: block.get("type") == "tool_result"):
        if is_result:
            parts = [parse_result(block) for block in group]
            turns.append(MessageTurn("tool", "\n\n".join(as_text(part["content"]) for part in parts), parts))
        else:
            turns += _turn_of_assistant(list(group), unknown)
    return turns


def _turn_of_assistant(blocks: list[JsonObject], unknown: UnknownKinds) -> list[MessageTurn]:
    texts: list[str] = []
    parts: list[JsonObject] = []
    for block in blocks:
        match block.get("type"):
            case "text":
                texts.append(as_text(block.get("text")))
            case "tool_use":
                parts.append(call_part(block.get("id"), block.get("name"), block.get("input")))
            case "thinking" | "reasoning":
                if thought := block.get("thinking") or block.get("text"):
                    parts.append(reasoning_part(thought))
            case "redacted_thinking" | "thoughtSignature":
                pass  # only its provider can read it
            case kind:
                unknown.report("block", kind)
    text = "\n\n".join(filter(None, texts))
    return [MessageTurn("assistant", text, parts)] if text or parts else []


def _turns_of_user(blocks: list[JsonObject], unknown: UnknownKinds, sort: SortText) -> list[MessageTurn]:
    results: list[JsonObject] = []
    attached: list[JsonObject] = []
    words: list[str] = []
    notices: list[str] = []
    for block in blocks:
        match block.get("type"):
            case "text":
                found = sort(as_text(block.get("text")))
                words.append(found.words)
                attached += found.files
                notices.append(found.notice)
                if found.result is not None:
                    results.append(result_part("", found.result))
            case "tool_result":
                results.append(parse_result(block))
            case "image":
                attached.append(parse_image(block))
            case "file" | "document":
                attached.append(file_part(block.get("path") or block.get("title"), block.get("content")))
            case kind:
                unknown.report("block", kind)
    turns = []
    if results:
        content = "\n\n".join(as_text(part["content"]) for part in results)
        turns.append(MessageTurn("tool", content, results))
    if notice := "\n\n".join(filter(None, notices)):
        turns.append(MessageTurn("system", notice, [notice_part()]))
    text = "\n\n".join(filter(None, words))
    if text or attached:
        turns.append(MessageTurn("user", text, attached))
    return turns


def parse_result(block: JsonObject) -> JsonObject:
    """The result of a call: its text, or the text of its blocks, with everything else as JSON."""
    content = block.get("content")
    items = objects(content)
    images = [parse_image(item) for item in items if item.get("type") == "image"]
    texts = [_text_of(item) for item in items if item.get("type") != "image"]
    failed = block.get("is_error") is True or any(item.get("success") is False for item in items)
    text = "\n".join(texts) if isinstance(content, list) else as_text(content)
    return result_part(block.get("tool_use_id"), text, failed=failed, images=images)


def _text_of(item: JsonObject) -> str:
    if item.get("type") == "text":
        return as_text(item.get("text"))
    return as_text(item["result"] or item.get("error")) if "result" in item else as_text(item)


def parse_image(block: JsonObject) -> JsonObject:
    source = child(block, "source") or block
    return image_part(source.get("media_type") or source.get("mediaType"), source.get("data"))

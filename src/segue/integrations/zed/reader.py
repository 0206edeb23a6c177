"""Turns from a thread of Zed: messages of the user and of the agent, and in the older form with roles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.integrations.format.parts import call_part, file_part, image_part, reasoning_part, result_part
from segue.integrations.format.transcript import TranscriptTurn
from segue.integrations.format.values import as_text, child, objects

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from segue.integrations.format.transcript import TranscriptBuilder
    from segue.model import JsonObject, Turn

_ATTACHED = ("File", "Selection", "Symbol", "Directory", "Fetch", "Thread", "TextThread", "Rule")
"""What a user can mention in a message."""


def parse_turns(
    thread: JsonObject, builder: TranscriptBuilder, *, at: object, side: str = ""
) -> Iterator[TranscriptTurn]:
    """The turns, oldest first; messages have no times, so all have that of the thread."""
    moment = builder.moment(at)
    model, effort = as_text(child(thread, "model").get("model")), thread.get("thinking_effort")
    messages = thread.get("messages")
    for number, message in enumerate(messages if isinstance(messages, list) else []):
        key = f"{as_text(thread.get('id'))}:{number}"
        for turn in _turns(message, key, moment, builder, model=model, effort=effort):
            yield TranscriptTurn(turn, builder.tip, side if not builder.tip else "")
            builder.tip = turn.id


def _turns(
    message: object, key: str, at: datetime, builder: TranscriptBuilder, *, model: str, effort: object
) -> Iterator[Turn]:
    if message == "Resume":
        return  # the agent was told to continue, without words
    if not isinstance(message, dict):
        builder.damage(f"a message of the unknown type {as_text(message):.40} is not read")
    elif "role" in message:
        yield from _older_turns(message, key, at, builder, model=model)
    elif user := child(message, "User"):
        text = "".join(as_text(piece.get("Text")) for piece in objects(user.get("content")))
        parts = list(_parts(objects(user.get("content")), builder))
        yield builder.turn(key, "user", text, at, records=[message], parts=parts)
    elif agent := child(message, "Agent"):
        content = objects(agent.get("content"))
        text, parts = "\n\n".join(_texts(content)), list(_parts(content, builder))
        yield builder.turn(key, "assistant", text, at, records=[message], parts=parts, model=model, effort=effort)
        for name, result in child(agent, "tool_results").items():
            part = _result(name, result if isinstance(result, dict) else {})
            yield builder.turn(f"{key}:{name}", "tool", as_text(part["content"]), at, records=[], parts=[part])
    else:
        builder.damage(f"a message of the unknown type {', '.join(message):.40} is not read")


def _texts(content: list[JsonObject]) -> list[str]:
    return [text for piece in content if (text := as_text(piece.get("Text")))]


def _parts(content: list[JsonObject], builder: TranscriptBuilder) -> Iterator[JsonObject]:
    for piece in content:
        kind, value = next(iter(piece.items()), ("", None))
        data = child(piece, kind)
        match kind:
            case "Text" | "RedactedThinking":
                pass
            case "Thinking":
                yield reasoning_part(data.get("text"))
            case "ToolUse":
                yield call_part(data.get("id"), data.get("name"), data.get("input") or data.get("raw_input"))
            case "Mention":
                yield file_part(_place(data.get("uri")), data.get("content"))
            case "Image":
                yield image_part(data.get("mime_type") or "image/png", data.get("source"))
            case _:
                builder.damage(f"a piece of the unknown type {kind:.40} is not read: {as_text(value):.40}")


def _place(uri: object) -> str:
    """The path in a mention, or what it is called."""
    if isinstance(uri, dict):
        for kind in _ATTACHED:
            about = child(uri, kind)
            for name in ("abs_path", "path", "url", "name"):
                if name in about:
                    return as_text(about[name])
    return as_text(uri)


def _result(name: str, result: JsonObject) -> JsonObject:
    content = result.get("content")
    blocks = content if isinstance(content, list) else [content]
    texts = [as_text(block if isinstance(block, str) else _value(block, "Text")) for block in blocks]
    sources = [child(block, "Image") for block in blocks if isinstance(block, dict)]
    images = [image_part(found.get("mime_type") or "image/png", found.get("source")) for found in sources if found]
    text = "\n\n".join(filter(None, texts)) or as_text(result.get("output"))
    return result_part(result.get("tool_use_id") or name, text, failed=result.get("is_error") is True, images=images)


def _value(block: object, name: str) -> object:
    """The text of a block, in the forms that releases have written."""
    if not isinstance(block, dict):
        return block
    return block.get(name) if name in block else block.get("text")


def _older_turns(
    message: JsonObject, key: str, at: datetime, builder: TranscriptBuilder, *, model: str
) -> Iterator[Turn]:
    """A message of the form before 0.3.0: a role, segments, and calls with their results."""
    segments = objects(message.get("segments"))
    text = "\n\n".join(as_text(part.get("text")) for part in segments if part.get("type") == "text")
    if message.get("role") != "assistant":
        role = "user" if message.get("role") == "user" else "system"
        yield builder.turn(key, role, text, at, records=[message])
        return
    parts = [reasoning_part(part.get("text")) for part in segments if part.get("type") == "thinking"]
    parts += [call_part(use.get("id"), use.get("name"), use.get("input")) for use in objects(message.get("tool_uses"))]
    yield builder.turn(key, "assistant", text, at, records=[message], parts=parts, model=model)
    for result in objects(message.get("tool_results")):
        part = _result(as_text(result.get("tool_use_id")), result)
        yield builder.turn(f"{key}:{part['id']}", "tool", as_text(part["content"]), at, records=[], parts=[part])

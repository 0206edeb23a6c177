"""Attachments of Claude Code: records between messages, with what the user attached or what the tool told the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.integrations.claude.drafts import Draft, images_in, notice
from segue.integrations.claude.record_kinds import QUEUED
from segue.integrations.format.parts import file_part, image_part
from segue.integrations.format.values import as_text, child, objects, texts

if TYPE_CHECKING:
    from segue.model import JsonObject


def attached_part(record: JsonObject) -> JsonObject:
    """A file, a folder or an image that the user attached."""
    attachment = child(record, "attachment")
    path = next(
        (attachment[name] for name in ("filename", "path", "uri", "displayPath", "name") if attachment.get(name)), ""
    )
    content = attachment.get("content")
    if isinstance(content, str):
        return file_part(path, content)
    file = child(attachment, "content", "file")
    if file.get("base64") and child(attachment, "content").get("type") == "image":
        return image_part(file.get("type"), file.get("base64"))
    if found := images_in([attachment]):
        return found[0]
    pieces = [as_text(piece.get("text")) for piece in objects(child(attachment, "content").get("contents"))]
    cells = file.get("cells")
    return file_part(path, file.get("content") or "\n\n".join(filter(None, pieces)) or (as_text(cells) or None))


def attachment_drafts(records: list[JsonObject]) -> list[Draft]:
    """The turn of an attachment: a message that was typed meanwhile, or a notice. Its files follow it."""
    first, *more = records
    attachment = child(first, "attachment")
    if attachment.get("type") != QUEUED:
        return notice(_shown(first) or block_text(attachment))
    prompt = attachment.get("prompt")
    text = texts(prompt)
    is_said = attachment.get("commandMode") in (None, "prompt") and not text.startswith("<task-notification>")
    if not is_said or as_text(child(attachment, "origin").get("kind")) not in {"", "human"}:
        return notice(text)
    return [Draft(role="user", text=text, parts=[*images_in(prompt), *map(attached_part, more)])]


def block_text(attachment: JsonObject) -> str:
    """The text of an attachment of an older release, which did not record what the model got."""
    content = attachment.get("content") or attachment.get("snippet")
    if isinstance(content, list):
        return "\n\n".join(item if isinstance(item, str) else texts([item]) for item in content)
    return content if isinstance(content, str) else ""


def _shown(record: JsonObject) -> str:
    """What the model got of it."""
    return "\n\n".join(texts(piece.get("content")) for piece in objects(record.get("rendered")))

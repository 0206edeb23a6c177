"""The contents of Google's API, which Gemini CLI and Qwen Code store: a message is a list of pieces."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from segue.integrations.format.parts import call_part, file_part, image_part, reasoning_part, result_part
from segue.integrations.format.values import as_text, child, objects

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from segue.integrations.format.outgoing import OutgoingCall, OutgoingImage
    from segue.model import JsonObject

_FILES_START, _FILES_END = "--- Content from referenced files ---", "--- End of content ---"
_FILE = re.compile(r"\n?Content from @?(.+):\n?", re.DOTALL)
ACKNOWLEDGEMENT = "Got it. Thanks for the additional context!"
"""What the tools let the model say after a summary."""


# ── Reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def pieces_of(content: object) -> list[JsonObject]:
    """A content as pieces; a text is one of them."""
    items = content if isinstance(content, list) else [content]
    return [{"text": item} if isinstance(item, str) else item for item in items if isinstance(item, str | dict)]


def spoken(pieces: Iterable[JsonObject]) -> str:
    """The text, without what the model thought."""
    found = [as_text(piece.get("text")) for piece in pieces if piece.get("thought") is not True]
    return "\n\n".join(text for text in found if text)


def reasoning_of(pieces: Iterable[JsonObject]) -> list[JsonObject]:
    return [reasoning_part(piece["text"]) for piece in pieces if piece.get("thought") is True and piece.get("text")]


def calls_of(pieces: Iterable[JsonObject]) -> list[JsonObject]:
    calls = [child(piece, "functionCall") for piece in pieces if "functionCall" in piece]
    return [call_part(call.get("id"), call.get("name"), call.get("args")) for call in calls]


def media_of(pieces: Iterable[JsonObject]) -> list[JsonObject]:
    """Images with their data, and other attachments as files without content."""
    found: list[JsonObject] = []
    for piece in pieces:
        inline, link = child(piece, "inlineData"), child(piece, "fileData")
        if as_text(inline.get("mimeType")).startswith("image/"):
            found.append(image_part(inline.get("mimeType"), inline.get("data")))
        elif inline:
            found.append(file_part(inline.get("displayName") or inline.get("mimeType")))
        elif link:
            found.append(file_part(link.get("fileUri")))
    return found


def responses_of(pieces: Iterable[JsonObject]) -> list[JsonObject]:
    return [child(piece, "functionResponse") for piece in pieces if "functionResponse" in piece]


def response_text(response: JsonObject) -> str:
    value = child(response, "response")
    return as_text(value.get("output") or value.get("error") or value.get("content") or value or None)


def result_of(id: object, pieces: Sequence[JsonObject], *, failed: bool = False) -> JsonObject:
    """The part for the result of a call, from the pieces that answer it."""
    answers = responses_of(pieces)
    own = [answer for answer in answers if answer.get("id") == id] or answers
    nested = [piece for answer in own for piece in objects(answer.get("parts"))]
    images = [part for part in media_of([*pieces, *nested]) if part["type"] == "image"]
    text = "\n\n".join(filter(None, [*map(response_text, own), spoken(pieces)]))
    failed = failed or any("error" in child(answer, "response") for answer in own)
    return result_part(id, text, failed=failed, images=images)


def split_files(pieces: Sequence[JsonObject]) -> tuple[list[JsonObject], list[JsonObject]]:
    """What the user wrote, and the parts for the files that were attached with `@`."""
    texts = [as_text(piece.get("text")).strip() for piece in pieces]
    if _FILES_START not in texts:
        return list(pieces), []
    start = texts.index(_FILES_START)
    end = texts.index(_FILES_END, start) if _FILES_END in texts[start:] else len(pieces)
    path = ""
    contents: dict[str, list[str]] = {}
    for piece in pieces[start + 1 : end]:
        text = as_text(piece.get("text"))
        if found := _FILE.fullmatch(text):
            path = found[1]
            contents.setdefault(path, [])
        elif text:
            contents.setdefault(path, []).append(text)
        elif not contents.get(path):
            contents.pop(path, None)  # an image, which has a part of its own
    files = [file_part(path, "\n".join(found) if found else None) for path, found in contents.items()]
    media = [piece for piece in pieces[start:end] if not piece.get("text")]
    return [*pieces[:start], *media, *pieces[end + 1 :]], files


# ── Writing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def inline_images(images: Iterable[OutgoingImage]) -> list[JsonObject]:
    return [{"inlineData": {"mimeType": image.media_type, "data": image.data}} for image in images]


def response_piece(call: OutgoingCall, *parts: JsonObject) -> JsonObject:
    """The piece that answers a call, with these parts in addition to its text."""
    response = {"id": call.id, "name": call.name, "response": {"error" if call.failed else "output": call.result}}
    return {"functionResponse": {**response, **({"parts": list(parts)} if parts else {})}}

"""Messages in the form of OpenAI's chat API, which several tools store: content in parts, calls next to it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from segue.integrations.format.parts import call_part, image_part
from segue.integrations.format.values import as_text, child, objects

if TYPE_CHECKING:
    from segue.integrations.format.unknown_kinds import UnknownKinds
    from segue.model import JsonObject

_DATA_URL = re.compile(r"data:([\w.+-]{1,40}/[\w.+-]{1,80});base64,")
_IMAGES = {"image_url", "imageUrl", "input_image", "image"}
_TEXTS = {"text", "input_text", "output_text"}
_THOUGHTS = {"think", "thinking", "reasoning"}


class Content:
    """The content of a message: its text, what the model thought, and images."""

    def __init__(self, value: object, unknown: UnknownKinds) -> None:
        texts: list[str] = []
        self.thoughts: list[str] = []
        self.images: list[JsonObject] = []
        parts: list[JsonObject] = [{"type": "text", "text": value}] if isinstance(value, str) else objects(value)
        for part in parts:
            kind = part.get("type")
            if (name := as_text(kind)) in _TEXTS:
                texts.append(as_text(part.get("text")))
            elif name in _THOUGHTS:
                self.thoughts.append(as_text(part.get("think") or part.get("thinking") or part.get("text")))
            elif name in _IMAGES:
                self.images.append(parse_image(part))
            else:
                unknown.report("part", kind)
        self.text = "\n\n".join(filter(None, texts))


def parse_image(part: JsonObject) -> JsonObject:
    """An image, with its data if its address contains them; nothing is fetched from any other address."""
    address = part.get("image_url") or part.get("imageUrl") or part.get("url")
    url = as_text(address.get("url")) if isinstance(address, dict) else as_text(address)
    found = _DATA_URL.match(url)
    return image_part(found[1], url[found.end() :]) if found else image_part()


def parse_calls(value: object) -> list[JsonObject]:
    """The calls of an answer, as parts."""
    found = []
    for call in objects(value):
        function = child(call, "function") or call
        found.append(call_part(call.get("id"), function.get("name"), parse_arguments(function.get("arguments"))))
    return found


def parse_arguments(value: object) -> object:
    """The arguments of a call, which are JSON in a text; the text itself if it was cut off."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value or "{}")
    except (ValueError, RecursionError):
        return value

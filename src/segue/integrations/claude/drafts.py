"""What a record of Claude Code becomes, before it has an id and a place: a draft of a turn."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

from segue.integrations.claude.record_kinds import BLOCKS
from segue.integrations.format.parts import image_part, notice_part
from segue.integrations.format.values import as_text, child, objects
from segue.model import JsonObject

_REMINDER = re.compile(r"</?system-reminder>\n?")


class Draft(Struct, frozen=True, kw_only=True):
    """See `TranscriptBuilder.turn` for the fields."""

    role: str
    text: str
    parts: list[JsonObject] = []
    partial: bool = False
    tokens: object = None
    model: str = ""
    usage: Mapping[str, object] | None = None
    effort: object = None


def notice(text: str) -> list[Draft]:
    """What nobody said, without the tags in which the model gets it; empty without a text."""
    plain = _REMINDER.sub("", text).strip()
    return [Draft(role="system", text=plain, parts=[notice_part()])] if plain else []


def images_in(content: object) -> list[JsonObject]:
    """The images among the blocks of a message or a result."""
    sources = [child(block, "source") for block in objects(content) if block.get("type") == "image"]
    return [image_part(source.get("media_type"), source.get("data")) for source in sources]


def unknown_parts(content: object) -> list[JsonObject]:
    """The blocks of a message of kinds that are not known here: they are kept, and reported when they are left out."""
    kinds = [(as_text(block.get("type")), block) for block in objects(content)]
    return [
        {"type": f"claude_{kind}"[:60], "block": block}
        for kind, block in kinds
        if kind not in BLOCKS and not kind.endswith("tool_result")
    ]


def block_texts(content: object) -> str:
    """The text of a result: of a block of another kind than text, its name, or all of it."""
    if isinstance(content, str):
        return content
    return "\n\n".join(text for block in objects(content) if (text := _block_text(block)))


def _block_text(block: JsonObject) -> str:
    match block.get("type"):
        case "text":
            return as_text(block.get("text"))
        case "image":
            return ""
        case "tool_reference":
            return as_text(block.get("tool_name"))
        case "document":
            source = child(block, "source")
            is_text = source.get("type") == "text"
            return as_text(source.get("data")) if is_text else f"[document {as_text(block.get('title'))}]"
        case _:
            return as_text(block)

"""The document of a conversation as it is born: it belongs to people, and this is all that is ever written there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.dialects.cortext.format.names import CONVERSATION, parse_folder_type
from segue.ids import is_id

if TYPE_CHECKING:
    from segue.model import Metadata


def conversation_type(extra: object, folder: str) -> str:
    """What the metadata says, else the word in the folder's name."""
    said = extra.get("conversation_type") if isinstance(extra, dict) else None
    return said if isinstance(said, str) and said else parse_folder_type(folder)


def document_name(first: Metadata, folder: str) -> str:
    """`<type>.md`, whatever text the type is."""
    kind = conversation_type(first.extra, folder)
    return f"{kind if is_id(kind) else CONVERSATION}.md"


def stub(first: Metadata, folder: str) -> bytes:
    title = " ".join(first.title.split()) or folder
    kind = " ".join(conversation_type(first.extra, folder).split())
    text = f"# {title}\n\n- type: {kind}\n- date: {first.created_at:%Y-%m-%d}\n"
    return text.encode("utf-8", "backslashreplace")

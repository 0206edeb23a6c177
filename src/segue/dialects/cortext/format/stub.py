"""The document of a new conversation: it belongs to the user, and we never write to it again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.dialects.cortext.format.names import CONVERSATION, parse_folder_type
from segue.ids import is_id

if TYPE_CHECKING:
    from segue.model import Metadata


def conversation_type(extra: object, folder: str) -> str:
    """The type in the metadata, else the word in the name of the folder."""
    specified = extra.get("conversation_type") if isinstance(extra, dict) else None
    return specified if isinstance(specified, str) and specified else parse_folder_type(folder)


def document_name(first: Metadata, folder: str) -> str:
    """`<type>.md`, for any text as the type."""
    kind = conversation_type(first.extra, folder)
    return f"{kind if is_id(kind) else CONVERSATION}.md"


def stub(first: Metadata, folder: str) -> bytes:
    title = " ".join(first.title.split()) or folder
    kind = " ".join(conversation_type(first.extra, folder).split())
    text = f"# {title}\n\n- type: {kind}\n- date: {first.created_at:%Y-%m-%d}\n"
    return text.encode("utf-8", "backslashreplace")

"""The id, the folder, the type and the document of a conversation.

A session id is `<day>-<folder>` for the folder `conversations/<day>/<folder>/`, as in `2025-11-22-001-plan-api`; the
folder's name is what users type. A session with any other id is in `conversations/other/<id>/`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from segue.ids import check_id, is_id, slug

if TYPE_CHECKING:
    from collections.abc import Iterable

    from segue.model import Metadata

OTHER = "other"
"""Instead of a day, for sessions with any other id."""

CONVERSATION = "conversation"
"""The type of a conversation that does not specify one."""

_DATED = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})-([A-Za-z0-9].*)")
_NUMBERED = re.compile(r"([0-9]{1,9})-([A-Za-z0-9]+)?.*")


def split_id(session_id: str) -> tuple[str, str]:
    """The day and the folder of a session."""
    found = _DATED.fullmatch(check_id(session_id))
    return (found[1], found[2]) if found else (OTHER, session_id)


def join_id(day: str, folder: str) -> str | None:
    """The id of the session in this folder; None for folders that `split_id` never returns."""
    session_id = folder if day == OTHER else f"{day}-{folder}"
    return session_id if is_id(session_id) and split_id(session_id) == (day, folder) else None


def is_day(name: str) -> bool:
    return name == OTHER or join_id(name, "x") is not None


def next_folder(label: str, folders: Iterable[str]) -> str:
    """`<NNN>-<label>`, with a number one higher than that of any folder of the day."""
    numbers = [int(found[1]) for name in folders if (found := _NUMBERED.fullmatch(name))]
    return f"{max(numbers, default=0) + 1:03}-{slug(label) or CONVERSATION}"


def parse_folder_type(folder: str) -> str:
    """The word after the number."""
    found = _NUMBERED.fullmatch(folder)
    return (found[2] if found else None) or CONVERSATION


def conversation_type(extra: object, folder: str) -> str:
    """The type in the metadata, else the word in the name of the folder."""
    given = extra.get("conversation_type") if isinstance(extra, dict) else None
    return given if isinstance(given, str) and given else parse_folder_type(folder)


def document_name(first: Metadata, folder: str) -> str:
    """`<type>.md`, or a general name if the type cannot be one."""
    type = conversation_type(first.extra, folder)
    return f"{type if is_id(type) else CONVERSATION}.md"


def render_stub(first: Metadata, folder: str) -> bytes:
    """The document of a new conversation. It belongs to the user: it is never written like this again."""
    title = " ".join(first.title.split()) or folder
    type = " ".join(conversation_type(first.extra, folder).split())
    text = f"# {title}\n\n- type: {type}\n- date: {first.created_at:%Y-%m-%d}\n"
    return text.encode("utf-8", "backslashreplace")

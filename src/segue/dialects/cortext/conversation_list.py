"""The conversations of a workspace as a list: read from the index, searched, and shown with numbers."""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING

from msgspec import Struct

from segue.clock import local
from segue.dialects.cortext.format.names import parse_folder_type, split_id
from segue.errors import UsageError
from segue.index import Index, StoreSource
from segue.queries import Filters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segue.durable.folder import Folder
    from segue.index import IndexEntry
    from segue.library import Library

STATUSES = ("active", "paused", "completed")

LIST_HEADING = "Here are your resumable conversations:"
QUESTION = "Which conversation would you like to continue? (number or search)"
NONE = "There are no resumable conversations here."
START_ONE = 'start one with /workspace.brainstorm, or with: cortext new brainstorm "topic"'

_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_LONG_AGO_DAYS = 14


class ConversationEntry(Struct, frozen=True, kw_only=True):
    """One conversation in the list."""

    id: str
    """The id of its session, which is unique."""
    conversation_id: str
    """The name of its folder, which users type; another day can have the same one."""
    type: str
    title: str
    status: str
    """Active, paused or completed; an interrupted conversation can be resumed, so it counts as paused."""
    last_active: datetime
    message_count: int
    summary: str = ""
    damage: str = ""
    is_interrupted: bool = False
    """Whether it was left active, by a crash or by a tool that has exited."""

    @property
    def is_unstopped(self) -> bool:
        """Whether it was never stopped: most AI tools hold no lock while the user chats in them."""
        return self.status == "active" or self.is_interrupted


class ConversationList:
    """The list, brought up to date from the index each time. `cache` is the folder of the index; None for memory."""

    def __init__(self, library: Library, cache: Folder | None) -> None:
        self._source = StoreSource(library.store)
        self._cache = cache

    def all(self, *, type: str = "", status: str = "") -> list[ConversationEntry]:
        """All conversations of this type and status, the last active first."""
        if status and status not in STATUSES:
            raise UsageError(f"there is no status {status!r}", hint=f"one of {', '.join(STATUSES)}")
        # Opened each time: completion of a line that is being typed reads the list from another thread.
        with Index(self._cache) as index:
            for _, error in index.refresh([self._source], with_text=False).failed:
                raise error
            entries = [_to_entry(entry) for entry in index.entries(Filters(sources=(self._source.name,)))]
        return [entry for entry in entries if type in {"", entry.type} and status in {"", entry.status}]

    def find(self, words: str, *, type: str = "", status: str = "") -> list[ConversationEntry]:
        """The one with this id, else those whose id begins so, else those with all words in title or summary."""
        entries = self.all(type=type, status=status)
        wanted = words.strip()
        exact = [entry for entry in entries if wanted in {entry.conversation_id, entry.id}]
        begun = [entry for entry in entries if wanted and _begins(entry, wanted)]
        parts = wanted.casefold().split()
        return exact or begun or [entry for entry in entries if parts and _has_all(entry, parts)]


def format_list(entries: Sequence[ConversationEntry], now: datetime) -> str:
    """The entries with numbers, under a heading."""
    blocks = ["\n".join(_entry_lines(number, entry, now)) for number, entry in enumerate(entries, 1)]
    return "\n\n".join([LIST_HEADING, *blocks])


def format_age(moment: datetime, now: datetime) -> str:
    """How long ago a moment was, in words; its date after two weeks."""
    seconds = int((now - moment).total_seconds())
    if 0 <= seconds < _MINUTE:
        return "just now"
    if 0 <= seconds < _HOUR:
        return _count(seconds // _MINUTE, "minute")
    if 0 <= seconds < _DAY:
        return _count(seconds // _HOUR, "hour")
    if 0 <= seconds < 2 * _DAY:
        return "yesterday"
    if 0 <= seconds < _LONG_AGO_DAYS * _DAY:
        return _count(seconds // _DAY, "day")
    return f"{local(moment):%Y-%m-%d}"


def _entry_lines(number: int, entry: ConversationEntry, now: datetime) -> list[str]:
    lines = [
        f"{number}. [{entry.type}] {entry.title}",
        f"   Last active: {format_age(entry.last_active, now)} | Status: {entry.status}",
    ]
    if entry.damage:
        lines.append(f"   Damaged: {entry.damage}")
    elif entry.summary:
        lines.append(f"   Summary: {' '.join(entry.summary.split())}")
    return lines


def _count(number: int, unit: str) -> str:
    return f"{number} {unit}{'' if number == 1 else 's'} ago"


def _begins(entry: ConversationEntry, wanted: str) -> bool:
    return entry.conversation_id.startswith(wanted) or entry.id.startswith(wanted)


def _has_all(entry: ConversationEntry, parts: Sequence[str]) -> bool:
    text = f"{entry.title}\n{entry.summary}".casefold()
    return all(part in text for part in parts)


def _to_entry(indexed: IndexEntry) -> ConversationEntry:
    _, name = split_id(indexed.id)
    is_named_so = indexed.agent and re.match(rf"\d+-{re.escape(indexed.agent)}(-|$)", name)
    type = indexed.agent if is_named_so else parse_folder_type(name)  # of several words, it is the agent's name too
    return ConversationEntry(
        id=indexed.id,
        conversation_id=name,
        type=type,
        title=indexed.title or name,
        status="paused" if indexed.status == "interrupted" else indexed.status,
        last_active=indexed.updated_at,
        message_count=indexed.turn_count or 0,
        summary=indexed.summary,
        damage=indexed.damage,
        is_interrupted=indexed.status == "interrupted" and not indexed.damage,
    )

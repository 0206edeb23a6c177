"""Conversations as a list shows them, and which of them some words mean."""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING

from msgspec import Struct

from segue.dialects.cortext.format.names import parse_folder_type, split_id
from segue.errors import UsageError
from segue.index import Filters, Index, StoreSource

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segue.durable.folder import Folder
    from segue.index import IndexEntry
    from segue.library import Library

STATUSES = ("active", "paused", "completed")


class ConversationSummary(Struct, frozen=True, kw_only=True):
    """One conversation."""

    id: str
    """Of the session, unlike any other."""
    conversation_id: str
    """What people type; it may be the same on another day."""
    type: str
    title: str
    status: str
    """Active, paused or completed: one that was interrupted can be gone on with, and so it is paused."""
    last_active: datetime
    message_count: int
    summary: str = ""
    damage: str = ""
    is_left: bool = False
    """Whether it was left active, by a crash or by a tool that has gone."""

    @property
    def is_going_on(self) -> bool:
        """Whether nobody has stopped it: most tools hold no lock while one talks in them."""
        return self.status == "active" or self.is_left


class ConversationList:
    """What the index of the workspace says, brought up to date: `cache` is its folder, None for none that lasts."""

    def __init__(self, library: Library, cache: Folder | None) -> None:
        self._source = StoreSource(library.store)
        self._cache = cache

    def all(self, *, type: str = "", status: str = "") -> list[ConversationSummary]:
        if status and status not in STATUSES:
            raise UsageError(f"there is no status {status!r}", hint=f"one of {', '.join(STATUSES)}")
        # Opened anew each time: what completes a line as it is typed asks from another thread.
        with Index(self._cache) as index:
            for _, error in index.refresh([self._source], with_text=False).failed:
                raise error
            cards = [_card(entry) for entry in index.entries(Filters(sources=(self._source.name,)))]
        return [card for card in cards if type in {"", card.type} and status in {"", card.status}]

    def find(self, words: str, *, type: str = "", status: str = "") -> list[ConversationSummary]:
        cards = self.all(type=type, status=status)
        wanted = words.strip()
        exact = [card for card in cards if wanted in {card.conversation_id, card.id}]
        begun = [card for card in cards if wanted and _begins(card, wanted)]
        parts = wanted.casefold().split()
        return exact or begun or [card for card in cards if parts and _has_all(card, parts)]

    def unfinished(self) -> list[ConversationSummary]:
        """Those that are not completed, and can be read."""
        return [card for card in self.all() if card.status != "completed" and not card.damage]


def _begins(card: ConversationSummary, wanted: str) -> bool:
    return card.conversation_id.startswith(wanted) or card.id.startswith(wanted)


def _has_all(card: ConversationSummary, parts: Sequence[str]) -> bool:
    text = f"{card.title}\n{card.summary}".casefold()
    return all(part in text for part in parts)


def _card(entry: IndexEntry) -> ConversationSummary:
    _, name = split_id(entry.id)
    is_named_so = entry.agent and re.match(rf"\d+-{re.escape(entry.agent)}(-|$)", name)
    type = entry.agent if is_named_so else parse_folder_type(name)  # a type of several words is the agent's name, too
    return ConversationSummary(
        id=entry.id,
        conversation_id=name,
        type=type,
        title=entry.title or name,
        status="paused" if entry.status == "interrupted" else entry.status,
        last_active=entry.updated_at,
        message_count=entry.turn_count or 0,
        summary=entry.summary,
        damage=entry.damage,
        is_left=entry.status == "interrupted" and not entry.damage,
    )

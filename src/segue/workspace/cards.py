"""Conversations as a list shows them, and which of them some words mean."""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from segue.errors import SegueError, UsageError
from segue.formats.cortext.names import place_of, type_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from segue.library import Library
    from segue.model import Head

STATUSES = ("active", "paused", "completed")


class Card(Struct, frozen=True, kw_only=True):
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


class Cards:
    """Remembers the summaries it has seen: a search reads only what has changed since the last one."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._summaries: dict[str, tuple[datetime, str]] = {}

    def all(self, *, type: str = "", status: str = "", summaries: bool = True) -> list[Card]:
        if status and status not in STATUSES:
            raise UsageError(f"there is no status {status!r}", hint=f"one of {', '.join(STATUSES)}")
        cards = (_card(head) for head in self._library.list())
        chosen = (card for card in cards if type in {"", card.type} and status in {"", card.status})
        return list(self.told(chosen) if summaries else chosen)

    def find(self, words: str, *, type: str = "", status: str = "") -> list[Card]:
        cards = self.all(type=type, status=status, summaries=False)
        wanted = words.strip()
        exact = [card for card in cards if wanted in {card.conversation_id, card.id}]
        begun = [card for card in cards if wanted and _begins(card, wanted)]
        if found := exact or begun:
            return list(self.told(found))
        parts = wanted.casefold().split()
        return [
            card
            for card in self.told(cards)
            if parts and all(part in f"{card.title}\n{card.summary}".casefold() for part in parts)
        ]

    def last(self) -> Card | None:
        open_ones = [card for card in self.all(summaries=False) if card.status != "completed" and not card.damage]
        return next(
            (card for card in open_ones if card.status == "active" or card.is_left), next(iter(open_ones), None)
        )

    def told(self, cards: Iterable[Card]) -> Iterator[Card]:
        """The same with their summaries."""
        return (replace(card, summary=self._summary(card)) for card in cards)

    def _summary(self, card: Card) -> str:
        known = self._summaries.get(card.id)
        if card.damage or (known is not None and known[0] == card.last_active):
            return known[1] if known else ""
        try:
            summary = self._library.store.overview(card.id).summary
        except SegueError:  # damaged, or gone meanwhile: the listing says so the next time
            return ""
        self._summaries[card.id] = card.last_active, summary
        return summary


def _begins(card: Card, wanted: str) -> bool:
    return card.conversation_id.startswith(wanted) or card.id.startswith(wanted)


def _card(head: Head) -> Card:
    _, name = place_of(head.id)
    is_named_so = head.agent and re.match(rf"\d+-{re.escape(head.agent)}(-|$)", name)
    type = head.agent if is_named_so else type_of(name)  # a type of several words is the agent's name, too
    return Card(
        id=head.id,
        conversation_id=name,
        type=type,
        title=head.title or name,
        status="paused" if head.status == "interrupted" else head.status,
        last_active=head.updated_at,
        message_count=head.turn_count,
        damage=head.damage,
        is_left=head.status == "interrupted" and not head.damage,
    )

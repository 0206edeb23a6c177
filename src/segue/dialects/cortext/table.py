"""The conversations of a workspace as a table, or as JSON."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from segue.console import output
from segue.console.columns import fit
from segue.console.exit_codes import Exit
from segue.dialects.cortext.messages import NONE, START_ONE, since
from segue.formats.transcript import iso

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segue.console.output import Span
    from segue.dialects.cortext.conversation_list import ConversationSummary
    from segue.dialects.cortext.conversations import Conversations

COLUMNS = ("id", "type", "title", "status", "last active")

_TITLE, _TYPE = 2, 1
_ENDLESS = 1 << 20


def show(conversations: Conversations, words: str, *, type: str, status: str, as_json: bool) -> int:
    if words:
        cards = conversations.find(words, type=type, status=status)
    else:
        cards = conversations.cards(type=type, status=status)
    if as_json:
        output.data([plain(card) for card in cards])
    elif cards:
        _show_table(conversations, cards)
    else:
        output.line(NONE)
        output.line(f"{START_ONE[:1].upper()}{START_ONE[1:]}")
    return Exit.DONE


def plain(card: ConversationSummary) -> dict[str, object]:
    return {
        "id": card.id,
        "conversation_id": card.conversation_id,
        "type": card.type,
        "title": card.title,
        "status": "damaged" if card.damage else card.status,
        "last_active": iso(card.last_active),
        "message_count": card.message_count,
        "summary": card.summary,
        "damage": card.damage,
    }


def _show_table(conversations: Conversations, cards: Sequence[ConversationSummary]) -> None:
    """With the short id where it is the only one of its name; times in words for people, exact in a pipe."""
    to_person, now = output.stdout_is_tty(), conversations.clock()
    named = Counter(card.conversation_id for card in cards)
    rows: list[list[Span]] = [
        [
            card.conversation_id if named[card.conversation_id] == 1 else card.id,
            card.type,
            card.title,
            "damaged" if card.damage else card.status,
            since(card.last_active, now) if to_person else iso(card.last_active),
        ]
        for card in cards
    ]
    width = output.terminal_width() if to_person else _ENDLESS
    output.lines(fit(COLUMNS, rows, stretch=_TITLE, optional=(_TYPE,), width=width))

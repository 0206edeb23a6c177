"""What people are told of conversations, word by word, whichever door they came in by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.clock import local

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from segue.dialects.cortext.conversation_list import ConversationSummary
    from segue.dialects.cortext.conversations import Stopped

LIST_HEADING = "Here are your resumable conversations:"
QUESTION = "Which conversation would you like to continue? (number or search)"
NONE = "There are no resumable conversations here."
START_ONE = 'start one with /workspace.brainstorm, or with: cortext new brainstorm "topic"'

_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_LONG_AGO_DAYS = 14


def since(moment: datetime, now: datetime) -> str:
    """How long ago, in words; the day itself once it is two weeks back."""
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


def card_lines(number: int, card: ConversationSummary, now: datetime) -> list[str]:
    """An entry of the numbered list."""
    lines = [
        f"{number}. [{card.type}] {card.title}",
        f"   Last active: {since(card.last_active, now)} | Status: {card.status}",
    ]
    if card.damage:
        lines.append(f"   Damaged: {card.damage}")
    elif card.summary:
        lines.append(f"   Summary: {' '.join(card.summary.split())}")
    return lines


def listing(cards: Sequence[ConversationSummary], now: datetime) -> str:
    """The numbered list, with its heading."""
    entries = ["\n".join(card_lines(number, card, now)) for number, card in enumerate(cards, 1)]
    return "\n\n".join([LIST_HEADING, *entries])


def saved(stopped: Stopped) -> str:
    """The confirmation that a conversation was stopped."""
    lines = ["Session saved.", "", f'Conversation "{stopped.title}" has been {stopped.status}.']
    if stopped.status == "paused":
        lines.append("You can continue later with /workspace.resume")
    if stopped.summary:
        lines += ["", f"Summary: {' '.join(stopped.summary.split())}"]
    return "\n".join(lines)


def resuming(title: str) -> str:
    return f'[Resuming "{title}"]'


def _count(number: int, unit: str) -> str:
    return f"{number} {unit}{'' if number == 1 else 's'} ago"

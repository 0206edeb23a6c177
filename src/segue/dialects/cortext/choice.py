"""Which conversation is meant: by its id, by words, or by its number in a list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.console import output
from segue.errors import NotFoundError
from segue.formats.terminal import printable
from segue.workspace.words import NONE, QUESTION, START_ONE, listing

if TYPE_CHECKING:
    from segue.workspace import Card, Conversations

OFFERED = 20


def choose(conversations: Conversations, words: str, *, type: str = "", status: str = "") -> Card | None:
    """The one that matches, or the one that a person chooses of several; None if that is none, or nobody is asked."""
    found = matching(conversations, words, type=type, status=status)
    if words and len(found) == 1:
        return found[0]
    while True:
        _show(conversations, found)
        if not output.can_ask():
            output.warn(f"{_several(len(found), words)}; say one of them by its id, or by more words")
            return None
        answer = output.question(f"\n{QUESTION} ")
        if not answer:
            return None
        if answer.isdecimal() and 1 <= int(answer) <= min(len(found), OFFERED):
            return found[int(answer) - 1]
        narrowed = conversations.find(answer, type=type, status=status)
        if len(narrowed) == 1:
            return narrowed[0]
        if not narrowed:
            output.warn(f"no conversation matches {answer!r:.60}")
        found = narrowed or found


def matching(conversations: Conversations, words: str, *, type: str = "", status: str = "") -> list[Card]:
    """Raises NotFoundError if there is none."""
    if words:
        found = conversations.find(words, type=type, status=status)
    else:
        found = conversations.cards(type=type, status=status)
    if not found:
        what = f"no conversation matches {words!r:.60}" if words else NONE.rstrip(".")
        raise NotFoundError(f"{what[:1].lower()}{what[1:]}", hint=START_ONE)
    return found


def get_one(conversations: Conversations, words: str) -> Card:
    """The one that the words mean, with nobody to ask; without words the one that is active, or was last."""
    if not words:
        return conversations.get_last()
    found = matching(conversations, words)
    if len(found) > 1:
        names = ", ".join(card.id for card in found[:5])
        raise NotFoundError(f"{_several(len(found), words)}: {names}", hint="say one of these ids")
    return found[0]


def _show(conversations: Conversations, cards: list[Card]) -> None:
    output.text(printable(listing(cards[:OFFERED], conversations.clock())))
    if len(cards) > OFFERED:
        output.line(f"\nand {len(cards) - OFFERED} more; cortext list shows all")


def _several(count: int, words: str) -> str:
    one = count == 1
    number = f"{count} conversation{'' if one else 's'}"
    return f"{number} match{'es' if one else ''} {words!r:.60}" if words else f"there {'is' if one else 'are'} {number}"

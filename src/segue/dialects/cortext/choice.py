"""Which conversation is meant: by its id, by words, or by its number in a list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.console import output
from segue.dialects.cortext.integration import HELD, sessions_around
from segue.dialects.cortext.messages import NONE, QUESTION, START_ONE, listing
from segue.errors import NotFoundError
from segue.formats.terminal import printable

if TYPE_CHECKING:
    from segue.dialects.cortext.context import WorkspaceContext
    from segue.dialects.cortext.conversation_list import ConversationSummary
    from segue.dialects.cortext.conversations import Conversations
    from segue.model import JsonObject

OFFERED = 20
_LOOKED_AT = 50
"""Stopped conversations among which the one of this window may be: it can be stopped twice."""


def choose(conversations: Conversations, words: str, *, type: str = "", status: str = "") -> ConversationSummary | None:
    """The one that matches, or the one that a person chooses of several; None if that is none, or nobody is asked."""
    found = matching(conversations, words, type=type, status=status)
    if words and len(found) == 1:
        return found[0]
    while True:
        _show(conversations, found)
        if not output.stdin_is_tty():
            output.warn(f"{_several(len(found), words)}; say one of them by its id, or by more words")
            return None
        answer = output.prompt(f"\n{QUESTION} ")
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


def matching(
    conversations: Conversations, words: str, *, type: str = "", status: str = ""
) -> list[ConversationSummary]:
    """Raises NotFoundError if there is none."""
    if words:
        found = conversations.find(words, type=type, status=status)
    else:
        found = conversations.cards(type=type, status=status)
    if not found:
        what = f"no conversation matches {words!r:.60}" if words else NONE.rstrip(".")
        raise NotFoundError(f"{what[:1].lower()}{what[1:]}", hint=START_ONE)
    return found


def get_one(desk: WorkspaceContext, words: str, *, ask: bool) -> ConversationSummary:
    """The one that the words mean; without words the one that this command was called from, and never another.

    Where that cannot be told, it is the one that is going on, or was last. Of several that are going on a person says
    which one, if there is somebody to `ask`.
    """
    if words:
        found = matching(desk.conversations, words)
        what = _several(len(found), words)
    else:
        found = _own(desk)
        what = f"{len(found)} conversations are going on here"
    if not found:
        raise NotFoundError("there is no conversation to stop here", hint="cortext list shows all; say one by its id")
    if len(found) == 1:
        return found[0]
    if ask and output.stdin_is_tty():
        _show(desk.conversations, found)
        answer = output.prompt("\nWhich one? (number) ")
        if answer.isdecimal() and 1 <= int(answer) <= min(len(found), OFFERED):
            return found[int(answer) - 1]
    names = ", ".join(card.id for card in found[:5])
    raise NotFoundError(f"{what}: {names}", hint="say one of these ids")


def _own(desk: WorkspaceContext) -> list[ConversationSummary]:
    """Those that may be meant where nothing is said: by the tool's session around us, else by who started the tool."""
    unfinished = desk.conversations.unfinished()
    going_on = [card for card in unfinished if card.is_going_on]
    around = sessions_around(desk.environ)
    held = desk.environ.get(HELD, "")
    if not around and not held:
        return going_on or unfinished[:1]
    stopped = [card for card in unfinished if not card.is_going_on][:_LOOKED_AT]
    known = {card.id: desk.library.store.overview(card.id).overrides for card in [*going_on, *stopped]}
    for cards in (going_on, stopped):
        if mine := [card for card in cards if around.get(str(known[card.id].get("tool"))) == _session(known[card.id])]:
            return mine
    if mine := [card for card in unfinished if card.id == held]:
        return mine
    return [card for card in going_on if not _session(known[card.id])]  # the others are held in another window


def _session(overrides: JsonObject) -> str:
    return str(overrides.get("tool_session") or "")


def _show(conversations: Conversations, cards: list[ConversationSummary]) -> None:
    output.text(printable(listing(cards[:OFFERED], conversations.clock())))
    if len(cards) > OFFERED:
        output.line(f"\nand {len(cards) - OFFERED} more; cortext list shows all")


def _several(count: int, words: str) -> str:
    one = count == 1
    number = f"{count} conversation{'' if one else 's'}"
    return f"{number} match{'es' if one else ''} {words!r:.60}" if words else f"there {'is' if one else 'are'} {number}"

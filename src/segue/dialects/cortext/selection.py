"""Which conversation a command means, and the lists that it shows: as numbers to choose from, a table, or JSON."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from segue.console import output
from segue.console.columns import fit
from segue.console.exit_codes import Exit
from segue.dialects.cortext.conversation_list import NONE, QUESTION, START_ONE, format_age, format_list
from segue.dialects.cortext.integration import CONVERSATION_VARIABLE, surrounding_sessions
from segue.errors import NotFoundError
from segue.formats.terminal import printable
from segue.formats.transcript import iso

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segue.console.output import Span
    from segue.dialects.cortext.context import WorkspaceContext
    from segue.dialects.cortext.conversation_list import ConversationEntry
    from segue.dialects.cortext.conversations import Conversations
    from segue.model import JsonObject

COLUMNS = ("id", "type", "title", "status", "last active")

_TITLE, _TYPE = 2, 1
_UNLIMITED = 1 << 20
_MOST_SHOWN = 20
_MOST_STOPPED = 50
"""Stopped conversations that may be the one of this AI tool session: a conversation can be stopped twice."""


def show_conversations(
    conversations: Conversations, words: str, *, type: str, status: str, limit: int | None, as_json: bool
) -> int:
    """Print the conversations that match, as a table or as JSON."""
    if words:
        entries = conversations.find(words, type=type, status=status)
    else:
        entries = conversations.entries(type=type, status=status)
    entries = entries[:limit]
    if as_json:
        output.data([entry_json(entry) for entry in entries])
    elif entries:
        _show_table(conversations, entries)
    else:
        output.line(NONE)
        output.line(f"{START_ONE[:1].upper()}{START_ONE[1:]}")
    return Exit.DONE


def choose(conversations: Conversations, words: str, *, type: str = "", status: str = "") -> ConversationEntry | None:
    """The conversation that matches, or the one that the user chooses; None without a choice or a terminal."""
    found = find_matches(conversations, words, type=type, status=status)
    if words and len(found) == 1:
        return found[0]
    while True:
        _show_numbered(conversations, found)
        if not output.stdin_is_tty():
            output.warn(f"{_count_matches(len(found), words)}; name one by its id, or by more words")
            return None
        answer = output.prompt(f"\n{QUESTION} ")
        if not answer:
            return None
        if answer.isdecimal() and 1 <= int(answer) <= min(len(found), _MOST_SHOWN):
            return found[int(answer) - 1]
        narrowed = conversations.find(answer, type=type, status=status)
        if len(narrowed) == 1:
            return narrowed[0]
        if not narrowed:
            output.warn(f"no conversation matches {answer!r:.60}")
        found = narrowed or found


def find_matches(
    conversations: Conversations, words: str, *, type: str = "", status: str = ""
) -> list[ConversationEntry]:
    """The conversations that match, all of them without words. Raises NotFoundError if there are none."""
    if words:
        found = conversations.find(words, type=type, status=status)
    else:
        found = conversations.entries(type=type, status=status)
    if not found:
        what = f"no conversation matches {words!r:.60}" if words else NONE.rstrip(".")
        raise NotFoundError(f"{what[:1].lower()}{what[1:]}", hint=START_ONE)
    return found


def find_current(context: WorkspaceContext, words: str, *, ask: bool) -> ConversationEntry:
    """The conversation that the words mean; without words, the one that this command was called from.

    Where that cannot be determined, it is the one that is active, or was last. If several are active, the user is asked
    which one, if `ask` is set and there is a terminal.
    """
    if words:
        found = find_matches(context.conversations, words)
        what = _count_matches(len(found), words)
    else:
        found = _find_own(context)
        what = f"{len(found)} conversations are active here"
    if not found:
        raise NotFoundError("there is no conversation to stop here", hint="cortext list shows all; name one by its id")
    if len(found) == 1:
        return found[0]
    if ask and output.stdin_is_tty():
        _show_numbered(context.conversations, found)
        answer = output.prompt("\nWhich one? (number) ")
        if answer.isdecimal() and 1 <= int(answer) <= min(len(found), _MOST_SHOWN):
            return found[int(answer) - 1]
    names = ", ".join(entry.id for entry in found[:5])
    raise NotFoundError(f"{what}: {names}", hint="name one of these ids")


def entry_json(entry: ConversationEntry) -> dict[str, object]:
    return {
        "id": entry.id,
        "conversation_id": entry.conversation_id,
        "type": entry.type,
        "title": entry.title,
        "status": "damaged" if entry.damage else entry.status,
        "last_active": iso(entry.last_active),
        "message_count": entry.message_count,
        "summary": entry.summary,
        "damage": entry.damage,
    }


def _find_own(context: WorkspaceContext) -> list[ConversationEntry]:
    """The candidates where no conversation is named: of the AI tool session around us, else of who started the tool."""
    unfinished = context.conversations.unfinished()
    unstopped = [entry for entry in unfinished if entry.is_unstopped]
    surrounding = surrounding_sessions(context.environ)
    started_for = context.environ.get(CONVERSATION_VARIABLE, "")
    if not surrounding and not started_for:
        return unstopped or unfinished[:1]
    stopped = [entry for entry in unfinished if not entry.is_unstopped][:_MOST_STOPPED]
    overrides = {entry.id: context.library.store.overview(entry.id).overrides for entry in [*unstopped, *stopped]}

    def is_own(entry: ConversationEntry) -> bool:
        known = overrides[entry.id]
        return surrounding.get(str(known.get("tool"))) == _tool_session(known)

    for entries in (unstopped, stopped):
        if own := [entry for entry in entries if is_own(entry)]:
            return own
    if own := [entry for entry in unfinished if entry.id == started_for]:
        return own
    return [entry for entry in unstopped if not _tool_session(overrides[entry.id])]  # the others run in other windows


def _tool_session(overrides: JsonObject) -> str:
    return str(overrides.get("tool_session") or "")


def _show_numbered(conversations: Conversations, entries: Sequence[ConversationEntry]) -> None:
    output.text(printable(format_list(entries[:_MOST_SHOWN], conversations.clock())))
    if len(entries) > _MOST_SHOWN:
        output.line(f"\nand {len(entries) - _MOST_SHOWN} more; cortext list shows all")


def _show_table(conversations: Conversations, entries: Sequence[ConversationEntry]) -> None:
    """With the short id where it is unique; ages at a terminal, exact times in a pipe."""
    is_tty, now = output.stdout_is_tty(), conversations.clock()
    counts = Counter(entry.conversation_id for entry in entries)
    rows: list[list[Span]] = [
        [
            entry.conversation_id if counts[entry.conversation_id] == 1 else entry.id,
            entry.type,
            entry.title,
            "damaged" if entry.damage else entry.status,
            format_age(entry.last_active, now) if is_tty else iso(entry.last_active),
        ]
        for entry in entries
    ]
    width = output.terminal_width() if is_tty else _UNLIMITED
    output.lines(fit(COLUMNS, rows, stretch=_TITLE, optional=(_TYPE,), width=width))


def _count_matches(count: int, words: str) -> str:
    is_one = count == 1
    number = f"{count} conversation{'' if is_one else 's'}"
    if words:
        return f"{number} match{'es' if is_one else ''} {words!r:.60}"
    return f"there {'is' if is_one else 'are'} {number}"

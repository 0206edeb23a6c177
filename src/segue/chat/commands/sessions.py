"""Commands for other sessions: start one, find one, continue there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from segue.chat.commands.table import Command
from segue.chat.summary import shortened
from segue.clock import ago
from segue.errors import NotFoundError, SegueError, SessionLockedError, TransitionError, UsageError
from segue.formats.terminal import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segue.chat.repl import Chat
    from segue.library import Library
    from segue.model import Head, JsonObject, Overview
    from segue.session import LiveSession

_LISTED, _TITLE_LENGTH = 10, 40
_PATIENCE_SECONDS = 0.5
"""How long to wait for another writer, which usually is a conversation that lasts."""
_QUESTION = "Which one? (number or words, Enter for none)"


def resume(chat: Chat, library: Library, id: str, called: str) -> LiveSession | None:
    """Open another session for writing; None if it is completed and the user does not want to resume it."""
    try:
        return library.resume(id, timeout_seconds=_PATIENCE_SECONDS)
    except TransitionError:
        if not chat.terminal.ask(f"{called} is completed. Resume it?", default=False):
            return None
        return library.resume(id, force=True, timeout_seconds=_PATIENCE_SECONDS)


def _new(chat: Chat, argument: str) -> None:
    """The agent that answers now answers in the new session too, and is recorded there."""
    chosen, preset = chat.conversation.named, chat.conversation.preset
    like = replace(chat.session.overview, agent=chat.agent_name)
    session = chat.dialect.create(chat, like, argument, {})
    if preset is not None and session.overview.preset is None:
        session.use_preset(preset.name, hash=preset.hash)
    if chosen and not session.overview.overrides:
        session.set_overrides(chosen)
    is_known = preset is not None and preset.name in chat.agents.names()
    agent = chosen.get("agent") or (preset.name if preset is not None and is_known else "")
    chat.go_to(session, agent=agent, model=chosen.get("model", ""), discards_blank=not session.title)


def _list(chat: Chat, argument: str) -> None:
    _show_list(chat, _find(chat, argument) if argument else chat.library.list())


def _resume(chat: Chat, argument: str) -> None:
    heads = [head for head in _find_named(chat, argument) if head.id != chat.session.id]
    if not heads:
        is_current = f"session {chat.session.id} is the current one" if argument else "there is no other session"
        raise UsageError(is_current, hint="/new starts another one")
    head = heads[0] if argument and len(heads) == 1 else _choose(chat, heads)
    if head is not None:
        _go_to(chat, head)


def _find_named(chat: Chat, argument: str) -> Sequence[Head]:
    """All sessions without an argument; the line of the last list with its number; else those that it means."""
    if not argument:
        return chat.library.list()
    if argument == "-" and chat.previous:
        return [chat.library.store.head(chat.previous)]
    number = argument.removeprefix("@")
    if number.isdecimal() and 1 <= int(number) <= len(chat.listed) and argument not in chat.library.store.ids():
        return [chat.library.store.head(chat.listed[int(number) - 1])]
    return _find(chat, argument)


def _find(chat: Chat, text: str) -> Sequence[Head]:
    found = chat.library.find(text)
    if not found:
        raise NotFoundError(f"no session matches {text!r}", hint="/list shows all")
    return found


def _choose(chat: Chat, heads: Sequence[Head]) -> Head | None:
    """Ask for a number of the list, or for words, until one session is chosen; None without an answer."""
    _show_list(chat, heads)
    while answer := (chat.terminal.answer(_QUESTION) or "").strip():
        try:
            found = [head for head in _find_named(chat, answer) if head.id != chat.session.id]
        except SegueError as error:
            if not chat.terminal.is_interactive:
                raise
            chat.terminal.error(str(error))
            continue
        if len(found) == 1:
            return found[0]
        _show_list(chat, found)
    chat.terminal.note("nothing was resumed")
    return None


def _show_list(chat: Chat, heads: Sequence[Head]) -> None:
    """Show the first sessions with numbers, and remember which they are."""
    shown, hidden = heads[:_LISTED], len(heads) - _LISTED
    chat.listed = tuple(head.id for head in shown)
    lines = [f"{number:>2}  {_line(chat, head)}" for number, head in enumerate(shown, start=1)]
    more = [f"    and {hidden} more; /list WORDS finds them"] if hidden > 0 else []
    chat.terminal.say("\n".join([*lines, *more]) if lines else "there are no sessions")


def _line(chat: Chat, head: Head) -> str:
    facts = [
        shortened(head.title or _last_question(chat, head), _TITLE_LENGTH) or head.id,
        f"{head.turn_count} turn{'' if head.turn_count == 1 else 's'}",
        ago(head.updated_at, chat.clock()),
        "this one" if head.id == chat.session.id else "damaged" if head.damage else head.status,
    ]
    return one_line(" · ".join(facts))


def _last_question(chat: Chat, head: Head) -> str:
    """What the user asked last in a session without a title; empty if that is not known."""
    try:
        turns = chat.library.tail(head.id, 2) if not head.damage else ()
    except SegueError:
        return ""  # damaged or deleted meanwhile
    return next((f"“{turn.content}”" for turn in reversed(turns) if turn.role == "user"), "")


def _go_to(chat: Chat, head: Head) -> None:
    from segue.chat.lifecycle import show_recap  # imports the chat

    try:
        session = resume(chat, chat.library, head.id, f"Session {head.id}")
    except SessionLockedError as error:
        if not chat.terminal.is_interactive:
            raise
        chat.terminal.error(str(error))
        if chat.terminal.ask("Continue in a copy of it?", default=True):
            continue_in_copy(chat, head.id)
        return
    if session is not None:
        when = ago(head.updated_at, chat.clock())
        chat.go_to(session, recap=lambda: show_recap(session, chat.terminal, when=when, was=head.status))


def continue_in_copy(chat: Chat, id: str, *, at: int | None = None, title: str = "") -> None:
    """Copy a session, which may be in use, up to a turn, and continue in the copy."""
    from segue.session_copy import copy_session

    chat.conversation.save()
    # The agent that answers here is the user's choice in a copy of this session; of another one, the user is asked.
    chosen = chat.session.overview.overrides if id == chat.session.id else {}

    def create(about: Overview, extra: JsonObject) -> LiveSession:
        return chat.dialect.create(chat, about, title or about.title, extra)

    copy = copy_session(chat.library, id, at=at, create=create)
    turns = f"{copy.turns} turn{'' if copy.turns == 1 else 's'}"
    note = f"a copy of {copy.source} with {turns}, which stays as it is"
    agent, model = (str(chosen.get(name) or "") for name in ("agent", "model"))
    try:
        session = chat.library.resume(copy.id)
        chat.go_to(session, agent=agent, model=model, recap=lambda: chat.terminal.note(note))
    except SegueError as error:
        if chat.session.id == copy.id:
            raise
        chat.library.store.delete(copy.id)
        raise UsageError(f"{error}; the copy is deleted again", hint="allow it, or resume another session") from None


COMMANDS = (
    Command(name="new", usage="[TITLE]", help="start another session; this one is paused", run=_new),
    Command(
        name="resume",
        aliases=("load",),
        usage="[WHAT]",
        help="switch to a session: ID, number or words",
        run=_resume,
        completes="session",
    ),
    Command(name="list", usage="[WORDS]", help="list the sessions, the last active first", run=_list),
)

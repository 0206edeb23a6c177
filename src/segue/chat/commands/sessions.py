"""Commands for other sessions: start one, find one, continue there."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from segue.chat.commands.table import Command
from segue.chat.session_finder import places_of
from segue.chat.summary import shortened
from segue.clock import ago
from segue.errors import NotFoundError, SegueError, SessionLockedError, TransitionError, UsageError
from segue.formats.terminal import one_line
from segue.frameworks import FrameworkSessionError, framework_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from segue.chat.dialect import Dialect
    from segue.chat.repl import Chat
    from segue.index import IndexEntry
    from segue.library import Library
    from segue.model import JsonObject, Overview
    from segue.session import LiveSession

T = TypeVar("T")

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
    _show_list(chat, _find(chat, argument) if argument else chat.finder.entries())


def _resume(chat: Chat, argument: str) -> None:
    found = _find_others(chat, argument)
    if not found:
        is_current = f"session {chat.session.id} is the current one" if argument else "there is no other session"
        raise UsageError(is_current, hint="/new starts another one")
    show, find = partial(_show_list, chat), partial(_find_others, chat)
    entry = found[0] if argument and len(found) == 1 else choose(chat, found, _QUESTION, show=show, find=find)
    if entry is not None:
        _go_to(chat, entry)


def _find_others(chat: Chat, argument: str) -> Sequence[IndexEntry]:
    """All other sessions without an argument; the line of the last list with its number; else those that it means."""
    return [entry for entry in _find_named(chat, argument) if not chat.is_current(entry)]


def _find_named(chat: Chat, argument: str) -> Sequence[IndexEntry]:
    if not argument:
        return chat.finder.entries()
    if argument == "-" and chat.previous:
        known = chat.finder.entries(chat.previous[1])
        return [entry for entry in known if chat.previous in places_of(entry)] or _find(chat, argument)
    number = argument.removeprefix("@")
    if number.isdecimal() and 1 <= int(number) <= len(chat.listed):
        return [chat.listed[int(number) - 1]]
    return _find(chat, argument)


def _find(chat: Chat, text: str) -> Sequence[IndexEntry]:
    found = chat.finder.find(text)
    if not found:
        raise NotFoundError(f"no session matches {text!r}", hint="/list shows all")
    return found


def choose(
    chat: Chat,
    entries: Sequence[T],
    question: str,
    *,
    show: Callable[[Sequence[T]], None],
    find: Callable[[str], Sequence[T]],
) -> T | None:
    """Show the entries, and ask for a number of the list, or for words, until one is chosen; None without an answer."""
    show(entries)
    while answer := (chat.terminal.answer(question) or "").strip():
        try:
            found = find(answer)
        except SegueError as error:
            if not chat.terminal.is_interactive:
                raise
            chat.terminal.error(str(error))
            continue
        if len(found) == 1:
            return found[0]
        show(found)
    chat.terminal.note("nothing was resumed")
    return None


def _show_list(chat: Chat, entries: Sequence[IndexEntry]) -> None:
    """Show the first sessions with numbers, and remember which they are."""
    shown, hidden = entries[:_LISTED], len(entries) - _LISTED
    chat.listed = tuple(shown)
    chat.dialect.listed(shown)
    lines = [f"{number:>2}  {_line(chat, entry)}" for number, entry in enumerate(shown, start=1)]
    more = [f"    and {hidden} more; /list WORDS finds them"] if hidden > 0 else []
    chat.terminal.say("\n".join([*lines, *more]) if lines else "there are no sessions")


def _line(chat: Chat, entry: IndexEntry) -> str:
    library = chat.finder.library_of(entry)
    turns = "" if entry.turn_count is None else f"{entry.turn_count} turn{'' if entry.turn_count == 1 else 's'}"
    facts = [
        shortened(entry.title or _last_question(library, entry), _TITLE_LENGTH) or entry.id,
        turns,
        ago(entry.updated_at, chat.clock()),
        "this one" if chat.is_current(entry) else "damaged" if entry.damage else entry.status,
        entry.tool if library is None else "",
    ]
    return one_line(" · ".join(fact for fact in facts if fact))


def _last_question(library: Library | None, entry: IndexEntry) -> str:
    """What the user asked last in a session without a title; empty if that is not known."""
    try:
        turns = library.tail(entry.id, 2) if library is not None and not entry.damage else ()
    except SegueError:
        return ""  # damaged or deleted meanwhile
    return next((f"“{turn.content}”" for turn in reversed(turns) if turn.role == "user"), "")


def _go_to(chat: Chat, entry: IndexEntry) -> None:
    from segue.chat.lifecycle import show_recap  # imports the chat

    library, id, dialect = chat.finder.open(entry)
    before = library.store.head(id)
    try:
        if title := framework_of(library.overview(id)):
            raise FrameworkSessionError(id, title)
        session = resume(chat, library, id, f"Session {id}")
    except (SessionLockedError, FrameworkSessionError) as error:
        if not chat.terminal.is_interactive:
            raise
        chat.terminal.error(str(error))
        if chat.terminal.ask("Continue in a copy of it?", default=True):
            continue_in_copy(chat, id, library=library, dialect=dialect)
        return
    if session is not None:
        when = ago(before.updated_at, chat.clock())
        chat.go_to(
            session,
            library=library,
            dialect=dialect,
            recap=lambda: show_recap(session, chat.terminal, when=when, was=before.status),
        )


def continue_in_copy(
    chat: Chat,
    id: str,
    *,
    library: Library | None = None,
    dialect: Dialect | None = None,
    at: int | None = None,
    title: str = "",
) -> None:
    """Copy a session, which may be in use, up to a turn, and continue in the copy. It is in the same library."""
    from segue.session_copy import copy_session

    library = library or chat.library
    is_here = library is chat.library
    chat.conversation.save()
    # The agent that answers here is the user's choice in a copy of this session; of another one, the user is asked.
    chosen = chat.session.overview.overrides if is_here and id == chat.session.id else {}

    def create(about: Overview, extra: JsonObject) -> LiveSession:
        return chat.dialect.create(chat, about, title or about.title, extra)

    copy = copy_session(library, id, at=at, create=create if is_here else None)
    turns = f"{copy.turns} turn{'' if copy.turns == 1 else 's'}"
    note = f"a copy of {copy.source} with {turns}, which stays as it is"
    agent, model = (str(chosen.get(name) or "") for name in ("agent", "model"))
    try:
        session = library.resume(copy.id)
        recap = partial(chat.terminal.note, note)
        chat.go_to(session, agent=agent, model=model, library=library, dialect=dialect, recap=recap)
    except SegueError as error:
        if chat.session.id == copy.id:
            raise
        library.store.delete(copy.id)
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

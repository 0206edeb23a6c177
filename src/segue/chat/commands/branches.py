"""Commands for branches, and for other sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.chat.commands.session import preview
from segue.chat.commands.table import Command
from segue.errors import TransitionError, UsageError

if TYPE_CHECKING:
    from segue.chat.repl import Chat
    from segue.library import Library
    from segue.model import Turn
    from segue.session import LiveSession

_LOOK_BACK = 16
_PATIENCE_SECONDS = 0.5
"""How long to wait for another writer, which usually is a conversation that lasts."""


def _fork(chat: Chat, argument: str) -> None:
    given = argument.split()
    numbers = [one for one in given if one.isdecimal()]
    names = [one for one in given if not one.isdecimal()]
    if len(numbers) > 1 or len(names) > 1:
        raise UsageError(
            f"{argument!r} is not a name and a turn", hint="/fork other-idea 3 shares the first three turns"
        )
    before = chat.session.branch
    name = chat.session.fork(at=int(numbers[0]) if numbers else None, name=names[0] if names else None)
    shared = chat.session.overview.turn_count
    chat.terminal.note(f"now in {name}, which shares {_turns(shared)} with {before}; /switch {before} goes back")


def _branches(chat: Chat, _: str) -> None:
    overview = chat.session.overview
    width = max(map(len, overview.branches))
    lines = [
        f"{'*' if branch.name == overview.branch else ' '} {branch.name:<{width}}  {_turns(branch.turn_count)}"
        + (f", from {branch.parent} at {branch.at}" if branch.parent else "")
        for branch in overview.branches.values()
    ]
    chat.terminal.say("\n".join(lines))


def _switch(chat: Chat, argument: str) -> None:
    if not argument:
        _branches(chat, "")
        return
    chat.session.switch(argument)
    chat.terminal.note(f"now in {argument}, with {_turns(chat.session.overview.turn_count)}")


def _undo(chat: Chat, _: str) -> None:
    found = _last_of_user(chat)
    if found is None:
        raise UsageError("there is nothing to undo", hint="this branch has no messages")
    number, turn = found
    before = chat.session.branch
    name = chat.session.fork(at=number - 1)
    chat.terminal.note(
        f"back before turn {number} ({preview(turn.content)}), now in {name}; "
        f"nothing is lost: /switch {before} goes back"
    )


def _last_of_user(chat: Chat) -> tuple[int, Turn] | None:
    """The newest turn of the user with its number; a long conversation is read only as far back as needed."""
    total, count = chat.session.overview.turn_count, _LOOK_BACK
    while True:
        turns = chat.session.tail(count)
        for back, turn in enumerate(reversed(turns)):
            if turn.role == "user":
                return total - back, turn
        if len(turns) < count:
            return None
        count *= 4


def _load(chat: Chat, argument: str) -> None:
    if not argument:
        raise UsageError("no session is named", hint="/load ID; the beginning of an ID is enough")
    wanted = chat.library.resolve(argument)
    if wanted == chat.session.id:
        raise UsageError(f"session {wanted} is the current one", hint="/load ID switches to another one")
    session = resume(chat, chat.library, wanted, f"Session {wanted}")
    if session is not None:
        chat.go_to(session)


def resume(chat: Chat, library: Library, id: str, called: str) -> LiveSession | None:
    """Open another session for writing; None if it is completed and the user does not want to resume it."""
    try:
        return library.resume(id, timeout_seconds=_PATIENCE_SECONDS)
    except TransitionError:
        if not chat.terminal.ask(f"{called} is completed. Resume it?", default=False):
            return None
        return library.resume(id, force=True, timeout_seconds=_PATIENCE_SECONDS)


def _turns(count: int) -> str:
    return f"{count} turn{'' if count == 1 else 's'}"


COMMANDS = (
    Command(name="fork", usage="[NAME] [N]", help="branch off here, or at turn N", run=_fork),
    Command(name="branches", help="list the branches", run=_branches),
    Command(name="switch", usage="[BRANCH]", help="continue in another branch", run=_switch, completes="branch"),
    Command(name="undo", help="go back before your last message; the old branch stays", run=_undo),
    Command(name="load", usage="ID", help="switch to another session", run=_load, completes="session"),
)

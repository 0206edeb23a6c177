"""Commands for branches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.chat.commands.session import preview
from segue.chat.commands.sessions import continue_in_copy
from segue.chat.commands.table import Command
from segue.errors import UsageError

if TYPE_CHECKING:
    from segue.chat.repl import Chat
    from segue.model import Turn

_LOOK_BACK = 16


def _fork(chat: Chat, argument: str) -> None:
    given = argument.split()
    if "--new" in given:
        _copy(chat, [word for word in given if word != "--new"])
        return
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


def _copy(chat: Chat, words: list[str]) -> None:
    at = int(words.pop()) if words and words[-1].isdecimal() else None
    continue_in_copy(chat, chat.session.id, at=at, title=" ".join(words))


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
    found = last_of_user(chat)
    if found is None:
        raise UsageError("there is nothing to undo", hint="this branch has no messages")
    number, turn = found
    before = chat.session.branch
    name = chat.session.fork(at=number - 1)
    chat.terminal.note(
        f"back before turn {number} ({preview(turn.content)}), now in {name}; "
        f"nothing is lost: /switch {before} goes back"
    )


def last_of_user(chat: Chat) -> tuple[int, Turn] | None:
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


def _turns(count: int) -> str:
    return f"{count} turn{'' if count == 1 else 's'}"


COMMANDS = (
    Command(
        name="fork",
        usage="[--new] [NAME] [N]",
        help="branch off here or at turn N, or --new session",
        run=_fork,
    ),
    Command(name="branches", help="list the branches", run=_branches),
    Command(name="switch", usage="[BRANCH]", help="continue in another branch", run=_switch, completes="branch"),
    Command(name="undo", help="go back before your last message, in a branch", run=_undo),
)

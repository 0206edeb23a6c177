"""Commands for metadata: title, tags, decisions, learnings, patterns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.chat.commands.table import Command
from segue.errors import UsageError

if TYPE_CHECKING:
    from segue.chat.repl import Chat


def _title(chat: Chat, argument: str) -> None:
    if argument:
        chat.session.rename(title=argument)
        chat.terminal.note(f"the title is now: {argument}")
    elif chat.session.title:
        chat.terminal.say(chat.session.title)
    else:
        chat.terminal.note("the session has no title; /title TEXT sets one")


def _tag(chat: Chat, argument: str) -> None:
    words = argument.split()
    if wrong := [word for word in words if word in {"+", "-"}]:
        raise UsageError(f"{wrong[0]!r} is not a tag", hint="/tag urgent -waiting adds one and removes another")
    if words:
        removed = [word.removeprefix("-") for word in words if word.startswith("-")]
        chat.session.tag(*(word.removeprefix("+") for word in words if not word.startswith("-")), remove=removed)
    tags = ", ".join(chat.session.overview.tags)
    if words or not tags:
        chat.terminal.note(f"tags: {tags or 'none'}")
    else:
        chat.terminal.say(tags)


def _decide(chat: Chat, argument: str) -> None:
    chat.session.decide(_text(argument, "decide", "decision"), source="command")
    chat.terminal.note(f"decision {len(chat.session.overview.decisions)} is recorded")


def _decisions(chat: Chat, _: str) -> None:
    found = chat.session.overview.decisions
    if found:
        chat.terminal.say("\n".join(f"{number}. {one.content}" for number, one in enumerate(found, start=1)))
    else:
        chat.terminal.note("there are no decisions yet; /decide TEXT records one")


def _autorecord(chat: Chat, argument: str) -> None:
    match argument.casefold():
        case "on" | "off" as word:
            chat.conversation.autorecord = word == "on"
        case "":
            pass
        case _:
            raise UsageError(f"{argument!r} is neither on nor off", hint="/autorecord on, or /autorecord off")
    does = "are recorded" if chat.conversation.autorecord else "are not recorded automatically"
    chat.terminal.note(f"decisions that answers mark as [DECISION: …] {does}")


def _learn(chat: Chat, argument: str) -> None:
    chat.session.learn(_text(argument, "learn", "learning"))
    chat.terminal.note(f"learning {len(chat.session.overview.learnings)} is recorded")


def _pattern(chat: Chat, argument: str) -> None:
    name, colon, description = (part.strip() for part in argument.partition(":"))
    if not (name and colon and description):
        raise UsageError("a pattern has a name and a description", hint="/pattern retry: try three times, then give up")
    chat.session.note_pattern(name, description)
    chat.terminal.note(f"pattern {name} is recorded")


def _text(argument: str, command: str, what: str) -> str:
    if not argument:
        raise UsageError(f"a {what} needs a text", hint=f"/{command} TEXT")
    return argument


COMMANDS = (
    Command(name="title", aliases=("rename",), usage="[TEXT]", help="show or set the title", run=_title),
    Command(name="tag", usage="[TAG -TAG …]", help="show, add or remove tags", run=_tag),
    Command(name="decide", usage="TEXT", help="record a decision", run=_decide),
    Command(name="decisions", help="list the decisions", run=_decisions),
    Command(
        name="autorecord",
        usage="[on|off]",
        help="record decisions found in answers",
        run=_autorecord,
        completes="switch",
    ),
    Command(name="learn", usage="TEXT", help="record a learning", run=_learn),
    Command(name="pattern", usage="NAME: TEXT", help="record a pattern", run=_pattern),
)

"""Commands for the session itself: help, history, statistics, agent and model, and leaving."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.chat.commands.table import Command, Leave
from segue.errors import NotFoundError, UsageError
from segue.tools.recorded_calls import format_turn

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from segue.chat.repl import Chat
    from segue.model import Turn


def _agent(chat: Chat, argument: str) -> None:
    if argument:
        chat.change_agent(argument)
        chat.terminal.note(f"switched to {chat.conversation.agent.name}")
        return
    names = chat.agents.names()
    lines = [f"agent: {chat.conversation.agent.name}", *([f"available: {', '.join(names)}"] if names else [])]
    chat.terminal.say("\n".join(lines))


def _model(chat: Chat, argument: str) -> None:
    if argument:
        chat.change_model(argument)
        chat.terminal.note(f"switched to {chat.conversation.agent.name}, model {argument}")
        return
    model = chat.model
    chat.terminal.say(f"agent: {chat.conversation.agent.name}" + (f", model: {model}" if model else ""))


_LAST_TURNS = 10
_PREVIEW = 60


def preview(text: str) -> str:
    """The beginning of a text on one line, in quotation marks; cut by characters, never inside one."""
    flat = " ".join(text.split())
    return f"“{flat if len(flat) <= _PREVIEW else flat[: _PREVIEW - 1] + '…'}”"


def turn_lines(turns: Iterable[Turn], *, first: int) -> Iterator[str]:
    """Turns as text, numbered from `first`."""
    for number, turn in enumerate(turns, start=first):
        facts = [turn.role, *([turn.model] if turn.model else []), *(["cut off"] if turn.partial else [])]
        yield f"{number} {' · '.join(facts)}"
        yield format_turn(turn)
        yield ""


def _help(chat: Chat, argument: str) -> None:
    if argument:
        command = chat.table.find(argument)
        if command is None:
            near = [f"/{name}" for name in chat.table.near(argument)]
            raise NotFoundError(
                f"there is no command {argument}", near=near, hint="" if near else "/help lists all commands"
            )
        chat.terminal.say("\n".join(_lines([command])))
        return
    chat.terminal.say(
        "\n".join(
            [
                *_lines(chat.table),
                "",
                "A line that ends in \\ continues on the next. @file attaches a file.",
                "/word is a command, and a path such as /usr/bin/x is text; //word sends /word.",
            ]
        )
    )


def _lines(commands: Iterable[Command]) -> list[str]:
    calls = {
        command: " ".join([*(f"/{name}" for name in (command.name, *command.aliases)), command.usage]).rstrip()
        for command in commands
    }
    width = max(map(len, calls.values()))
    return [f"{call:<{width}}  {command.help}" for command, call in calls.items()]


def _history(chat: Chat, argument: str) -> None:
    if argument and not (argument.isdecimal() and int(argument) > 0):
        raise UsageError(f"{argument!r} is not a number of turns", hint="/history 5 shows the last five")
    turns = chat.session.tail(int(argument) if argument else _LAST_TURNS)
    if not turns:
        chat.terminal.note("there are no turns yet")
        return
    first = chat.session.overview.turn_count - len(turns) + 1
    chat.terminal.say("\n".join(turn_lines(turns, first=first)).rstrip("\n"))


def _clear(chat: Chat, _: str) -> None:
    chat.terminal.clear()
    chat.terminal.note("screen cleared; the session is unchanged (/history shows it)")


def _stats(chat: Chat, _: str) -> None:
    found = chat.conversation.stats()
    about = chat.session.overview
    recorded = {
        "decision": about.decisions,
        "learning": about.learnings,
        "pattern": about.patterns,
        "attachment": about.attachments,
    }
    facts = {
        "session": f"{about.id} ({about.status}, branch {about.branch})",
        "agent": chat.conversation.agent.name,
        "turns": f"{found.turns:,}",
        "tokens": f"{found.tokens_in:,} in, {found.tokens_out:,} out since it was opened ({_counted(found.tokens_by)})",
        "window": f"{found.window_used:,} of {found.budget:,} tokens",
        "recorded": ", ".join(
            f"{len(things)} {name}{'' if len(things) == 1 else 's'}" for name, things in recorded.items()
        ),
    }
    if found.calls:
        facts["tools"] = ", ".join(f"{count:,} {status}" for status, count in found.calls.items())
    chat.terminal.say("\n".join(f"{name:<9} {fact}" for name, fact in facts.items()))


def _counted(by: str) -> str:
    words = {"estimate": "an estimate", "mixed": "some of it an estimate", "": "nothing was asked yet"}
    return words.get(by, f"counted by the {by}")


def _retry(chat: Chat, _: str) -> None:
    if chat.conversation.pending is None and not chat.conversation.unsaved:
        raise UsageError("every message is answered", hint="/undo goes back before the last one")
    chat.ask_again()


def _exit(chat: Chat, _: str) -> Leave:
    return Leave(chat.dialect.exit_status)


COMMANDS = (
    Command(name="help", usage="[COMMAND]", help="list the commands", run=_help, completes="command"),
    Command(name="exit", aliases=("quit", "q"), help="leave; everything is saved already", run=_exit),
    Command(name="pause", help="leave, and mark the session as paused", run=lambda _chat, _: Leave("paused")),
    Command(name="complete", help="leave, and mark the session as completed", run=lambda _chat, _: Leave("completed")),
    Command(name="history", usage="[N]", help=f"show the last N turns ({_LAST_TURNS})", run=_history),
    Command(name="clear", help="clear the screen, not the session", run=_clear),
    Command(name="stats", help="count turns, tokens and tool calls", run=_stats),
    Command(name="retry", help="ask the unanswered message again", run=_retry),
    Command(name="agent", usage="[NAME]", help="show the agent, or switch to another", run=_agent, completes="agent"),
    Command(name="model", usage="[NAME]", help="show the model, or use another", run=_model),
)

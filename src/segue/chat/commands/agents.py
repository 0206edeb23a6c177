"""Who answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.chat.commands.table import Command

if TYPE_CHECKING:
    from segue.chat.repl import Chat


def _agent(chat: Chat, argument: str) -> None:
    if argument:
        chat.change_agent(argument)
        chat.terminal.note(f"{chat.conversation.agent.name} answers from now on")
        return
    names = chat.agents.names()
    lines = [f"{chat.conversation.agent.name} answers", *([f"there are: {', '.join(names)}"] if names else [])]
    chat.terminal.say("\n".join(lines))


def _model(chat: Chat, argument: str) -> None:
    if argument:
        chat.change_model(argument)
        chat.terminal.note(f"{chat.conversation.agent.name} answers from now on, with model {argument}")
        return
    model = chat.model
    chat.terminal.say(f"{chat.conversation.agent.name} answers" + (f", with model {model}" if model else ""))


COMMANDS = (
    Command(
        name="agent", usage="[NAME]", help="show who answers, or let another answer", run=_agent, completes="agent"
    ),
    Command(name="model", usage="[NAME]", help="show the model, or use another", run=_model),
)

"""Asks an agent with a tool: STORE COUNT [PREFIX]. Without a prefix it continues where the last one stopped.

A line is printed for every message that the repository has acknowledged: its number, role and text.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from strands import Agent
from strands.session.repository_session_manager import RepositorySessionManager
from strands.types.exceptions import SessionException

from examples.strands.agent import ScriptedModel, get_weather
from segue.bridges.strands import SegueRepository

if TYPE_CHECKING:
    from strands.types.session import SessionMessage


class Repository(SegueRepository):
    """Prints what it has acknowledged."""

    def create_message(self, session_id: str, agent_id: str, session_message: SessionMessage, **_: object) -> None:
        super().create_message(session_id, agent_id, session_message)
        content = session_message.message["content"][0]
        sys.stdout.write(f"ack {session_message.message_id} {content.get('text', '')}\n")
        sys.stdout.flush()


def new_agent(store: str) -> Agent:
    repository = Repository(store)
    while True:
        try:
            return Agent(
                agent_id="forecaster",
                model=ScriptedModel(),
                tools=[get_weather],
                session_manager=RepositorySessionManager("trip", repository),
                callback_handler=None,
            )
        except SessionException as error:
            if "already exists" not in str(error):  # another process was first
                raise


def main(store: str, count: str, prefix: str = "") -> None:
    agent = new_agent(store)
    start = 0
    if not prefix:
        start = sum("text" in message["content"][0] and message["role"] == "user" for message in agent.messages)
        if agent.messages and not ("text" in agent.messages[-1]["content"][0] and agent.messages[-1]["role"] != "user"):
            agent(None)  # what was not answered
    for number in range(start, int(count)):
        agent(f"How is it in {prefix}{number}?")


main(*sys.argv[1:])

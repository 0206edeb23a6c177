"""Asks an agent with a tool: STORE COUNT [PREFIX]. Without a prefix it continues where the last one stopped.

A line is printed for every message that the provider has acknowledged.
"""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from agent_framework import Content, Message

from examples.agent_framework.agent import get_weather, new_agent
from segue.bridges.agent_framework import SegueHistoryProvider

if TYPE_CHECKING:
    from collections.abc import Sequence


class History(SegueHistoryProvider):
    """Prints what it has acknowledged."""

    async def save_messages(self, session_id: str | None, messages: Sequence[Message], **_: object) -> None:
        await super().save_messages(session_id, messages)
        for message in messages:
            sys.stdout.write(f"ack {message.role} {message.text}\n")
        sys.stdout.flush()


async def main(store: str, count: str, prefix: str = "") -> None:
    history = History(store)
    agent = new_agent(history)
    session = agent.create_session(session_id="trip")
    start = 0
    if not prefix:
        messages = await history.get_messages("trip")
        start = sum(message.role == "user" for message in messages)
        if messages and (call := messages[-1].contents[-1]).type == "function_call":  # what was not answered
            city = (call.parse_arguments() or {})["city"]
            result = Content.from_function_result(str(call.call_id), result=get_weather(city))
            await agent.run(Message("tool", [result]), session=session)
    for number in range(start, int(count)):
        await agent.run(f"How is it in {prefix}{number}?", session=session)


asyncio.run(main(*sys.argv[1:]))

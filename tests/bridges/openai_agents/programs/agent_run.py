"""Asks an agent with a tool, question after question, and goes on where it was killed: STORE QUESTIONS."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from agents import Agent, Runner, function_tool, set_tracing_disabled
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call

from segue.bridges.openai_agents import SegueSession

if TYPE_CHECKING:
    from agents.testing import ModelCall

set_tracing_disabled(True)


class AckingSession(SegueSession):
    """Prints the items that were recorded."""

    async def add_items(self, items: list, **options: object) -> None:  # type: ignore[type-arg]
        await super().add_items(items, **options)  # type: ignore[arg-type]
        for item in items:
            what = item.get("call_id") or item.get("content")
            text = what if isinstance(what, str) else what[0]["text"]
            sys.stdout.write(f"ack {item.get('type') or item['role']}:{text}\n")
        sys.stdout.flush()


@function_tool
def count_letters(word: str) -> str:
    return str(len(word))


def answer(call: ModelCall) -> ModelStep:
    """Call the tool once for each question, then answer."""
    last = call.input[-1]
    assert isinstance(last, dict)
    question = str(
        [item for item in call.input if isinstance(item, dict) and item.get("role") == "user"][-1]["content"]
    )
    if last.get("type") == "function_call_output":
        return ModelStep(output=[assistant_message(f"answer {question}", item_id=f"msg-{question}")])
    return ModelStep(output=[function_call("count_letters", {"word": question}, call_id=f"call-{question}")])


async def main(url: str, count: int) -> None:
    session = AckingSession("support/4711", url)
    agent = Agent(
        name="counter",
        model=ScriptedModel(steps=[ModelStep.respond(answer)] * 4 * count),
        tools=[count_letters],
    )
    items = await session.get_items()
    asked = sum(item.get("role") == "user" for item in items)
    if items and items[-1].get("role") != "assistant":  # the run of this question was killed
        await Runner.run(agent, [], session=session)
    for number in range(asked, count):
        await Runner.run(agent, f"question {number}", session=session)


asyncio.run(main(sys.argv[1], int(sys.argv[2])))

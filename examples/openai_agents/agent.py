"""Two agents of the OpenAI Agents SDK on one session in Segue: agent.py STORE SESSION QUESTION…

It needs no network: a script takes the place of the model. Call it again, and it continues the same session.
"""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from agents import Agent, Runner, Usage, function_tool, set_tracing_disabled
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call

from segue.bridges.openai_agents import SegueSession

if TYPE_CHECKING:
    from agents.testing import ModelCall


def respond(call: ModelCall) -> ModelStep:
    """Hand over to the other agent, who asks for the weather and then repeats what the tool returned."""
    items = [item for item in call.input if isinstance(item, dict)]
    usage = Usage(requests=1, input_tokens=20 * len(items), output_tokens=8, total_tokens=20 * len(items) + 8)
    last = items[-1]
    if last.get("type") == "function_call_output" and "sunny" in str(last["output"]):
        return ModelStep(output=[assistant_message(str(last["output"]))], usage=usage)
    number = len(items)
    if any(handoff.tool_name.startswith("transfer_to") for handoff in call.handoffs):
        return ModelStep(output=[function_call("transfer_to_forecaster", {}, call_id=f"call-{number}")], usage=usage)
    city = str([item for item in items if item.get("role") == "user"][-1]["content"]).rstrip("?").split()[-1]
    return ModelStep(output=[function_call("get_weather", {"city": city}, call_id=f"call-{number}")], usage=usage)


@function_tool
def get_weather(city: str) -> str:
    """Get the weather of a city."""
    return f"In {city} it is sunny."


async def main(store: str, name: str, questions: list[str]) -> None:
    model = ScriptedModel(steps=[ModelStep.respond(respond)] * 3 * len(questions))
    forecaster = Agent(name="forecaster", model=model, tools=[get_weather])
    receptionist = Agent(name="receptionist", model=model, handoffs=[forecaster])
    session = SegueSession(name, store)
    for question in questions:
        result = await Runner.run(receptionist, question, session=session)
        await session.store_run_usage(result)
        print(result.final_output)


if __name__ == "__main__":
    set_tracing_disabled(True)
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3:]))

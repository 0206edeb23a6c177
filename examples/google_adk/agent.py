"""An agent of Google's Agent Development Kit whose sessions are in Segue: agent.py STORE QUESTION…

It needs no network: a small class takes the place of the model. Call it again, and it continues the same session.
"""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.tools.tool_context import ToolContext  # noqa: TC002 - the framework reads the types of a tool
from google.genai import types

from segue.bridges.google_adk import SegueSessionService

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from google.adk.models.llm_request import LlmRequest


class ScriptedModel(BaseLlm):
    """It asks for the weather, and then repeats what the tool returned."""

    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,  # noqa: ARG002, FBT001, FBT002 - as the framework has it
    ) -> AsyncGenerator[LlmResponse, None]:
        last = (llm_request.contents[-1].parts or [types.Part()])[-1]
        if last.function_response is None:
            city = (last.text or "").rstrip("?").split()[-1]
            answer = types.Part.from_function_call(name="get_weather", args={"city": city})
        else:
            answer = types.Part(text=(last.function_response.response or {})["result"])
        yield LlmResponse(
            content=types.Content(role="model", parts=[answer]),
            model_version="scripted-1",
            usage_metadata=types.GenerateContentResponseUsageMetadata(prompt_token_count=20, candidates_token_count=8),
        )


def get_weather(city: str, tool_context: ToolContext) -> str:
    """Get the weather of a city."""
    tool_context.state["user:cities"] = [*tool_context.state.get("user:cities", []), city]
    return f"In {city} it is sunny."


async def main(store: str, *questions: str) -> None:
    agent = LlmAgent(name="forecaster", model=ScriptedModel(model="scripted-1"), tools=[get_weather])
    async with SegueSessionService(store) as sessions:
        runner = Runner(app_name="weather", agent=agent, session_service=sessions, auto_create_session=True)
        for question in questions:
            message = types.Content(role="user", parts=[types.Part(text=question)])
            async for event in runner.run_async(user_id="ann", session_id="trip", new_message=message):
                if event.is_final_response() and event.content and event.content.parts:
                    print(event.content.parts[0].text)
        state = await sessions.get_user_state(app_name="weather", user_id="ann")
        print("cities so far:", ", ".join(state.get("cities", [])))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

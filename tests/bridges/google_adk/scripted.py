"""An agent with a scripted model and a tool that changes the state of the session, the user and the app."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from google.adk.agents import LlmAgent
from google.adk.apps.app import App, ResumabilityConfig
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.tools.tool_context import ToolContext  # noqa: TC002 - the framework reads the types of a tool
from google.genai import types

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from google.adk.models.llm_request import LlmRequest
    from google.adk.sessions.base_session_service import BaseSessionService

APP = "counting"


class CountingModel(BaseLlm):
    """It calls the tool once for each question, and then repeats its result."""

    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,  # noqa: ARG002, FBT001, FBT002 - as the framework has it
    ) -> AsyncGenerator[LlmResponse, None]:
        last = (llm_request.contents[-1].parts or [types.Part()])[-1]
        if last.function_response is None:
            answer = types.Part.from_function_call(name="count", args={"question": last.text or ""})
        else:
            answer = types.Part(text=f"answer {(last.function_response.response or {})['result']}")
        yield LlmResponse(
            content=types.Content(role="model", parts=[answer]),
            model_version="counting-1",
            usage_metadata=types.GenerateContentResponseUsageMetadata(
                prompt_token_count=20, candidates_token_count=8, thoughts_token_count=2, cached_content_token_count=5
            ),
        )


def count(question: str, tool_context: ToolContext) -> str:
    """Count a question."""
    for key in ("count", "user:count", "app:count"):
        tool_context.state[key] = tool_context.state.get(key, 0) + 1
    return question


def new_runner(service: BaseSessionService) -> Runner:
    agent = LlmAgent(name="counter", model=CountingModel(model="counting-1"), tools=[count], output_key="last")
    with warnings.catch_warnings(action="ignore"):  # that this is experimental
        app = App(name=APP, root_agent=agent, resumability_config=ResumabilityConfig(is_resumable=True))
    return Runner(app=app, session_service=service, auto_create_session=True)


def question(text: str) -> types.Content:
    return types.Content(role="user", parts=[types.Part(text=text)])
